"""Checks of rows from another chain. A value that would make a later block fail raises ValueError."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from state.portable.declarations import PORTABLE, Batch, Portable, PortableRow
from state.portable.others import COIN_MAX, VESTS_MAX
from state.protocol.authority import Authority
from state.protocol.constants import (
    COIN_100_PERCENT,
    COIN_MAX_WITNESSES,
    COIN_MIN_BLOCK_SIZE_LIMIT,
    COIN_POST_REWARD_FUND_NAME,
    TIME_MAX,
)
from state.protocol.keys.keys import NULL_KEY
from state.protocol.transaction import block_number
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, Price
from state.protocol.values.integers import INT64_MAX, INT64_MIN, UINT32_MAX, UINT64_MAX, UINT128_MAX, WORD16
from state.tables import State
from state.tables.globals import ChainProperties, SubsidyParams

HARDFORK_MIN = 17
"""The first hardfork under which a chain can begin with a part of another chain's state: under earlier ones, blocks read all rows."""

Bounds = tuple[int, int]
AMOUNT: Bounds = (0, INT64_MAX)
SIGNED: Bounds = (INT64_MIN, INT64_MAX)
WORD32: Bounds = (0, UINT32_MAX)
WORD64: Bounds = (0, UINT64_MAX)
WORD128: Bounds = (0, UINT128_MAX)
PERCENT: Bounds = (0, COIN_100_PERCENT)

BOUNDS: dict[str, Bounds] = {
    column: bounds
    for bounds, columns in (
        (
            WORD32,
            "comment_count lifetime_vote_count post_count post_bandwidth withdraw_routes savings_withdraw_requests "
            "witnesses_voted_for children depth requestid orderid escrow_id request_id contribution_id average_block_size "
            "current_reserve_ratio delegation_return_period head_block_number last_irreversible_block_num num_pow_witnesses "
            "participation_count vote_power_reserve_rate last_hardfork interval_count interval_seconds cashout_window_seconds "
            "votes_per_regeneration_period reverse_auction_window_seconds vote_regeneration_period_seconds next_shuffle_block_num "
            "last_confirmed_block_num total_missed voting_mana_time downvote_mana_time last_owner_update created "
            "last_account_recovery last_account_update last_post last_post_edit last_root_post last_vote_time next_vesting_withdrawal "
            "savings_sbd_last_interest_payment savings_sbd_seconds_last_update sbd_last_interest_payment sbd_seconds_last_update "
            "effective_on last_update active cashout_time last_payout max_cashout_time conversion_date effective_date expiration "
            "escrow_expiration ratification_deadline last_budget_time next_maintenance_time time next_hardfork_time last_valid_time "
            "end_date start_date expires complete lep_time rep_time schedule_time contribution_begin_time contribution_end_time "
            "launch_time min_delegation_time hardfork_time_vote last_sbd_exchange_update execution_time processed_hardforks "
            "majority_version current_hardfork_version next_hardfork hardfork_version_vote running_version nais liquid_symbol symbol "
            "smt_creation_fee proposal_id",
        ),
        (
            PERCENT,
            "percent percent_coin_dollars reward_weight content_reward_percent vesting_reward_percent sps_fund_percent "
            "downvote_pool_percent sbd_print_rate sbd_start_percent sbd_stop_percent percent_content_rewards percent_curation_rewards "
            "required_actions_partition_percent sbd_interest_rate",
        ),
        (
            SIGNED,
            "net_rshares rshares voting_mana downvote_mana reward_balance coin_units_soft_cap coin_units_hard_cap "
            "net_votes vote_percent num_changes abs_rshares vote_rshares children_abs_rshares available_account_subsidies "
            "available_witness_account_subsidies coin_volume sbd_volume",
        ),
        (
            (0, COIN_MAX),
            "total_payout_value curator_payout_value beneficiary_payout_value author_rewards posting_rewards curation_rewards "
            "sps_interval_ledger",
        ),
        ((0, VESTS_MAX), "withdrawn to_withdraw vesting_withdraw_rate delegated_vesting_shares received_vesting_shares"),
        ((0, 5), "author_reward_curve curation_reward_curve phase"),
        ((0, 3), "schedule"),
        (WORD64, "weight total_vote_weight total_pow current_aslot"),
        (
            WORD128,
            "sbd_seconds savings_sbd_seconds recent_claims content_constant virtual_last_update virtual_position virtual_scheduled_time "
            "current_virtual_time recent_slots_filled total_reward_shares2 max_virtual_bandwidth",
        ),
    )
    for column in columns.split()
}
"""Bounds of integer columns; others are amounts."""

RATIO_MAX = 10_000
"""The largest ratio of the amounts of a price. A supply of COIN_MAX has a value of 64 bits at it."""
WEIGHT_MAX = 100
"""The largest weight of a kind of witnesses in the pay of blocks; they are 1 and 5."""
NAME = re.compile(r"[a-z0-9.-]{1,16}")


def check_batch(batch: Batch) -> None:
    """Check the columns and values of all consensus rows."""
    for name, rows in batch.items():
        if name not in PORTABLE:
            raise ValueError(f"unknown table {name!r}")
        if "/" not in name:
            check_row = row_check(name)
            for row in rows:
                check_row(row)


@cache
def row_check(name: str) -> Callable[[PortableRow], None]:
    """Return a function that checks the columns of a table's row, their values, and the names of accounts in it."""
    portable = PORTABLE[name]
    what, key, known = portable.row.__name__, set(portable.key), portable.columns.keys() | portable.marks.keys() | {"id"}
    bounds = {column: BOUNDS.get(column, AMOUNT) for column, kind in portable.columns.items() if kind is int}
    others = {column: BOUNDS.get(column, AMOUNT) for column, kind in portable.columns.items() if kind not in (int, bool, str)}
    owners = [column for column in (portable.owner, *portable.names) if column and column != "proxy"]
    check = CHECKS.get(what)

    def check_row(row: PortableRow) -> None:
        columns = row.keys()
        if not columns <= known or not key <= columns:
            raise ValueError(f"a row of {what} with the columns {sorted(columns)}")
        for column, value in row.items():
            if column in bounds:
                low, high = bounds[column]
                if not low <= value <= high:
                    raise ValueError(f"{what}.{column} can't be {value}")
            elif column in others:
                check_value(f"{what}.{column}", value, others[column], portable.sizes.get(column))
        if any(row.get(column, "x") == "" for column in owners):
            raise ValueError(f"a row of {what} without the name of an account")
        for named in names_of(portable, row):
            if NAME.fullmatch(named) is None:
                raise ValueError(f"{named!r} is not the name of an account")
        if check is not None:
            check(row)

    return check_row


def check_value(what: str, value: Any, bounds: Bounds, size: int | None) -> None:
    """Check a value that is neither an integer nor a text: the size of bytes, the integers in a tuple, an authority."""
    if size is not None and len(value) != size:
        raise ValueError(f"{what} can't have {len(value)} bytes")
    if isinstance(value, Authority):
        check_authority(value)
    elif isinstance(value, tuple):
        for number in value:
            if isinstance(number, int) and not bounds[0] <= number <= bounds[1]:
                raise ValueError(f"{what} can't contain {number}")


def names_of(portable: Portable, row: PortableRow) -> set[str]:
    """Return the names of accounts to which a row refers, members of authorities and beneficiaries included."""
    found = {row[column] for column in (portable.owner, *portable.names) if column and row.get(column)}
    for column in portable.authorities:
        if column in row:
            found.update(name for name, _ in row[column].account_auths)
    found.update(beneficiary.account for beneficiary in row.get("beneficiaries", ()))
    return found


# ------------------------------------------------------------------ rows of a kind


def _require(ok: bool, text: str) -> None:
    if not ok:
        raise ValueError(text)


def check_authority(authority: Authority) -> None:
    """Check the widths of an authority's weights and the sizes of its keys."""
    weights = [weight for _, weight in (*authority.account_auths, *authority.key_auths)]
    ok = 0 <= authority.weight_threshold <= UINT32_MAX and all(0 <= weight < WORD16 for weight in weights)
    _require(ok and all(len(key) == len(NULL_KEY) for key, _ in authority.key_auths), "an authority with weights or keys of another size")


def check_asset(asset: Asset) -> None:
    """Check that an amount is in COIN or SBD and isn't negative."""
    _require(0 <= asset.amount <= INT64_MAX and asset.symbol in (COIN, SBD), f"an amount can't be {asset}")


def is_feed(price: Price) -> bool:
    """Whether a price of SBD in COIN is within bounds."""
    amounts = (price.base.amount, price.quote.amount)
    return is_exchange(price) and {price.base.symbol, price.quote.symbol} == {COIN, SBD} and max(amounts) <= RATIO_MAX * min(amounts)


def is_exchange(price: Price) -> bool:
    """Whether a price is a positive amount for one of another symbol."""
    amounts = (price.base.amount, price.quote.amount)
    return price.base.symbol != price.quote.symbol and 0 < min(amounts) <= max(amounts) <= INT64_MAX


def _check_order(row: PortableRow) -> None:
    price = row.get("sell_price", NULL_PRICE)
    _require(is_exchange(price) and row.get("for_sale", 0) > 0, "an order with an invalid price or amount")


def _check_comment(row: PortableRow) -> None:
    shares = sum(beneficiary.weight for beneficiary in row.get("beneficiaries", ()))
    _require(shares <= COIN_100_PERCENT, f"beneficiaries with {shares} basis points")
    is_root = not row.get("parent_author", "")
    own = (row["author"], row["permlink"])
    ok = (row.get("root_comment", own) == own) == is_root == (row.get("depth", 0) == 0)
    _require(ok, "a reply without a root, or a post in another discussion")


def are_properties(props: ChainProperties) -> bool:
    """Whether chain properties that a witness proposes are within bounds."""
    ok = 0 <= props.account_creation_fee <= INT64_MAX // 100 and COIN_MIN_BLOCK_SIZE_LIMIT <= props.maximum_block_size <= UINT32_MAX
    ok = ok and 0 <= props.sbd_interest_rate <= COIN_100_PERCENT
    return ok and 0 < props.account_subsidy_budget <= UINT32_MAX and 0 < props.account_subsidy_decay <= UINT32_MAX


CHECKS: dict[str, Callable[[PortableRow], None]] = {
    "LimitOrder": _check_order,
    "Comment": _check_comment,
    "Escrow": lambda row: check_asset(row.get("pending_fee", Asset())),
    "SavingsWithdraw": lambda row: check_asset(row.get("amount", Asset())),
}


# ------------------------------------------------------------------ the world


def check_world(state: State) -> None:
    """Check the rows of the whole chain, after they were inserted."""
    props, schedule, feed, hardforks = state.props, state.schedule, state.feed, state.hardforks
    versions = state.spec.hardfork_versions
    hardfork, last = hardforks.last_hardfork, len(versions) - 1
    _require(HARDFORK_MIN <= hardfork <= last, f"hardfork {hardfork} is not between {HARDFORK_MIN} and {last}")
    _require(len(hardforks.processed_hardforks) == hardforks.last_hardfork + 1, "times of other hardforks than those that were applied")
    fund = state.reward_funds.by_name.get(COIN_POST_REWARD_FUND_NAME)
    _require(fund is not None and fund.content_constant <= INT64_MAX, "no reward fund for posts")
    _require(hardforks.current_hardfork_version == versions[hardfork], f"hardfork {hardfork} doesn't have this version")
    current = () if feed.current_median_history == NULL_PRICE else (feed.current_median_history,)
    for price in (*current, *feed.price_history):
        _require(is_feed(price), f"a price can't be {price.base} for {price.quote}")
    round_size = schedule.num_scheduled_witnesses
    _require(0 < round_size <= min(COIN_MAX_WITNESSES, len(schedule.current_shuffled_witnesses)), f"a round of {round_size} witnesses")
    for name in (*schedule.current_shuffled_witnesses[:round_size], props.current_witness):
        _require(state.witnesses.by_name.get(name) is not None, f"the witness {name!r} isn't in the list of witnesses")
    _require(are_properties(schedule.median_props), "median chain properties out of their bounds")
    weights = (schedule.elected_weight, schedule.timeshare_weight, schedule.miner_weight, schedule.hardfork_required_witnesses)
    _require(all(0 < weight <= WEIGHT_MAX for weight in weights), "weights of witnesses out of their bounds")
    slots = schedule.max_voted_witnesses + schedule.max_miner_witnesses
    _require(0 <= slots <= COIN_MAX_WITNESSES, f"a round of more than {COIN_MAX_WITNESSES} witnesses")
    _require(0 < schedule.witness_pay_normalization_factor <= UINT32_MAX, "the pay of witnesses can't be computed")
    for params in (schedule.account_subsidy_rd, schedule.account_subsidy_witness_rd):
        _check_subsidy(params)
    _require(COIN_MIN_BLOCK_SIZE_LIMIT <= props.maximum_block_size <= UINT32_MAX, f"blocks of {props.maximum_block_size} bytes")
    parts = (props.content_reward_percent, props.vesting_reward_percent, props.sps_fund_percent)
    _require(sum(parts) <= COIN_100_PERCENT, "an inflation of more than 100 %")
    _require(props.sbd_start_percent < props.sbd_stop_percent, "the printing of SBD stops before it starts")
    _require(props.vote_power_reserve_rate > 0, "no votes per day")
    _require(block_number(props.head_block_id) == props.head_block_number, "the id of the head block has another number")
    _require(0 < props.time < TIME_MAX - 10 * 365 * 86400, f"the time {props.time}")


def _check_subsidy(params: SubsidyParams) -> None:
    values = (params.budget_per_time_unit, params.pool_eq, params.max_pool_size, params.decay_per_time_unit, params.min_decay)
    _require(all(0 <= value <= INT64_MAX for value in values), "parameters of free accounts out of their bounds")
    _require(0 <= params.decay_per_time_unit_denom_shift <= 64, "parameters of free accounts out of their bounds")
