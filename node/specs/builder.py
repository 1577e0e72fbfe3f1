"""Reads chain specs from TOML files: those in `genesis/` by name, others by path.

A file can extend another one with `base = "dev"` (a name, or a path relative to the file). Tables are merged key by key; other values
replace those of the base. Each error contains the file, the dotted key and the expected value.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from node.runtime.errors import NodeError
from node.runtime.suggestions import alternatives
from node.specs.plugins import KNOWN
from node.specs.tables import AccountsTable, Fault, GenesisTable, PriceTable, PropertiesTable, SpecTable, Table, WitnessesTable, convert
from state.chain.steps.medians import median
from state.protocol import constants
from state.protocol.errors import ChainError
from state.protocol.keys import keys
from state.protocol.spec import BUILDS, BuildConstants, ChainSpec, Genesis, GenesisAccount, GenesisWitness
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, Price
from state.protocol.values.integers import INT64_MAX, WORD128
from state.protocol.values.text import is_valid_account_name, version_from_text

DEFAULT_CHAIN = "dev"
SPEC_FOLDER = Path(__file__).parents[2] / "genesis"
BASES_MAX = 8
SHOWN_MAX, KEY_SHOWN_MAX = 100, 200
SIZE_MAX = 1 << 24
DEPTH_MAX = 16  # of nested tables; no key is deeper than three
NAMES_SHOWN_MAX = 20  # in an error
ACCOUNTS_MAX = 1000  # made by an option; each has four keys to compute
LISTED_ACCOUNTS_MAX = 100_000  # in a file; their keys take nine seconds
LAST_TO_TAKE = 23  # the last hardfork that takes accounts away
TREASURY_SINCE = 21
ACCOUNTS_IN_BLOCKS_SINCE = 20  # the hardfork since which the creation fee is exact, and is burned

Layers = list[tuple[Path, Table]]


class SpecError(NodeError):
    """Error for an unusable chain spec: its `file`, the dotted `key` (empty if the problem is the file itself) and the `expected` value."""

    def __init__(self, file: Path | str, key: str, expected: str) -> None:
        super().__init__(f"{file}: {key[:KEY_SHOWN_MAX]}: {expected}" if key else f"{file}: {expected}")
        self.file, self.key, self.expected = str(file), key, expected


def load_spec(name_or_path: str) -> ChainSpec:
    """Load a chain spec, given by its name in `genesis/` or by the path of a TOML file. Raises SpecError."""
    layers = read_layers(spec_path(name_or_path))
    try:
        return build_spec({"name": layers[0][0].stem, **merged(layers)})
    except Fault as fault:
        raise SpecError(origin(layers, fault.key), fault.key, fault.expected) from None


def spec_names() -> list[str]:
    """Return the names of the specs that come with the node."""
    return sorted(path.stem for path in SPEC_FOLDER.glob("*.toml"))


def with_witnesses(spec: ChainSpec, count: int | None) -> ChainSpec:
    """Return the spec with a genesis of `count` witnesses: those that the spec names, and others named after the first one with a number.

    If `count` is None, the spec is returned unchanged. Raises NodeError.
    """
    named = spec.genesis.witness_names
    if count is None or count == len(named):
        return spec
    if not 1 <= count <= constants.COIN_MAX_WITNESSES:
        raise NodeError(f"--witnesses {count}: expected a number from 1 to {constants.COIN_MAX_WITNESSES}, as many as a round has")
    if count < len(named):
        raise NodeError(f"--witnesses {count}: the chain {spec.name} names {len(named)} witnesses: {some_of(list(named))}")
    first = require_test(spec, "--witnesses").genesis.witness
    numbered = (f"{first}{number}" for number in range(2, 2 * constants.COIN_MAX_WITNESSES))
    names = tuple(islice((name for name in numbered if name not in named), count - len(named)))
    taken = {account.name for account in spec.genesis.accounts}
    wrong = [name for name in names if name in taken or not is_valid_account_name(name)]
    if wrong:
        raise NodeError(f"--witnesses {count}: names of witnesses of {spec.name} are taken or not valid: {some_of(wrong)}")
    return replace(spec, genesis=replace(spec.genesis, witnesses=(*spec.genesis.witnesses, *names)))


def with_accounts(spec: ChainSpec, count: int | None) -> ChainSpec:
    """Return the spec with a genesis of `count` accounts that have known keys: those of the spec, then `user11` and so on with the balances
    of the first.

    Accounts with explicit keys in the spec remain in addition. If `count` is None, the spec is returned unchanged. Raises NodeError.
    """
    if count is None:
        return spec
    if not 1 <= count <= ACCOUNTS_MAX:
        raise NodeError(f"--accounts {count}: expected a number from 1 to {ACCOUNTS_MAX}")
    own = [account for account in require_test(spec, "--accounts").genesis.accounts if account.password]
    if not own:
        raise NodeError(f"--accounts: the chain {spec.name} has no accounts whose keys are known; use dev or dev-tests")
    others = [account for account in spec.genesis.accounts if not account.password]
    model = own[0]
    names = [f"user{number}" for number in range(len(own) + 1, count + 1)]
    if wrong := sorted({account.name for account in spec.genesis.accounts} & set(names)):
        raise NodeError(f"--accounts {count}: the chain {spec.name} has accounts with names of those that are added: {some_of(wrong)}")
    added = [like(model, name) for name in names]
    made = replace(spec, genesis=replace(spec.genesis, accounts=(*others, *own[:count], *added)))
    try:
        check_numbers(made)
    except Fault as fault:
        raise NodeError(f"--accounts {count}: {fault.expected}") from None
    return made


def with_main_chain_id(spec: ChainSpec) -> ChainSpec:
    """Return the spec with the chain id of the public network. Raises NodeError unless the spec is for a test chain."""
    return replace(require_test(spec, "--main-chain-id"), chain_id=constants.MAIN_CHAIN_ID)


def like(model: GenesisAccount, name: str) -> GenesisAccount:
    """Return an account with the balances of `model`, and keys derived from its name."""
    made = {role: keys.public_key(keys.derive_secret(name, role, model.password)) for role in keys.ROLES}
    return replace(model, name=name, **made)


def require_test(spec: ChainSpec, option: str) -> ChainSpec:
    """Return the spec if it is for a test chain, else raise NodeError. `option` is the option that needs a test chain."""
    if not spec.is_test:
        raise NodeError(f"{option}: the chain {spec.name} is not a test chain, so its genesis is fixed")
    return spec


# ------------------------------------------------------------------ files


def spec_path(name_or_path: str, folder: Path | None = None) -> Path:
    """Return the path of a spec's file, given the spec's name in `genesis/` or a path relative to `folder`."""
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        return (folder or Path()) / name_or_path
    path = SPEC_FOLDER / f"{name_or_path}.toml"
    try:
        is_there = path.is_file()
    except OSError:  # the name is too long for a file
        is_there = False
    if not is_there:
        raise SpecError(name_or_path, "", f"neither a chain nor the path of a TOML file; {alternatives(name_or_path, spec_names())}")
    return path


def read_layers(path: Path) -> Layers:
    """Read a file, its base, the base of its base and so on. Return their contents, the given file first."""
    layers: Layers = []
    while True:
        table = read_table(path)
        base = table.pop("base", None)
        layers.append((path, table))
        if base is None:
            return layers
        if not isinstance(base, str):
            raise SpecError(path, "base", "expected the name or the path of a chain spec")
        if len(layers) > BASES_MAX:
            raise SpecError(layers[0][0], "base", f"expected at most {BASES_MAX} specs on top of each other")
        path = base_path(base, path)


def base_path(base: str, above: Path) -> Path:
    """Return the file of a spec's base. Raises SpecError if it is missing."""
    expected = "expected the name or the path of a chain spec"
    try:
        path = spec_path(base, above.parent)
    except SpecError:
        raise SpecError(above, "base", f"{expected}; {alternatives(base, spec_names())}") from None
    if not path.is_file():
        raise SpecError(above, "base", f"{expected}; there is no {path}")
    return path


def read_table(path: Path) -> Table:
    """Read a TOML file. Raises SpecError."""
    try:
        with path.open("rb") as opened:
            data = opened.read(SIZE_MAX + 1)
        if len(data) > SIZE_MAX:
            raise SpecError(path, "", f"larger than {SIZE_MAX:,} bytes")
        table = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise SpecError(path, "", f"can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SpecError(path, "", "expected text in UTF-8") from None
    except (ValueError, RecursionError) as error:  # malformed TOML, or a number with thousands of digits
        raise SpecError(path, "", f"expected TOML: {error}") from None
    level = [table]
    for _ in range(DEPTH_MAX):
        level = [value for within in level for value in within.values() if isinstance(value, dict)]
    if level:
        raise SpecError(path, "", f"expected at most {DEPTH_MAX} tables in each other")
    return table


def merge(below: Table, above: Table) -> Table:
    """Merge two tables. Nested tables merge key by key; other values of `above` replace those of `below`."""
    both = dict(below)
    for key, value in above.items():
        old = both.get(key)
        both[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return both


def merged(layers: Layers) -> Table:
    """Merge all layers of a spec into one table."""
    return reduce(merge, (table for _, table in reversed(layers)))


def origin(layers: Layers, key: str) -> Path:
    """Return the file that sets a key, or the topmost file if none does."""
    parts = re.split(r"[.\[]", key)
    for count in range(len(parts), 0, -1):
        for path, table in layers:
            value: Any = table
            for part in parts[:count]:
                value = value.get(part) if isinstance(value, dict) else None
            if value is not None:
                return path
    return layers[0][0]


# ------------------------------------------------------------------ from a file's tables to a spec


def build_spec(given: Table) -> ChainSpec:
    """Build a spec from a merged table. Raises Fault."""
    table: SpecTable = convert(given, SpecTable, "")
    if table.build not in BUILDS:
        raise Fault("build", f"there is no build {table.build[:SHOWN_MAX]!r}; {alternatives(table.build, BUILDS)}")
    if table.symbols.coin[:3] == table.symbols.debt[:3]:  # a decoder first compares these three bytes
        raise Fault("symbols.debt", "expected a symbol that differs from symbols.coin in its first three letters")
    if table.symbols.vests in (table.symbols.coin, table.symbols.debt):
        raise Fault("symbols.vests", "expected a symbol that differs from symbols.coin and symbols.debt")
    for index, plugin in enumerate(table.plugins):
        if plugin not in KNOWN:
            raise Fault(f"plugins[{index}]", f"there is no plugin {plugin[:SHOWN_MAX]}; {alternatives(plugin, KNOWN)}")
    secrets = [secret(text, f"witness_keys[{index}]") for index, text in enumerate(table.witness_keys)]
    built = build_constants(table)
    spec = ChainSpec(
        name=table.name,
        brand=table.brand,
        coin_symbol=table.symbols.coin,
        debt_symbol=table.symbols.debt,
        vests_symbol=table.symbols.vests,
        key_prefix=table.key_prefix,
        chain_id=bytes.fromhex(table.chain_id),
        build="test" if table.build == "test" else "main",
        constants=built,
        smt=table.smt,
        block_limit=table.block_limit,
        genesis=build_genesis(table, secrets, built.COIN_MIN_ACCOUNT_CREATION_FEE),
        witness_keys=tuple(table.witness_keys),
        required_participation=table.required_participation,
        plugins=tuple(table.plugins),
        community_prefix=table.community_prefix,
        remove_threshold=table.remove_threshold,
    )
    check_names(spec, table.genesis)
    check_numbers(spec)
    return spec


def build_constants(table: SpecTable) -> BuildConstants:
    """Return the constants of the node's build, with the changes that the spec makes to them."""
    changed = {key: constant(key, value) for key, value in table.constants.items()}
    made: BuildConstants = convert({**asdict(BUILDS[table.build]), **changed}, BuildConstants, "constants")
    return made


def constant(key: str, value: Any) -> Any:
    """Convert a constant from its form in a file, in which times are TOML dates and the version is text."""
    if isinstance(value, list):
        return [constant(key, each) for each in value]
    if isinstance(value, datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    if key == "COIN_BLOCKCHAIN_VERSION" and isinstance(value, str):
        try:
            return version_from_text(value)
        except ChainError:
            raise Fault(f"constants.{key}", 'expected a version, for example "0.24.0"') from None
    if key.endswith("_TIME") and type(value) is not int:
        raise Fault(f"constants.{key}", "expected a date and time, for example 2026-01-01T00:00:00Z")
    return value


def build_genesis(table: SpecTable, secrets: list[bytes], least_fee: int) -> Genesis:
    """Build the state before block 1. Raises Fault."""
    given = table.genesis
    if sum(len(each.names) for each in given.accounts) > LISTED_ACCOUNTS_MAX:
        raise Fault("genesis.accounts", f"expected at most {LISTED_ACCOUNTS_MAX:,} accounts")
    if given.witness_key is None and not secrets:
        raise Fault("witness_keys", "expected a private key, since genesis.witness_key is not given either")
    witness_key = keys.public_key(secrets[0]) if given.witness_key is None else public_key(given.witness_key, table, "genesis.witness_key")
    history = tuple(price(each, f"genesis.price_history[{index}]") for index, each in enumerate(given.price_history))
    special = tuple(witness for index in range(len(given.witnesses)) for witness in build_witnesses(table, index, least_fee))
    return Genesis(
        witness=given.witness,
        witness_key=witness_key,
        price_feed=median(history) if history and given.price_feed is None else price(given.price_feed, "genesis.price_feed"),
        price_history=history,
        vests_per_coin=given.vests_per_coin,
        recent_claims=given.recent_claims,
        accounts=tuple(account for index in range(len(given.accounts)) for account in build_accounts(table, index)),
        witnesses=tuple(witness.name for witness in special if witness.name != given.witness),
        witness_properties=witness_properties(given.witness_properties, "genesis.witness_properties", least_fee),
        special_witnesses=special,
        hardfork=given.hardfork,
        accounts_in_blocks=given.accounts_in_blocks,
    )


def price(given: PriceTable | None, key: str) -> Price:
    """Return a price, or the null price for None. Raises Fault."""
    if given is None:
        return NULL_PRICE
    found = Price(Asset(satoshis(given.sbd), SBD), Asset(satoshis(given.coin), COIN))
    if not (found.base.amount and found.quote.amount):
        raise Fault(key, "expected amounts above zero")
    return found


def build_witnesses(table: SpecTable, index: int, least_fee: int) -> Iterator[GenesisWitness]:
    """Yield the witnesses of one `[[genesis.witnesses]]`. Raises Fault."""
    given, table_key = table.genesis.witnesses[index], f"genesis.witnesses[{index}]"
    if given.key is not None and table.genesis.witness in given.names:
        raise Fault(f"{table_key}.key", f"expected no key of {table.genesis.witness}, which genesis.witness_key is for")
    key = b"" if given.key is None else public_key(given.key, table, f"{table_key}.key")
    properties = witness_properties(given, table_key, least_fee)
    yield from (replace(properties, name=name, key=key) for name in given.names)


def witness_properties(given: PropertiesTable, table_key: str, least_fee: int) -> GenesisWitness:
    """Return the properties of one or all witnesses. Raises Fault."""
    fee, most = given.account_creation_fee, constants.COIN_MAX_ACCOUNT_CREATION_FEE
    if fee is not None and not least_fee <= satoshis(fee) <= most:
        raise Fault(f"{table_key}.account_creation_fee", f"expected an amount from {amount(least_fee)} to {amount(most)}")
    return GenesisWitness(
        account_creation_fee=None if fee is None else satoshis(fee),
        maximum_block_size=given.maximum_block_size,
        sbd_interest_rate=given.sbd_interest_rate,
        account_subsidy_budget=given.account_subsidy_budget,
        account_subsidy_decay=given.account_subsidy_decay,
        exchange_rate=price(given.exchange_rate, f"{table_key}.exchange_rate"),
    )


def build_accounts(table: SpecTable, index: int) -> Iterator[GenesisAccount]:
    """Yield the accounts of one table `[[genesis.accounts]]`. Raises Fault."""
    given = table.genesis.accounts[index]
    table_key = f"genesis.accounts[{index}]"
    if satoshis(given.vesting) % constants.COIN_BLOCKCHAIN_PRECISION:
        raise Fault(f"{table_key}.vesting", "expected a whole amount, as its shares are split by a million")
    named = {}
    for role in keys.ROLES:
        text = getattr(given, role)
        if text is not None:
            named[role] = public_key(text, table, f"{table_key}.{role}")
        elif not given.password:
            raise Fault(f"{table_key}.{role}", "expected a public key, or a password that makes all four")
    for name in given.names:
        made = {role: keys.public_key(keys.derive_secret(name, role, given.password)) for role in keys.ROLES if role not in named}
        yield GenesisAccount(
            name=name,
            coin=satoshis(given.coin),
            sbd=satoshis(given.sbd),
            vesting=satoshis(given.vesting),
            password=given.password,
            **named,
            **made,
        )


def satoshis(amount: str) -> int:
    """Convert an amount in text to satoshis, its smallest unit."""
    return int(amount.replace(".", ""))


def amount(number: int) -> str:
    """Convert satoshis to an amount in text."""
    return f"{number // constants.COIN_BLOCKCHAIN_PRECISION}.{number % constants.COIN_BLOCKCHAIN_PRECISION:03}"


def secret(text: str, key: str) -> bytes:
    """Parse a private key in WIF. Raises Fault."""
    try:
        data = keys.secret_from_wif(text)
    except ChainError:
        data = b""
    if not keys.is_secret(data):
        raise Fault(key, "expected a private key in wallet import format")
    return data


def public_key(text: str, table: SpecTable, key: str) -> bytes:
    """Parse a public key with the chain's prefix. Raises Fault."""
    try:
        return keys.public_key_from_text(text, table.key_prefix)
    except ChainError:
        raise Fault(key, f"expected a public key that starts with {table.key_prefix}") from None


# ------------------------------------------------------------------ checks across tables


def check_names(spec: ChainSpec, given: GenesisTable) -> None:
    """Raise Fault for account names that are invalid or duplicate, or that belong to accounts whose keys hardfork 9 replaces or whose
    balances hardfork 23 takes.
    """
    if not is_valid_account_name(spec.genesis.witness):
        raise Fault("genesis.witness", "expected a valid account name")
    reserved = {constants.COIN_MINER_ACCOUNT, constants.COIN_NULL_ACCOUNT, constants.COIN_TEMP_ACCOUNT, spec.treasury}
    listed = {*spec.hf9_accounts, *spec.hf23_accounts}
    are_later = given.accounts_in_blocks and given.hardfork >= LAST_TO_TAKE
    wrong: list[tuple[str, str, str]] = []
    kinds: list[tuple[str, Sequence[AccountsTable | WitnessesTable]]] = [("accounts", given.accounts), ("witnesses", given.witnesses)]
    for kind, tables in kinds:
        for index, table in enumerate(tables):
            for position, name in enumerate(table.names):
                expected = ""
                if not is_valid_account_name(name):
                    expected = f"expected a valid account name instead of {name}"
                elif name in reserved or (name == given.witness and kind == "accounts"):
                    expected = f"expected a new account name, {name} exists already"
                elif name in listed and not (are_later and kind == "accounts"):
                    expected = f"expected another name, hardfork 9 or 23 takes {name} away"
                if expected:
                    wrong.append((f"genesis.{kind}[{index}].names[{position}]", expected, name))
                reserved.add(name)
    if wrong:
        key, expected, _ = wrong[0]
        raise Fault(key, expected + (f"; nor can these be taken: {some_of([name for _, _, name in wrong[1:]])}" if wrong[1:] else ""))


def some_of(names: list[str]) -> str:
    """Join the first NAMES_SHOWN_MAX names, and add the number of the others."""
    return ", ".join(names[:NAMES_SHOWN_MAX]) + (f" and {len(names) - NAMES_SHOWN_MAX:,} more" if len(names) > NAMES_SHOWN_MAX else "")


def check_numbers(spec: ChainSpec) -> None:
    """Raise Fault for a supply above the chain's limit, for numbers that the chain's rules or fields don't allow, or for a hardfork that
    the build doesn't have or the spec can't use.
    """
    sbd = spec.constants.COIN_SBD_INIT_SUPPLY + spec.genesis_printed_sbd
    for asset, supply in (("COIN", spec.genesis_supply), ("SBD", sbd)):
        if supply > constants.COIN_MAX_SHARE_SUPPLY:
            raise Fault("genesis.accounts", f"expected at most {constants.COIN_MAX_SHARE_SUPPLY} satoshis of {asset} altogether")
    check_prices(spec, sbd)
    # Enough for the VESTS of all COIN.
    if spec.genesis_supply * spec.genesis.vests_per_coin * constants.VESTS_PER_COIN_SATOSHI > constants.COIN_MAX_SATOSHIS:
        raise Fault("genesis.vests_per_coin", "expected less: the VESTS for all COIN would not fit into 62 bits")
    largest = max([spec.witness_vesting, *(account.vesting for account in spec.genesis.accounts)])
    most = INT64_MAX // constants.COIN_DOWNVOTE_POOL_PERCENT_HF21 // constants.VESTS_PER_COIN_SATOSHI // spec.genesis.vests_per_coin
    if largest > most:
        # Up to block 35,922,615, the maximum of a larger downvote pool is negative, which refuses most operations of the account.
        raise Fault("genesis.vests_per_coin", f"expected less, or at most {amount(most)} COIN powered up in an account")
    if spec.genesis.recent_claims >= WORD128:
        raise Fault("genesis.recent_claims", "expected a number below 2^128")
    if len(spec.genesis.witness_names) > constants.COIN_MAX_WITNESSES:
        raise Fault("genesis.witnesses", f"expected at most {constants.COIN_MAX_WITNESSES}, as many as a round has")
    if spec.genesis.accounts_in_blocks and spec.genesis.hardfork < ACCOUNTS_IN_BLOCKS_SINCE:
        raise Fault("genesis.hardfork", f"expected at least {ACCOUNTS_IN_BLOCKS_SINCE}, or false for genesis.accounts_in_blocks")
    if spec.genesis.hardfork > spec.constants.COIN_NUM_HARDFORKS:
        raise Fault("genesis.hardfork", f"expected at most {spec.constants.COIN_NUM_HARDFORKS}, the last hardfork of the build")
    if spec.genesis.hardfork >= TREASURY_SINCE and not spec.constants.TREASURY_AT_GENESIS:
        what = f"genesis.hardfork below {TREASURY_SINCE}, which opens the treasury, or true for constants.TREASURY_AT_GENESIS"
        raise Fault("build", f"expected {what}")


def check_prices(spec: ChainSpec, sbd: int) -> None:
    """Raise Fault for a price at which the worth of all COIN, or of all `sbd`, leaves too little room for sums of 64 bits."""
    genesis = spec.genesis
    prices = [("genesis.price_feed", genesis.price_feed)]
    prices += [(f"genesis.price_history[{index}]", each) for index, each in enumerate(genesis.price_history)]
    prices += [("genesis.witness_properties.exchange_rate", genesis.witness_properties.exchange_rate)]
    prices += [("genesis.witnesses", witness.exchange_rate) for witness in genesis.special_witnesses]
    for key, each in prices:
        base, quote = each.base.amount, each.quote.amount
        if spec.genesis_supply * base > quote * constants.COIN_MAX_SATOSHIS or sbd * quote > base * constants.COIN_MAX_SHARE_SUPPLY:
            raise Fault(key, "expected a price nearer to 1: the worth of all COIN or SBD would be too large for the chain's sums")
