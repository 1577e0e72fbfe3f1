"""Chain-wide rows: global properties, witness schedule, price feed, hardforks, reward funds, recent blocks and transactions.

Amounts are in the smallest unit. Source: state-objects.md §3.
"""

from msgspec import Struct

from state.protocol.constants import COIN_100_PERCENT, COIN_MAX_WITNESSES
from state.protocol.values.asset import NULL_PRICE, Price
from state.protocol.values.integers import UINT64_MAX
from state.store import Due, Row, Setter, Table, Unique


class GlobalProperties(Row):
    """The dynamic global properties: head block, supplies, funds, and the parameters that hardforks change. A single row."""

    head_block_number: int = 0
    head_block_id: bytes = bytes(20)
    time: int = 0
    current_witness: str = ""
    total_pow: int = UINT64_MAX
    num_pow_witnesses: int = 0
    virtual_supply: int = 0
    current_supply: int = 0
    confidential_supply: int = 0
    init_sbd_supply: int = 0
    current_sbd_supply: int = 0
    confidential_sbd_supply: int = 0
    total_vesting_fund_coin: int = 0
    total_vesting_shares: int = 0
    total_reward_fund_coin: int = 0
    total_reward_shares2: int = 0
    pending_rewarded_vesting_shares: int = 0
    pending_rewarded_vesting_coin: int = 0
    sbd_interest_rate: int = 0
    sbd_print_rate: int = COIN_100_PERCENT
    maximum_block_size: int = 0
    required_actions_partition_percent: int = 0
    current_aslot: int = 0
    recent_slots_filled: int = 0
    participation_count: int = 0
    last_irreversible_block_num: int = 0
    vote_power_reserve_rate: int = 40
    delegation_return_period: int = 0
    reverse_auction_seconds: int = 0
    available_account_subsidies: int = 0
    sbd_stop_percent: int = 0
    sbd_start_percent: int = 0
    next_maintenance_time: int = 0
    last_budget_time: int = 0
    content_reward_percent: int = 7500
    vesting_reward_percent: int = 1500
    sps_fund_percent: int = 0
    sps_interval_ledger: int = 0
    downvote_pool_percent: int = 0
    smt_creation_fee: int = 1000
    # Only for replies to old clients (rpc-api.md §6.10). No rule reads these.
    average_block_size: int = 0
    current_reserve_ratio: int = 200_000_000
    max_virtual_bandwidth: int = 0


class GlobalPropertiesTable(Table[GlobalProperties]):
    """The single row of global properties."""

    set_head = Setter(
        *("head_block_number", "head_block_id", "time", "current_aslot", "recent_slots_filled", "participation_count"),
        *("average_block_size", "current_reserve_ratio", "max_virtual_bandwidth"),
    )
    set_producer = Setter("current_witness")
    set_irreversible = Setter("last_irreversible_block_num")
    set_inflation = Setter(
        *("total_vesting_fund_coin", "total_reward_fund_coin", "current_supply", "current_sbd_supply", "virtual_supply"),
        "sps_interval_ledger",
    )
    set_subsidies = Setter("available_account_subsidies")
    set_supply = Setter("current_supply", "virtual_supply")
    set_sbd_supply = Setter("current_sbd_supply", "virtual_supply")
    set_vesting = Setter("total_vesting_fund_coin", "total_vesting_shares")
    set_pending_vesting = Setter("pending_rewarded_vesting_coin", "pending_rewarded_vesting_shares")


class ChainProperties(Struct, frozen=True):
    """Chain properties that witnesses vote on. The medians of their values are in force. The fee is in COIN."""

    account_creation_fee: int = 0
    maximum_block_size: int = 131072
    sbd_interest_rate: int = 1000
    account_subsidy_budget: int = 797
    account_subsidy_decay: int = 347321


class SubsidyParams(Struct, frozen=True):
    """Parameters of a pool of subsidised accounts: its growth and decay, in 1/10000 accounts (rd_dynamics_params)."""

    resource_unit: int = 0
    budget_per_time_unit: int = 0
    pool_eq: int = 0
    max_pool_size: int = 0
    decay_per_time_unit: int = 0
    decay_per_time_unit_denom_shift: int = 0
    min_decay: int = 0


class WitnessSchedule(Row):
    """The witnesses of this round, the parameters for choosing and paying them, and their median properties. A single row."""

    current_virtual_time: int = 0
    next_shuffle_block_num: int = 1
    current_shuffled_witnesses: tuple[str, ...] = ("",) * COIN_MAX_WITNESSES
    num_scheduled_witnesses: int = 1
    elected_weight: int = 1
    timeshare_weight: int = 5
    miner_weight: int = 1
    witness_pay_normalization_factor: int = 25
    median_props: ChainProperties = ChainProperties()
    majority_version: int = 0
    max_voted_witnesses: int = 19
    max_miner_witnesses: int = 1
    max_runner_witnesses: int = 1
    hardfork_required_witnesses: int = 17
    account_subsidy_rd: SubsidyParams = SubsidyParams()
    account_subsidy_witness_rd: SubsidyParams = SubsidyParams()
    min_witness_account_subsidy_decay: int = 0


class WitnessScheduleTable(Table[WitnessSchedule]):
    """The single row of the witness schedule."""


class FeedHistory(Row):
    """The median price of SBD in COIN, and earlier medians, oldest first. A single row."""

    current_median_history: Price = NULL_PRICE
    price_history: tuple[Price, ...] = ()


class FeedHistoryTable(Table[FeedHistory]):
    """The single row of the feed history."""


class HardforkProperties(Row):
    """The applied hardforks, and the next hardfork that the witnesses have voted for. A single row."""

    processed_hardforks: tuple[int, ...] = ()
    last_hardfork: int = 0
    current_hardfork_version: int = 0
    next_hardfork: int = 0
    next_hardfork_time: int = 0


class HardforkPropertiesTable(Table[HardforkProperties]):
    """The single row of hardfork properties."""


class RewardFund(Row):
    """A fund that pays content rewards; the balance is in COIN."""

    name: str = ""
    reward_balance: int = 0
    recent_claims: int = 0
    last_update: int = 0
    content_constant: int = 0
    percent_curation_rewards: int = 0
    percent_content_rewards: int = 0
    author_reward_curve: int = 0
    curation_reward_curve: int = 0


class RewardFunds(Table[RewardFund]):
    """All reward funds. Only `post` is ever created."""

    by_name = Unique("name")
    set_balance = Setter("reward_balance")
    set_claims = Setter("recent_claims", "last_update", "reward_balance")


class BlockSummary(Row):
    """The id of the newest block whose number has these low 16 bits. A missing row stands for an id of zeros."""

    slot: int = 0
    block_id: bytes = bytes(20)


class BlockSummaries(Table[BlockSummary]):
    """The last 65536 block ids, for reference blocks of transactions."""

    by_slot = Unique("slot")


class TransactionRecord(Row):
    """An applied transaction, retained until it expires, so that it isn't applied twice."""

    trx_id: bytes = bytes(20)
    expiration: int = 0


class TransactionRecords(Table[TransactionRecord]):
    """The applied transactions that have not expired."""

    by_trx_id = Unique("trx_id")
    by_expiration = Due("expiration")
