"""What a chain is: its names, symbols, constants and genesis, as one frozen value; it must not know files or any state.

`node/specs.py` reads it from TOML (`genesis/*.toml`). What is the same on every chain stands in constants.py.
Sources: state-objects.md §1.1, §12, §15; block-processing.md §1.1, Appendix C "M versus T".
"""

import re
from functools import cached_property, lru_cache
from typing import Annotated, Literal

from msgspec import Meta, Struct

from state.protocol import constants
from state.protocol.values.asset import NULL_PRICE, Price

Natural = Annotated[int, Meta(ge=0)]

RELEASE_MASK = 0xFFFF0000
SPELLINGS_MAX = 16384
# The placeholder is a word of its own or a part of an identifier; "Bitcoin" holds none.
BRAND_WORD = re.compile(r"(?<![A-Za-z])(?:coin|COIN|Coin)")


class BuildConstants(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The constants that differ between the reference's main and test builds.

    Times and durations in seconds, money in the smallest unit. The names are the reference pages'; those without `COIN_` are
    switches or numbers that have no name there.
    """

    COIN_BLOCKCHAIN_VERSION: Annotated[
        Natural, Meta(description='The version that blocks vote for: major << 24, hardfork << 16, release; in a file as text, "0.24.0".')
    ]
    HARDFORK_TIMES: Annotated[tuple[Natural, ...], Meta(description="The times of hardforks 1, 2, ...; as many as the build has.")]
    COIN_GENESIS_TIME: Annotated[Natural, Meta(description="The time before block 1; slots count from here on.")]
    COIN_MINING_TIME: Annotated[Natural, Meta(description="Shown by get_config; no rule asks for it.")]
    COIN_INIT_SUPPLY: Annotated[Natural, Meta(description="COIN that the first witness has at genesis, beside those of the accounts.")]
    COIN_SBD_INIT_SUPPLY: Annotated[Natural, Meta(description="SBD that the first witness has at genesis, beside those of the accounts.")]
    COIN_CASHOUT_WINDOW_SECONDS: Annotated[Natural, Meta(description="From a comment to its payout, since hardfork 17.")]
    COIN_CASHOUT_WINDOW_SECONDS_PRE_HF12: Annotated[
        Natural, Meta(description="By how much votes move the payout of a discussion, before hardfork 17 but for 12.")
    ]
    COIN_CASHOUT_WINDOW_SECONDS_PRE_HF17: Annotated[
        Natural, Meta(description="From a post to its first payout under hardforks 12 to 16; under 12 also what votes move it by.")
    ]
    COIN_SECOND_CASHOUT_WINDOW: Annotated[Natural, Meta(description="From the first payout to the second one, under hardforks 12 to 16.")]
    COIN_MAX_CASHOUT_WINDOW_SECONDS: Annotated[
        Natural, Meta(description="How long after the first vote the payout may be at the latest, before hardfork 17.")
    ]
    COIN_UPVOTE_LOCKOUT_HF7: Annotated[
        Natural, Meta(description="Before a payout, the time without votes that raise it, under hardforks 7 to 16.")
    ]
    COIN_UPVOTE_LOCKOUT_HF17: Annotated[Natural, Meta(description="The same under hardforks 17 to 19.")]
    COIN_UPVOTE_LOCKOUT_SECONDS: Annotated[
        Natural, Meta(description="Before a payout, the time in which votes count ever less, since hardfork 20.")
    ]
    COIN_MIN_ACCOUNT_CREATION_FEE: Annotated[Natural, Meta(description="The least fee of a new account that a witness can ask.")]
    COIN_OWNER_AUTH_RECOVERY_PERIOD: Annotated[
        Natural, Meta(description="For how long an old owner authority can be used to recover an account.")
    ]
    COIN_ACCOUNT_RECOVERY_REQUEST_EXPIRATION_PERIOD: Annotated[
        Natural, Meta(description="For how long a request to recover an account stands.")
    ]
    COIN_OWNER_UPDATE_LIMIT: Annotated[Natural, Meta(description="The time between two changes of an owner authority.")]
    COIN_OWNER_AUTH_HISTORY_TRACKING_START_BLOCK_NUM: Annotated[
        Natural, Meta(description="The head number from which on old owner authorities are kept.")
    ]
    COIN_PROTECTION_HARDFORK_TIME: Annotated[
        Natural,
        Meta(description="From then on the eight listed accounts are locked; `community321` has a later time of its own."),
    ]
    REVERSE_AUCTION_START_TIME: Annotated[
        Natural, Meta(description="Comments created before it weigh votes otherwise; votes after it are discounted by time.")
    ]
    SQUARE_ROOT_START_TIME: Annotated[
        Natural, Meta(description="Under hardforks 17 and 18, votes on comments created after this weigh by square root.")
    ]
    RC_START_BLOCK: Annotated[Natural, Meta(description="The block after which resource credits begin.")]
    NEGATIVE_WITHDRAW_REFUSED_AFTER_BLOCK: Annotated[
        int, Meta(description="The head number above which a negative withdraw_vesting is refused; before, it does nothing.")
    ]
    TREASURY_AT_GENESIS: Annotated[bool, Meta(description="The treasury account is made at genesis, without an authority.")]
    LIMIT_OWNER_UPDATES: Annotated[bool, Meta(description="account_update obeys COIN_OWNER_UPDATE_LIMIT.")]
    PRESET_RECENT_CLAIMS: Annotated[bool, Meta(description="Hardforks 17, 19 and 21 set recent_claims of the reward fund.")]
    SHUT_DOWN_INACTIVE_WITNESSES: Annotated[
        bool, Meta(description="Under hardforks 14 to 19, missing blocks for a day costs a witness the signing key.")
    ]
    AUTOMATED_ACTIONS: Annotated[bool, Meta(description="Extensions 3 and 4 of block headers exist, with an example action each.")]
    SKIP_PRICE_FLOOR: Annotated[bool, Meta(description="The median price is not held above a debt of 10 % of the supply.")]
    DISABLE_LIQUIDITY_REWARD: Annotated[bool, Meta(description="No rewards for market making are paid.")]

    @property
    def COIN_NUM_HARDFORKS(self) -> int:  # noqa: N802 - the reference's name
        """How many hardforks the build has."""
        return len(self.HARDFORK_TIMES)

    @property
    def COIN_BLOCKCHAIN_HARDFORK_VERSION(self) -> int:  # noqa: N802 - the reference's name
        """The software version without its release."""
        return self.COIN_BLOCKCHAIN_VERSION & RELEASE_MASK

    @property
    def COIN_DELEGATION_RETURN_PERIOD_HF0(self) -> int:  # noqa: N802 - the reference's name
        """Seconds until a taken-back delegation returns, before HF 20: the cash-out window."""
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
    """An account that exists from the start beside the reference's own ones, made after them, in the order of the spec.

    Each authority is 1-of-1 of its key. Unlike the reference's genesis accounts it has a metadata row, and its
    sbd_seconds_last_update is the genesis time (0 would earn decades of interest).
    """

    name: str
    owner: bytes
    active: bytes
    posting: bytes
    memo: bytes
    coin: Natural = 0
    sbd: Natural = 0
    vesting: Natural = 0  # what it has powered up, in satoshis of COIN; whole COIN
    password: str = ""  # what the keys come from, for the banner of the node; "" when the spec names the keys

    @property
    def vesting_shares(self) -> int:
        """Satoshis of VESTS that genesis credits for `vesting`, before the split of HF 1.

        The split (× 1,000,000) turns them into 1.000000 VESTS per 1.000 COIN, which is the price of the empty fund, and the
        price at which shares are made on a chain where no account is powered up at genesis.
        """
        return self.vesting * constants.VESTS_PER_COIN_SATOSHI // constants.VESTING_SPLIT


class Genesis(Struct, frozen=True, kw_only=True):
    """What exists before block 1. Its time and the balances of the first witness are constants of the build."""

    witness: str = constants.COIN_INIT_MINER_NAME
    witness_key: bytes  # signing key, memo key and the key of all three authorities of the witness account
    price_feed: Price = NULL_PRICE  # the median price, SBD / COIN; null: none
    accounts: tuple[GenesisAccount, ...] = ()
    witnesses: tuple[str, ...] = ()  # further witnesses, with accounts of these names and the keys of the first
    hardfork: Natural = 0  # hardforks 1 to this are applied, in order, as the last step of genesis; block 1's rule does the rest


class ChainSpec(Struct, frozen=True, kw_only=True, dict=True, cache_hash=True):
    """Everything in which one chain differs from another; nothing in it changes while a node runs."""

    name: str
    brand: str  # the brand word in lower case; `coin` is the product's own spelling
    coin_symbol: str
    debt_symbol: str
    vests_symbol: str
    key_prefix: str
    chain_id: bytes
    build: Literal["main", "test"]
    constants: BuildConstants
    smt: bool  # whether operations 47-53 and what hangs on them exist
    block_limit: Natural = 0  # block numbers must be below; 0: none
    genesis: Genesis
    witness_keys: tuple[str, ...] = ()  # private keys (WIF) that the node produces with
    required_participation: Natural = 3300  # basis points; a producer keeps still below
    plugins: tuple[str, ...] = ()
    community_prefix: str = "coin-"
    remove_threshold: int = 200  # proposals and their votes removed per block at most; -1: all

    @property
    def is_test(self) -> bool:
        """Whether this is the reference's test build."""
        return self.build == "test"

    def spell(self, text: str) -> str:
        """A name or a text of the product, with this chain's brand word in place of `coin`, `COIN` and `Coin`."""
        return text if self.brand == constants.BRAND else spelled(text, self.brand)

    @cached_property
    def treasury(self) -> str:
        """The account that proposals are paid from."""
        return self.spell(constants.COIN_TREASURY_ACCOUNT)

    @cached_property
    def hf9_accounts(self) -> tuple[str, ...]:
        """Accounts whose authorities HF 9 replaces, ascending."""
        return branded(constants.HF9_ACCOUNTS, self.brand)

    @cached_property
    def hf23_accounts(self) -> tuple[str, ...]:
        """Accounts that HF 23 empties, ascending."""
        return branded(constants.HF23_ACCOUNTS, self.brand)

    @cached_property
    def protected_accounts(self) -> frozenset[str]:
        """Accounts that can't act from COIN_PROTECTION_HARDFORK_TIME on."""
        return frozenset(branded(constants.PROTECTED_ACCOUNTS, self.brand))

    @cached_property
    def lockable_accounts(self) -> frozenset[str]:
        """Accounts that can't act from some time on: the protected ones, and the first name of the treasury."""
        return self.protected_accounts | {constants.HIVE_TREASURY_ACCOUNT}

    @cached_property
    def hardfork_times(self) -> tuple[int, ...]:
        """Time of each hardfork by its number; 0 is genesis."""
        return self.constants.COIN_GENESIS_TIME, *self.constants.HARDFORK_TIMES

    @cached_property
    def hardfork_versions(self) -> tuple[int, ...]:
        """Version 0.n.0 of each hardfork by its number."""
        return tuple(number << 16 for number in range(len(self.hardfork_times)))

    # What genesis adds up to: with these as the initial totals, every supply equals the sum of its balances.

    @cached_property
    def genesis_supply(self) -> int:
        """current_supply and virtual_supply at genesis: all liquid COIN and all COIN in the vesting fund, in satoshis."""
        return self.constants.COIN_INIT_SUPPLY + sum(account.coin + account.vesting for account in self.genesis.accounts)

    @cached_property
    def genesis_printed_sbd(self) -> int:
        """current_sbd_supply at genesis, in satoshis: the SBD of the spec's own accounts counts as printed, so that it can be burned.

        The first witness's SBD is in init_sbd_supply, as in the reference, where destroying it makes a block fail.
        """
        return sum(account.sbd for account in self.genesis.accounts)

    @cached_property
    def genesis_vesting_fund(self) -> int:
        """total_vesting_fund_coin at genesis, in satoshis."""
        return sum(account.vesting for account in self.genesis.accounts)

    @cached_property
    def genesis_vesting_shares(self) -> int:
        """total_vesting_shares at genesis, in satoshis of VESTS before the split of HF 1."""
        return sum(account.vesting_shares for account in self.genesis.accounts)


@lru_cache(maxsize=SPELLINGS_MAX)
def spelled(text: str, brand: str) -> str:
    """A text with the brand word in place of its placeholder, in each of the three cases."""
    forms = {"coin": brand, "COIN": brand.upper(), "Coin": brand.capitalize()}
    return BRAND_WORD.sub(lambda match: forms[match[0]], text)


def branded(names: str, brand: str) -> tuple[str, ...]:
    """The account names of a list with its `{brand}` places filled, in ascending order."""
    return tuple(sorted(names.replace("{brand}", brand).split()))
