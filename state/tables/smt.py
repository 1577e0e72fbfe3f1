"""Smart media tokens: offerings, emissions, balances, and the pool of names for new tokens. The module also contains the tables of pending
automated actions.

Source: state-objects.md §9, §10.
"""

from typing import Any

from state.protocol.values.asset import COIN, Asset
from state.store import Ordered, Row, Table, Unique

ACCOUNT_ELEVATED, SETUP_COMPLETED, CONTRIBUTION_BEGIN, CONTRIBUTION_END, LAUNCH_FAILED, LAUNCH_SUCCESS = range(6)
PHASE_NAMES = (
    "account_elevated",
    "setup_completed",
    "contribution_begin_time_completed",
    "contribution_end_time_completed",
    "launch_failed",
    "launch_success",
)


class SmtToken(Row):
    """A token. Amounts are in its smallest unit; `market_maker_coin_balance` is in COIN."""

    liquid_symbol: int = 0
    control_account: str = ""
    phase: int = ACCOUNT_ELEVATED
    current_supply: int = 0
    total_vesting_fund_smt: int = 0
    total_vesting_shares: int = 0
    pending_rewarded_vesting_shares: int = 0
    pending_rewarded_vesting_smt: int = 0
    allow_downvotes: bool = True
    market_maker_coin_balance: int = 0
    market_maker_token_balance: int = 0
    market_maker_reserve_ratio: int = 0
    allow_voting: bool = True
    cashout_window_seconds: int = 0
    reverse_auction_window_seconds: int = 900
    vote_regeneration_period_seconds: int = 432000
    votes_per_regeneration_period: int = 50
    content_constant: int = 2_000_000_000_000
    percent_curation_rewards: int = 2500
    author_reward_curve: int = 2
    curation_reward_curve: int = 3
    max_supply: int = 0


class SmtTokens(Table[SmtToken]):
    """All tokens."""

    by_symbol = Ordered("liquid_symbol", unique=True)
    by_control_account = Ordered("control_account", "liquid_symbol", unique=True)


class SmtIco(Row):
    """The initial offering of a token. The caps are in COIN units. A cap of -1 is not set yet."""

    symbol: int = 0
    capped_generation_policy: Any = None
    contribution_begin_time: int = 0
    contribution_end_time: int = 0
    launch_time: int = 0
    coin_units_soft_cap: int = -1
    coin_units_hard_cap: int = -1
    contributed: int = 0


class SmtIcos(Table[SmtIco]):
    """Offerings by symbol."""

    by_symbol = Unique("symbol")


class SmtEmission(Row):
    """A stored emission schedule. In this version nothing is ever paid from it."""

    symbol: int = 0
    schedule_time: int = 0
    token_unit: tuple[tuple[str, int], ...] = ()
    interval_seconds: int = 0
    interval_count: int = 0
    lep_time: int = 0
    rep_time: int = 0
    lep_abs_amount: Asset = Asset()
    rep_abs_amount: Asset = Asset()
    lep_rel_amount_numerator: int = 0
    rep_rel_amount_numerator: int = 0
    rel_amount_denom_bits: int = 0


class SmtEmissions(Table[SmtEmission]):
    """Emission schedules."""

    by_symbol_time = Ordered("symbol", "schedule_time", unique=True)


class SmtContribution(Row):
    """COIN that an account has contributed to an offering."""

    symbol: int = 0
    contributor: str = ""
    contribution_id: int = 0
    contribution: int = 0


class SmtContributions(Table[SmtContribution]):
    """Contributions to offerings."""

    by_symbol_contributor = Ordered("symbol", "contributor", "contribution_id", unique=True)
    by_symbol_id = Ordered("symbol")
    by_contributor = Ordered("contributor", "symbol", "contribution_id", unique=True)


class RegularBalance(Row):
    """An owner's balance of one token."""

    owner: str = ""
    liquid_symbol: int = COIN
    liquid: int = 0
    vesting: int = 0


class RegularBalances(Table[RegularBalance]):
    """Token balances. A row exists only while the balance isn't zero."""

    by_owner_liquid_symbol = Ordered("owner", "liquid_symbol", unique=True)


class RewardsBalance(Row):
    """An owner's unclaimed rewards in one token."""

    owner: str = ""
    liquid_symbol: int = COIN
    pending_liquid: int = 0
    pending_vesting_shares: int = 0
    pending_vesting_value: int = 0


class RewardsBalances(Table[RewardsBalance]):
    """Unclaimed token rewards. A row exists only while there are any."""

    by_owner_liquid_symbol = Ordered("owner", "liquid_symbol", unique=True)


class NaiPool(Row):
    """The names available to new tokens, in pool order, and counters for the names generated from one head block's id. A single row."""

    nais: tuple[int, ...] = ()
    drawn_for: bytes = bytes(20)
    attempts: int = 0
    collisions: int = 0


class NaiPoolTable(Table[NaiPool]):
    """The single row of the pool of names."""


class PendingAction(Row):
    """An automated action that is due at `execution_time`."""

    execution_time: int = 0
    action: Any = None


class PendingRequiredActions(Table[PendingAction]):
    """Actions that a block must contain when they are due."""

    by_execution = Ordered("execution_time")


class PendingOptionalActions(Table[PendingAction]):
    """Actions that a block can contain when they are due."""

    by_execution = Ordered("execution_time")
