"""Records of global data: global properties, witness schedule, price feed, hardforks, reward funds, version. Source: rpc-api.md §2.4."""

from typing import Annotated

from msgspec import Struct

from rpc.declare.record_fields import Big, BigText, CoinAmount, DebtAmount, FieldPath, VestsAmount
from state.protocol.codec.kinds import (
    AccountName,
    Bounded,
    Curve,
    HardforkVersion,
    Hash160,
    Hash256,
    Many,
    Seconds,
    Text,
    Time,
    UInt32,
    UInt128,
    Version,
)
from state.protocol.values.asset import Price


class DynamicGlobalPropertiesRecord(Struct):
    """The head block, supplies and other values that change with every block (R-dgp), read from the row of global properties.

    In condenser_api, the record has additional members from release 0.20.2.
    """

    LEGACY_ABSENT = ("id", "smt_creation_fee")
    APPBASE_ABSENT = ("average_block_size", "current_reserve_ratio", "max_virtual_bandwidth")

    id: UInt32
    head_block_number: UInt32
    head_block_id: Hash160
    time: Time
    current_witness: AccountName
    total_pow: BigText
    num_pow_witnesses: UInt32
    virtual_supply: CoinAmount
    current_supply: CoinAmount
    confidential_supply: CoinAmount
    init_sbd_supply: DebtAmount
    current_sbd_supply: DebtAmount
    confidential_sbd_supply: DebtAmount
    total_vesting_fund_coin: CoinAmount
    total_vesting_shares: VestsAmount
    total_reward_fund_coin: CoinAmount
    total_reward_shares2: UInt128
    pending_rewarded_vesting_shares: VestsAmount
    pending_rewarded_vesting_coin: CoinAmount
    sbd_interest_rate: UInt32
    sbd_print_rate: UInt32
    maximum_block_size: UInt32
    required_actions_partition_percent: UInt32
    current_aslot: Big
    recent_slots_filled: UInt128
    participation_count: UInt32
    last_irreversible_block_num: UInt32
    vote_power_reserve_rate: UInt32
    delegation_return_period: UInt32
    reverse_auction_seconds: Big
    available_account_subsidies: Big
    sbd_stop_percent: UInt32
    sbd_start_percent: UInt32
    next_maintenance_time: Time
    last_budget_time: Time
    content_reward_percent: UInt32
    vesting_reward_percent: UInt32
    sps_fund_percent: UInt32
    sps_interval_ledger: DebtAmount
    downvote_pool_percent: UInt32
    smt_creation_fee: DebtAmount
    average_block_size: UInt32
    current_reserve_ratio: UInt32
    max_virtual_bandwidth: BigText


class ReserveRatioRecord(Struct):
    """The average block size, and the bandwidth under the rules of release 0.20.2 (R-reserve), read from the row of global properties."""

    id: UInt32
    average_block_size: UInt32
    current_reserve_ratio: UInt32
    max_virtual_bandwidth: BigText


class ChainPropertiesRecord(Struct):
    """Chain properties that witnesses vote for."""

    account_creation_fee: CoinAmount
    maximum_block_size: UInt32
    sbd_interest_rate: UInt32
    account_subsidy_budget: UInt32
    account_subsidy_decay: UInt32


class MedianPropertiesRecord(ChainPropertiesRecord):
    """Medians of the chain properties that witnesses vote for (R-chain-props).

    `account_subsidy_limit` is the name of `account_subsidy_budget` in the specification.
    """

    account_subsidy_limit: Annotated[int, FieldPath("account_subsidy_budget", UInt32)]


class DecayParamsRecord(Struct):
    """Decay rate of the pool that pays for subsidised accounts."""

    decay_per_time_unit: UInt32
    decay_per_time_unit_denom_shift: UInt32


class SubsidyParamsRecord(Struct):
    """Parameters of the pool that pays for subsidised accounts."""

    resource_unit: Big
    budget_per_time_unit: Big
    pool_eq: Big
    max_pool_size: Big
    decay_params: Annotated[DecayParamsRecord, FieldPath("", DecayParamsRecord)]
    min_decay: Big


class WitnessScheduleRecord(Struct):
    """The witness schedule (R-schedule), read from its row. `top19_weight` repeats `elected_weight` under the name in the specification."""

    id: UInt32
    current_virtual_time: UInt128
    next_shuffle_block_num: UInt32
    current_shuffled_witnesses: Annotated[tuple[str, ...], Many(Bounded(16))]
    num_scheduled_witnesses: UInt32
    top19_weight: Annotated[int, FieldPath("elected_weight", UInt32)]
    elected_weight: UInt32
    timeshare_weight: UInt32
    miner_weight: UInt32
    witness_pay_normalization_factor: UInt32
    median_props: ChainPropertiesRecord
    majority_version: Version
    max_voted_witnesses: UInt32
    max_miner_witnesses: UInt32
    max_runner_witnesses: UInt32
    hardfork_required_witnesses: UInt32
    account_subsidy_rd: SubsidyParamsRecord
    account_subsidy_witness_rd: SubsidyParamsRecord
    min_witness_account_subsidy_decay: Big


class FeedHistoryRecord(Struct):
    """The median price, and the earlier prices from which it is computed (R-feed-history), read from its row."""

    id: UInt32
    current_median_history: Price
    price_history: Annotated[tuple[Price, ...], Many(Price)]


class HardforkPropertiesRecord(Struct):
    """The applied hardforks, and the next one that witnesses vote for (R-hardfork), read from its row."""

    id: UInt32
    processed_hardforks: Annotated[tuple[int, ...], Many(Seconds())]
    last_hardfork: UInt32
    current_hardfork_version: HardforkVersion
    next_hardfork: HardforkVersion
    next_hardfork_time: Time


class ScheduledHardforkRecord(Struct):
    """The next hardfork and its time, read from the row of hardfork properties."""

    hf_version: Annotated[int, FieldPath("next_hardfork", HardforkVersion)]
    live_time: Annotated[int, FieldPath("next_hardfork_time", Time)]


class RewardFundRecord(Struct):
    """A fund that pays authors and curators (R-reward-fund), read from its row."""

    id: UInt32
    name: Text
    reward_balance: CoinAmount
    recent_claims: UInt128
    last_update: Time
    content_constant: UInt128
    percent_curation_rewards: UInt32
    percent_content_rewards: UInt32
    author_reward_curve: Curve
    curation_reward_curve: Curve


class NodeVersionRecord(Struct):
    """The version whose rules the node follows, empty source revisions, and the id of the chain (R-version)."""

    LEGACY_ABSENT = ("chain_id",)

    blockchain_version: Version
    coin_revision: Text
    fc_revision: Text
    chain_id: Hash256
