"""`ChainSpec`, the definition of a chain: names, symbols, constants and genesis.

`node/specs/builder.py` reads it from TOML (`genesis/*.toml`). Constants that are the same on every chain are in constants.py.
Sources: state-objects.md §1.1, §12, §15; block-processing.md §1.1, Appendix C "M versus T".
"""

import re
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from state.protocol import constants
from state.protocol.constants import COIN_MAX_WITNESSES
from state.protocol.values.asset import NULL_PRICE, Price

Natural = Annotated[int, Meta(ge=0)]

RELEASE_MASK = 0xFFFF0000
SPELLINGS_MAX = 16384
# With at most 450 bytes each, they fit into a block of the smallest size limit that witnesses can vote for.
ACCOUNTS_PER_BLOCK = 128
CHAIN_PROPERTIES = (
    "account_creation_fee",
    "maximum_block_size",
    "sbd_interest_rate",
    "account_subsidy_budget",
    "account_subsidy_decay",
)
LATER_FIELDS = frozenset(
    ("accounts_in_blocks", "price_history", "vests_per_coin", "recent_claims", "witness_properties", "special_witnesses")
)
WITNESS_SHARE = 1000  # the first witness can have a thousandth of all COIN in addition, powered up
# Matches the placeholder as a word or at a boundary within an identifier, but not in "Bitcoin".
BRAND_WORD = re.compile(r"(?<![A-Za-z])(?:coin|COIN|Coin)")


class BuildConstants(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The constants that differ between the reference's main and test builds.

    Times and durations are in seconds, amounts in the smallest unit. Names are those of the reference pages. Switches and numbers that have
    no name in these pages have no `COIN_` prefix.
    """

    COIN_BLOCKCHAIN_VERSION: Annotated[
        Natural, Meta(description='Version that blocks vote for (major << 24, hardfork << 16, release). As text in a file: "0.24.0".')
    ]
    HARDFORK_TIMES: Annotated[tuple[Natural, ...], Meta(description="Times of hardforks 1, 2, ..., one for each hardfork of the build.")]
    COIN_GENESIS_TIME: Annotated[Natural, Meta(description="Time of genesis, from which slots are counted.")]
    COIN_MINING_TIME: Annotated[Natural, Meta(description="Only shown by get_config. No rule uses it.")]
    COIN_INIT_SUPPLY: Annotated[Natural, Meta(description="COIN of the first witness at genesis, in addition to those of the accounts.")]
    COIN_SBD_INIT_SUPPLY: Annotated[Natural, Meta(description="SBD of the first witness at genesis, in addition to those of the accounts.")]
    COIN_CASHOUT_WINDOW_SECONDS: Annotated[Natural, Meta(description="Time from a comment to its payout since hardfork 17.")]
    COIN_CASHOUT_WINDOW_SECONDS_PRE_HF12: Annotated[
        Natural, Meta(description="Time by which votes move the payout of a discussion before hardfork 17, except under 12.")
    ]
    COIN_CASHOUT_WINDOW_SECONDS_PRE_HF17: Annotated[
        Natural, Meta(description="Time from a post to its first payout under hardforks 12 to 16. Under 12 votes also move it by this.")
    ]
    COIN_SECOND_CASHOUT_WINDOW: Annotated[Natural, Meta(description="Time from the first to the second payout under hardforks 12 to 16.")]
    COIN_MAX_CASHOUT_WINDOW_SECONDS: Annotated[
        Natural, Meta(description="Maximum time from the first vote to the payout before hardfork 17.")
    ]
    COIN_UPVOTE_LOCKOUT_HF7: Annotated[
        Natural, Meta(description="Time before a payout in which votes can't raise it, under hardforks 7 to 16.")
    ]
    COIN_UPVOTE_LOCKOUT_HF17: Annotated[
        Natural, Meta(description="Time before a payout in which votes can't raise it, under hardforks 17 to 19.")
    ]
    COIN_UPVOTE_LOCKOUT_SECONDS: Annotated[
        Natural, Meta(description="Time before a payout in which the weight of votes declines, since hardfork 20.")
    ]
    COIN_MIN_ACCOUNT_CREATION_FEE: Annotated[Natural, Meta(description="Minimum fee for a new account that a witness can propose.")]
    COIN_OWNER_AUTH_RECOVERY_PERIOD: Annotated[
        Natural, Meta(description="Time during which a former owner authority can recover an account.")
    ]
    COIN_ACCOUNT_RECOVERY_REQUEST_EXPIRATION_PERIOD: Annotated[
        Natural, Meta(description="Time until a request to recover an account expires.")
    ]
    COIN_OWNER_UPDATE_LIMIT: Annotated[Natural, Meta(description="Minimum time between two changes of an owner authority.")]
    COIN_OWNER_AUTH_HISTORY_TRACKING_START_BLOCK_NUM: Annotated[
        Natural, Meta(description="Head block number from which former owner authorities are kept.")
    ]
    COIN_PROTECTION_HARDFORK_TIME: Annotated[
        Natural, Meta(description="Time from which the eight listed accounts are locked. `community321` is locked later.")
    ]
    REVERSE_AUCTION_START_TIME: Annotated[
        Natural, Meta(description="Comments created earlier weigh votes differently. Later votes are discounted by time.")
    ]
    SQUARE_ROOT_START_TIME: Annotated[
        Natural, Meta(description="Under hardforks 17 and 18, votes on comments created later weigh by square root.")
    ]
    RC_START_BLOCK: Annotated[Natural, Meta(description="Block after which resource credits begin.")]
    NEGATIVE_WITHDRAW_REFUSED_AFTER_BLOCK: Annotated[
        int, Meta(description="Head block number above which a negative withdraw_vesting is refused. Up to it, the operation does nothing.")
    ]
    TREASURY_AT_GENESIS: Annotated[bool, Meta(description="Genesis creates the treasury account, without an authority.")]
    LIMIT_OWNER_UPDATES: Annotated[bool, Meta(description="COIN_OWNER_UPDATE_LIMIT applies to account_update.")]
    PRESET_RECENT_CLAIMS: Annotated[bool, Meta(description="Hardforks 17, 19 and 21 set recent_claims of the reward fund.")]
    SHUT_DOWN_INACTIVE_WITNESSES: Annotated[
        bool, Meta(description="Under hardforks 14 to 19, a witness that misses blocks for a day loses its signing key.")
    ]
    AUTOMATED_ACTIONS: Annotated[bool, Meta(description="Block headers have extensions 3 and 4, with one example action each.")]
    SKIP_PRICE_FLOOR: Annotated[bool, Meta(description="The median price has no floor at a debt of 10 % of the supply.")]
    DISABLE_LIQUIDITY_REWARD: Annotated[bool, Meta(description="No rewards for market making are paid.")]

    @property
    def COIN_NUM_HARDFORKS(self) -> int:  # noqa: N802 - the reference's name
        """The number of hardforks of the build."""
        return len(self.HARDFORK_TIMES)

    @property
    def COIN_BLOCKCHAIN_HARDFORK_VERSION(self) -> int:  # noqa: N802 - the reference's name
        """The software version without its release."""
        return self.COIN_BLOCKCHAIN_VERSION & RELEASE_MASK

    @property
    def COIN_DELEGATION_RETURN_PERIOD_HF0(self) -> int:  # noqa: N802 - the reference's name
        """Seconds after which the VESTS of a reduced delegation return to the delegator, before HF 20. This equals the cashout window."""
        return self.COIN_CASHOUT_WINDOW_SECONDS


MAIN_BUILD = BuildConstants(
    COIN_BLOCKCHAIN_VERSION=0x00_17_0001,
    HARDFORK_TIMES=constants.HARDFORK_TIMES,
    COIN_GENESIS_TIME=1458835200,
    COIN_MINING_TIME=1458838800,
    COIN_INIT_SUPPLY=0,
    COIN_SBD_INIT_SUPPLY=0,
    COIN_CASHOUT_WINDOW_SECONDS=604800,
    COIN_CASHOUT_WINDOW_SECONDS_PRE_HF12=86400,
    COIN_CASHOUT_WINDOW_SECONDS_PRE_HF17=43200,
    COIN_SECOND_CASHOUT_WINDOW=2592000,
    COIN_MAX_CASHOUT_WINDOW_SECONDS=1209600,
    COIN_UPVOTE_LOCKOUT_HF7=60,
    COIN_UPVOTE_LOCKOUT_HF17=43200,
    COIN_UPVOTE_LOCKOUT_SECONDS=43200,
    COIN_MIN_ACCOUNT_CREATION_FEE=1,
    COIN_OWNER_AUTH_RECOVERY_PERIOD=2592000,
    COIN_ACCOUNT_RECOVERY_REQUEST_EXPIRATION_PERIOD=86400,
    COIN_OWNER_UPDATE_LIMIT=3600,
    COIN_OWNER_AUTH_HISTORY_TRACKING_START_BLOCK_NUM=3186477,
    COIN_PROTECTION_HARDFORK_TIME=1585994400,
    REVERSE_AUCTION_START_TIME=1466776800,
    SQUARE_ROOT_START_TIME=1497366009,
    RC_START_BLOCK=26256743,
    NEGATIVE_WITHDRAW_REFUSED_AFTER_BLOCK=23847548,
    TREASURY_AT_GENESIS=False,
    LIMIT_OWNER_UPDATES=True,
    PRESET_RECENT_CLAIMS=True,
    SHUT_DOWN_INACTIVE_WITNESSES=True,
    AUTOMATED_ACTIONS=False,
    SKIP_PRICE_FLOOR=False,
    DISABLE_LIQUIDITY_REWARD=False,
)

TEST_BUILD = BuildConstants(
    COIN_BLOCKCHAIN_VERSION=0x00_18_0000,
    HARDFORK_TIMES=(*constants.HARDFORK_TIMES, 1571065200),
    COIN_GENESIS_TIME=1451606400,
    COIN_MINING_TIME=1451606400,
    COIN_INIT_SUPPLY=250_000_000_000,
    COIN_SBD_INIT_SUPPLY=7_000_000_000,
    COIN_CASHOUT_WINDOW_SECONDS=3600,
    COIN_CASHOUT_WINDOW_SECONDS_PRE_HF12=3600,
    COIN_CASHOUT_WINDOW_SECONDS_PRE_HF17=3600,
    COIN_SECOND_CASHOUT_WINDOW=259200,
    COIN_MAX_CASHOUT_WINDOW_SECONDS=86400,
    COIN_UPVOTE_LOCKOUT_HF7=60,
    COIN_UPVOTE_LOCKOUT_HF17=300,
    COIN_UPVOTE_LOCKOUT_SECONDS=300,
    COIN_MIN_ACCOUNT_CREATION_FEE=0,
    COIN_OWNER_AUTH_RECOVERY_PERIOD=60,
    COIN_ACCOUNT_RECOVERY_REQUEST_EXPIRATION_PERIOD=12,
    COIN_OWNER_UPDATE_LIMIT=0,
    COIN_OWNER_AUTH_HISTORY_TRACKING_START_BLOCK_NUM=1,
    COIN_PROTECTION_HARDFORK_TIME=1585735200,
    REVERSE_AUCTION_START_TIME=0,
    SQUARE_ROOT_START_TIME=1497967209,
    RC_START_BLOCK=1,
    NEGATIVE_WITHDRAW_REFUSED_AFTER_BLOCK=-1,
    TREASURY_AT_GENESIS=True,
    LIMIT_OWNER_UPDATES=False,
    PRESET_RECENT_CLAIMS=False,
    SHUT_DOWN_INACTIVE_WITNESSES=False,
    AUTOMATED_ACTIONS=True,
    SKIP_PRICE_FLOOR=True,
    DISABLE_LIQUIDITY_REWARD=False,
)

BUILDS = {"main": MAIN_BUILD, "test": TEST_BUILD}


class GenesisAccount(Struct, frozen=True, kw_only=True):
    """An account of the spec, created in the order of the spec, either at genesis after the reference's own accounts, or by the first
    blocks.

    Each authority has one key with weight 1 and threshold 1. Unlike the reference's genesis accounts, an account created at genesis has a
    metadata row, and its sbd_seconds_last_update is the genesis time (0 would earn decades of interest).
    """

    name: str
    owner: bytes
    active: bytes
    posting: bytes
    memo: bytes
    coin: Natural = 0
    sbd: Natural = 0
    vesting: Natural = 0  # powered-up COIN in satoshis, a whole number of COIN
    password: str = ""  # the password of the keys, for the node's banner; "" if the spec contains the keys


class GenesisWitness(Struct, frozen=True, kw_only=True):
    """The spec's settings of a witness at genesis. Settings that the spec omits are None or empty."""

    name: str = ""  # "": every witness
    key: bytes = b""  # signing key, memo key and the key of all three authorities of its account
    account_creation_fee: int | None = None
    maximum_block_size: int | None = None
    sbd_interest_rate: int | None = None
    account_subsidy_budget: int | None = None
    account_subsidy_decay: int | None = None
    exchange_rate: Price = NULL_PRICE  # the published price, SBD / COIN

    @property
    def properties(self) -> dict[str, int]:
        """The chain properties that the spec sets for the witness, by name."""
        return {name: value for name in CHAIN_PROPERTIES if (value := getattr(self, name)) is not None}


class Genesis(Struct, frozen=True, kw_only=True):
    """The state before block 1. Its time and the balances of the first witness are constants of the build."""

    witness: str = constants.COIN_INIT_MINER_NAME
    witness_key: bytes  # signing key, memo key and the key of all three authorities of the witness account
    price_feed: Price = NULL_PRICE  # the median price, SBD / COIN (null: none)
    accounts: tuple[GenesisAccount, ...] = ()
    price_history: tuple[Price, ...] = ()  # earlier median prices, oldest first
    vests_per_coin: int = 1  # the price of VESTS: VESTS for a COIN that is powered up
    recent_claims: int = 0  # on the reward fund, decaying from block 1 on (0: those of the build)
    witnesses: tuple[str, ...] = ()  # further witnesses, with accounts of these names
    witness_properties: GenesisWitness = GenesisWitness()  # of every witness
    special_witnesses: tuple[GenesisWitness, ...] = ()  # those with a key or properties of their own
    hardfork: Natural = 0  # The last step of genesis applies hardforks 1 to this one; block 1 applies later ones.
    # The first witness creates `accounts` by operations in the first blocks, from balances that it has at genesis.
    accounts_in_blocks: bool = False

    def decisive_fields(self) -> dict[str, Any]:
        """Return the fields by name. Fields in LATER_FIELDS are omitted if they have their defaults, as older versions lacked them."""
        plain = Genesis(witness_key=self.witness_key)
        return {key: value for key, value in asdict(self).items() if key not in LATER_FIELDS or value != getattr(plain, key)}

    @property
    def witness_names(self) -> tuple[str, ...]:
        """The names of all witnesses, the first witness first."""
        return self.witness, *self.witnesses

    def witness_settings(self, name: str) -> GenesisWitness:
        """Return a witness's key, and the properties and price that the spec sets for it."""
        own = next((each for each in self.special_witnesses if each.name == name), GenesisWitness())
        every = self.witness_properties
        rate = own.exchange_rate if own.exchange_rate != NULL_PRICE else every.exchange_rate
        properties = {**every.properties, **own.properties}
        return GenesisWitness(name=name, key=own.key or self.witness_key, exchange_rate=rate, **properties)

    def shares(self, vesting: int) -> int:
        """Return the VESTS for powered-up COIN at genesis, both in satoshis, before the split of HF 1.

        The split multiplies VESTS by 1,000,000, after which 1.000 COIN is worth `vests_per_coin` VESTS. Without powered-up COIN at genesis
        the vesting fund is empty, and 1.000 COIN is worth 1.000000 VESTS.
        """
        return vesting * self.vests_per_coin * constants.VESTS_PER_COIN_SATOSHI // constants.VESTING_SPLIT


class Base(Struct, frozen=True, kw_only=True):
    """The block after which a chain begins. The blocks up to it are not on the chain. The defaults are those of a chain from genesis.

    `block_id` is the `previous` of the chain's first block. `digest` identifies the file with the state after this block.
    """

    number: int = 0
    block_id: bytes = bytes(20)
    time: int = 0
    digest: str = ""


class ChainSpec(Struct, frozen=True, kw_only=True, dict=True, cache_hash=True):
    """Definition of a chain: all properties in which chains differ. It doesn't change while a node runs."""

    name: str
    brand: str  # the brand word in lower case (`coin`: the product's own spelling)
    coin_symbol: str
    debt_symbol: str
    vests_symbol: str
    key_prefix: str
    chain_id: bytes
    build: Literal["main", "test"]
    constants: BuildConstants
    smt: bool  # whether the chain has SMTs, including operations 47-53
    block_limit: Natural = 0  # exclusive upper bound of block numbers (0: none)
    genesis: Genesis
    witness_keys: tuple[str, ...] = ()  # private keys (WIF) for producing blocks
    required_participation: Natural = 3300  # basis points; below it the producer makes no blocks
    plugins: tuple[str, ...] = ()
    community_prefix: str = "coin-"
    remove_threshold: int = 200  # maximum number of proposals and their votes removed per block (-1: no limit)
    treasury_name: str = ""  # the account that pays proposals ("": that of the reference)
    is_partial: bool = False  # whether the chain begins with a part of another chain's state (state/portable)
    base: Base = Base()
    round_size: int = COIN_MAX_WITNESSES  # witnesses of a round, fewer only on forks
    account_password: str = ""  # from which the keys of a fork's accounts are derived ("": they have their own)

    @property
    def is_test(self) -> bool:
        """Whether the chain uses the reference's test build."""
        return self.build == "test"

    def spell(self, text: str) -> str:
        """Replace `coin`, `COIN` and `Coin` in a name or text of the product by this chain's brand word."""
        return text if self.brand == constants.BRAND else spelled(text, self.brand)

    @cached_property
    def treasury(self) -> str:
        """The account that pays proposals."""
        return self.treasury_name or self.spell(constants.COIN_TREASURY_ACCOUNT)

    @cached_property
    def hf9_accounts(self) -> tuple[str, ...]:
        """The accounts whose authorities HF 9 replaces, in ascending order."""
        return branded(constants.HF9_ACCOUNTS, self.brand)

    @cached_property
    def hf23_accounts(self) -> tuple[str, ...]:
        """The accounts that HF 23 empties, in ascending order."""
        return branded(constants.HF23_ACCOUNTS, self.brand)

    @cached_property
    def protected_accounts(self) -> frozenset[str]:
        """The accounts that are locked starting at COIN_PROTECTION_HARDFORK_TIME."""
        return frozenset(branded(constants.PROTECTED_ACCOUNTS, self.brand))

    @cached_property
    def lockable_accounts(self) -> frozenset[str]:
        """All accounts that are ever locked: the protected accounts and the former treasury."""
        return self.protected_accounts | {constants.HIVE_TREASURY_ACCOUNT}

    @cached_property
    def hardfork_times(self) -> tuple[int, ...]:
        """The time of each hardfork, indexed by its number. Number 0 is genesis."""
        return self.constants.COIN_GENESIS_TIME, *self.constants.HARDFORK_TIMES

    @cached_property
    def hardfork_versions(self) -> tuple[int, ...]:
        """The version 0.n.0 of each hardfork, indexed by its number."""
        return tuple(number << 16 for number in range(len(self.hardfork_times)))

    def with_accounts_in_blocks(self, is_so: bool) -> "ChainSpec":
        """Return the spec with its accounts created in the first blocks if `is_so`, otherwise at genesis."""
        if is_so == self.genesis.accounts_in_blocks:
            return self
        return replace(self, genesis=replace(self.genesis, accounts_in_blocks=is_so))

    @cached_property
    def last_funding_block(self) -> int:
        """The number of the last block that creates accounts of the spec; 0 if the genesis creates them."""
        count = len(self.genesis.accounts) if self.genesis.accounts_in_blocks else 0
        return -(-count // ACCOUNTS_PER_BLOCK)

    @cached_property
    def rc_start_block(self) -> int:
        """The block after which resource credits begin: RC_START_BLOCK, but not before all accounts of the spec exist.

        The creation of these accounts therefore costs no credits. As on a chain with accounts at genesis, all of them have some credits,
        even without VESTS.
        """
        return max(self.constants.RC_START_BLOCK, self.last_funding_block)

    @cached_property
    def accounts_at_genesis(self) -> tuple[GenesisAccount, ...]:
        """The accounts of the spec that genesis creates. The hardforks would take away some that operations create after them."""
        if self.genesis.accounts_in_blocks:
            return ()
        taken = {*self.hf9_accounts, *self.hf23_accounts}
        return tuple(account for account in self.genesis.accounts if account.name not in taken)

    # Initial totals, so that every supply equals the sum of its balances at genesis.

    @cached_property
    def genesis_supply(self) -> int:
        """current_supply and virtual_supply at genesis: all liquid COIN and all COIN in the vesting fund, in satoshis."""
        return self._given_supply + self.witness_vesting

    @cached_property
    def witness_vesting(self) -> int:
        """Powered-up COIN that the first witness has at genesis, in satoshis, a whole number of COIN.

        With this COIN in the vesting fund, VESTS have the price that the spec declares (`vests_per_coin`). An empty fund would have the
        reference's price.
        """
        if self.genesis.vests_per_coin == 1:
            return 0
        whole = constants.COIN_BLOCKCHAIN_PRECISION
        return max(self._given_supply // WITNESS_SHARE // whole * whole, whole)

    @cached_property
    def _given_supply(self) -> int:
        """The COIN that the spec gives to the first witness and the accounts, in satoshis."""
        return self.constants.COIN_INIT_SUPPLY + sum(account.coin + account.vesting for account in self.genesis.accounts)

    @cached_property
    def genesis_printed_sbd(self) -> int:
        """current_sbd_supply at genesis, in satoshis: the SBD of the spec's accounts, which counts as printed, so that it can be burned.

        As in the reference, the first witness's SBD is counted in init_sbd_supply instead, and a block that destroys it fails.
        """
        return sum(account.sbd for account in self.genesis.accounts)

    @cached_property
    def genesis_vesting_fund(self) -> int:
        """total_vesting_fund_coin at genesis, in satoshis."""
        return self.witness_vesting + sum(account.vesting for account in self.accounts_at_genesis)

    @cached_property
    def genesis_vesting_shares(self) -> int:
        """total_vesting_shares at genesis, in satoshis of VESTS before the split of HF 1."""
        return self.genesis.shares(self.genesis_vesting_fund)


@lru_cache(maxsize=SPELLINGS_MAX)
def spelled(text: str, brand: str) -> str:
    """Replace the placeholder in a text with the brand word in the same case (lower, upper, capitalized)."""
    forms = {"coin": brand, "COIN": brand.upper(), "Coin": brand.capitalize()}
    return BRAND_WORD.sub(lambda match: forms[match[0]], text)


def branded(names: str, brand: str) -> tuple[str, ...]:
    """Return the account names of a list in ascending order, with `{brand}` filled in."""
    return tuple(sorted(names.replace("{brand}", brand).split()))
