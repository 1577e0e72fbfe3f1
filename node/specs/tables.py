"""The tables of a chain spec's file, with the meaning of each key, and the strict conversion of a file to them."""

import re
from typing import Annotated, Any, NoReturn

import msgspec
from msgspec import Meta, Struct

from node.runtime.suggestions import alternatives, either
from state.protocol import constants
from state.protocol.spec import BuildConstants, Natural

KEYS_PAGE = "docs/chain-specs.md"

Table = dict[str, Any]


class Fault(Exception):
    """Error for a wrong value. It is converted to a SpecError that names the file with the value."""

    def __init__(self, key: str, expected: str) -> None:
        super().__init__(key, expected)
        self.key, self.expected = key, expected


VESTS_PER_COIN_MAX = 1_000_000

# The patterns of strings in a file, and their descriptions in errors.
SYMBOL, BRAND, PREFIX = r"^[A-Z]{1,6}\Z", r"^[a-z]{3,12}\Z", r"^[A-Z]{1,16}\Z"
COMMUNITY_PREFIX, PLUGIN, CHAIN_ID = r"^[a-z]{4}-\Z", r"^[a-z_]+\Z", r"^[0-9a-f]{64}\Z"
AMOUNT = r"^[0-9]{1,12}\.[0-9]{3}\Z"
EXPECTED = {
    SYMBOL: "one to six capital letters",
    BRAND: "a word of three to twelve lower-case letters",
    PREFIX: "one to sixteen capital letters",
    COMMUNITY_PREFIX: "four lower-case letters and a hyphen",
    PLUGIN: "the name of a plugin",
    CHAIN_ID: "64 lower-case hex digits",
    AMOUNT: 'an amount with three decimals and no symbol, for example "1.000"',
}
SymbolText = Annotated[str, Meta(pattern=SYMBOL)]
Amount = Annotated[str, Meta(pattern=AMOUNT)]
KeyText = str | None
# A module-level name, because Python 3.14 evaluates annotations lazily and in the class first, and SpecTable has a field `constants`.
Share = Annotated[int, Meta(ge=0, le=constants.COIN_100_PERCENT)]
BlockSize = Annotated[int, Meta(ge=constants.COIN_MIN_BLOCK_SIZE_LIMIT, le=constants.COIN_SOFT_MAX_BLOCK_SIZE)]
Budget = Annotated[int, Meta(ge=constants.COIN_RD_MIN_BUDGET, le=constants.COIN_RD_MAX_BUDGET)]
Decay = Annotated[int, Meta(ge=constants.COIN_RD_MIN_DECAY, le=constants.COIN_RD_MAX_DECAY)]
VestsPrice = Annotated[int, Meta(ge=1, le=VESTS_PER_COIN_MAX)]


class SymbolsTable(Struct, forbid_unknown_fields=True):
    """The spelling of the chain's three token symbols."""

    coin: Annotated[SymbolText, Meta(description="The symbol of the liquid token.")]
    debt: Annotated[SymbolText, Meta(description="The symbol of the debt token; differs from `coin` in its first three letters.")]
    vests: Annotated[SymbolText, Meta(description="The symbol of the shares of the vesting fund.")]


class PriceTable(Struct, forbid_unknown_fields=True):
    """A price: an amount of SBD and the amount of COIN that it is worth."""

    sbd: Annotated[Amount, Meta(description="An amount of SBD.")]
    coin: Annotated[Amount, Meta(description="The amount of COIN that it is worth.")]


class PropertiesTable(Struct, forbid_unknown_fields=True, kw_only=True):
    """What a witness proposes: chain properties, and the price of SBD."""

    account_creation_fee: Annotated[Amount | None, Meta(description="COIN that a new account costs; hardfork 20 multiplies it by 30.")] = (
        None
    )
    maximum_block_size: Annotated[BlockSize | None, Meta(description="The maximum size of a block, in bytes.")] = None
    sbd_interest_rate: Annotated[Share | None, Meta(description="Yearly interest on SBD, in 1/100 %.")] = None
    account_subsidy_budget: Annotated[Budget | None, Meta(description="Free accounts that each block adds to their pool, in 1/10000.")] = (
        None
    )
    account_subsidy_decay: Annotated[Decay | None, Meta(description="The part of the pool that each block removes, in 1/2^36.")] = None
    exchange_rate: Annotated[
        PriceTable | None, Meta(description="The published price of SBD; the time of publication is that of block 1.")
    ] = None


class WitnessesTable(PropertiesTable, kw_only=True, forbid_unknown_fields=True):
    """Witnesses with the same key and properties. Those that the spec hasn't named before are created."""

    names: Annotated[list[str], Meta(description="The names of the witnesses, the first one or others.")]
    key: Annotated[
        KeyText, Meta(description="The public key for signing blocks and for all authorities; by default the first witness's.")
    ] = None


class AccountsTable(Struct, forbid_unknown_fields=True):
    """Accounts with the same balances. Their keys are either derived from a password or given explicitly."""

    names: Annotated[list[str], Meta(description="The names of the accounts.")]
    coin: Annotated[Amount, Meta(description="COIN of each account.")] = "0.000"
    sbd: Annotated[Amount, Meta(description="SBD of each account.")] = "0.000"
    vesting: Annotated[Amount, Meta(description="Powered-up COIN of each account, a whole amount.")] = "0.000"
    password: Annotated[str, Meta(description="Used to derive missing keys: the SHA-256 of name, role and password.")] = ""
    owner: Annotated[KeyText, Meta(description="A public key, instead of the one derived from the password.")] = None
    active: Annotated[KeyText, Meta(description="The same for the active authority.")] = None
    posting: Annotated[KeyText, Meta(description="The same for the posting authority.")] = None
    memo: Annotated[KeyText, Meta(description="The same for memos.")] = None


class GenesisTable(Struct, forbid_unknown_fields=True):
    """The state before block 1. Without `witness_key` the first witness signs with the first key of `witness_keys`."""

    witness: Annotated[str, Meta(description="The name of the first witness.")]
    hardfork: Annotated[Natural, Meta(description="The hardfork in force before block 1 (0: all are applied at their times).")]
    witness_key: Annotated[
        KeyText, Meta(description="The first witness's public key; by default that of the first key in `witness_keys`.")
    ] = None
    price_feed: Annotated[PriceTable | None, Meta(description="The median price before block 1; by default that of `price_history`.")] = (
        None
    )
    price_history: Annotated[
        list[PriceTable],
        Meta(
            max_length=constants.COIN_FEED_HISTORY_WINDOW,
            description="Earlier median prices, oldest first. Every 1200 blocks, the witnesses' median is added.",
        ),
    ] = []
    vests_per_coin: Annotated[
        VestsPrice, Meta(description="VESTS for 1 COIN that is powered up. If above 1, the first witness has VESTS at genesis.")
    ] = 1
    recent_claims: Annotated[
        Natural,
        Meta(description="The claims of paid posts on the reward fund, below 2^128 (0: those of the build). They decay from block 1 on."),
    ] = 0
    witness_properties: Annotated[
        PropertiesTable, Meta(description="The properties of all witnesses, including those that `--witnesses` adds.")
    ] = msgspec.field(default_factory=PropertiesTable)
    witnesses: Annotated[list[WitnessesTable], Meta(description="Further witnesses, and keys and properties of single ones.")] = []
    accounts: Annotated[list[AccountsTable], Meta(description="The funded accounts.")] = []
    accounts_in_blocks: Annotated[
        bool,
        Meta(description="Whether operations in the first blocks create the accounts, instead of the genesis."),
    ] = False


class SpecTable(Struct, forbid_unknown_fields=True):
    """A complete spec, merged with its bases. `constants` contains only those that differ from the build's constants."""

    name: Annotated[str, Meta(description="The name of the chain; by default the name of the file.")]
    brand: Annotated[str, Meta(pattern=BRAND, description="The word in names such as `total_vesting_fund_coin` and `coin.dao`.")]
    key_prefix: Annotated[str, Meta(pattern=PREFIX, description="The letters that public keys begin with.")]
    chain_id: Annotated[str, Meta(pattern=CHAIN_ID, description="The id that every signature covers, which binds it to this chain.")]
    build: Annotated[str, Meta(description="The build of the reference that defines constants and rules: `main` or `test`.")]
    smt: Annotated[bool, Meta(description="Whether the operations of Smart Media Tokens (SMT) are enabled.")]
    block_limit: Annotated[Natural, Meta(description="Block numbers must be below this number (0: no limit).")]
    witness_keys: Annotated[list[str], Meta(description="Private keys that the node signs blocks with.")]
    required_participation: Annotated[Share, Meta(description="The minimum share of slots with blocks for producing, in 1/100 %.")]
    plugins: Annotated[list[Annotated[str, Meta(pattern=PLUGIN)]], Meta(description="The plugins that are enabled by default.")]
    community_prefix: Annotated[
        str, Meta(pattern=COMMUNITY_PREFIX, description="The prefix of community names, followed by a type and digits.")
    ]
    remove_threshold: Annotated[
        int, Meta(ge=-1, description="The maximum number of expired proposals and their votes that a block removes (-1: all).")
    ]
    symbols: Annotated[SymbolsTable, Meta(description="The symbols of the three tokens.")]
    genesis: Annotated[GenesisTable, Meta(description="The state before block 1.")]
    constants: Annotated[Table, Meta(description="Constants that differ from those of the build.")] = {}


# The type of each table, whose fields are the known keys.
KNOWN_KEYS: dict[str, type[Struct]] = {
    "": SpecTable,
    "symbols": SymbolsTable,
    "genesis": GenesisTable,
    "genesis.price_feed": PriceTable,
    "genesis.price_history": PriceTable,
    "genesis.witness_properties": PropertiesTable,
    "genesis.witness_properties.exchange_rate": PriceTable,
    "genesis.witnesses": WitnessesTable,
    "genesis.witnesses.exchange_rate": PriceTable,
    "genesis.accounts": AccountsTable,
    "constants": BuildConstants,
}


def convert(value: Table, kind: type[Any], table_key: str) -> Any:
    """Convert a table strictly to its type. `table_key` is the dotted key of the table. Raises Fault."""
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        fault(str(error), table_key)


def fault(message: str, table_key: str) -> NoReturn:
    """Convert a msgspec error (`Expected ..., got ... - at `$.key``) to a Fault that contains the dotted key, and descriptions instead of
    regular expressions.
    """
    text, _, path = message.partition(" - at `$")
    key = ".".join(part for part in (table_key, path.rstrip("`").lstrip(".")) if part)
    for pattern, expected in EXPECTED.items():
        if text.endswith(f"matching regex {pattern!r}"):
            raise Fault(key, f"expected {expected}")
    field = re.search("unknown field `(.*)`|missing required field `(.*)`", text)
    if field is None:
        raise Fault(key, text[0].lower() + text[1:].replace("`", ""))
    inner = ".".join(part for part in (key, field[1] or field[2]) if part)
    if field[2]:
        raise Fault(inner, "expected a value, the key is missing")
    table = re.sub(r"\[.*?\]", "", key)
    raise Fault(inner, f"unknown key; {meant(table, field[1])}")


def meant(table: str, key: str) -> str:
    """Return a suggestion for an unknown key of a table: another table that has this key, or similar keys."""
    others = [table_key for table_key, kind in KNOWN_KEYS.items() if key in kind.__struct_fields__]
    elsewhere = [f"in [{table_key}]" if table_key else "at the top of the file" for table_key in others]
    if elsewhere:
        return f"it belongs {either(elsewhere)}, not here"
    return alternatives(key, (*KNOWN_KEYS[table].__struct_fields__, *(() if table else ("base",))), KEYS_PAGE)
