"""Every number in a row, with its width in the reference, and the effect when a rule exceeds the limits of that width.

`NUMBERS` declares each number that rules count or sum: its width in the reference, and either a test that reaches its limits through the
rule itself, or the reason why no chain reaches them. `GIVEN` declares all other numbers, which are copied unchanged from an operation, the
clock, a hardfork or a witness. A row with a number in neither fails the first test.
"""

import typing
from collections.abc import Iterable

import pytest

import state.chain.soft_rules
from state.chain.hardforks import recount_voted
from state.chain.steps.withdrawals import leave_fund
from state.effects import balances, smt_balances
from state.effects.delegations import lend
from state.operations.content import Beneficiary
from state.plugins import market_history, reputation
from state.plugins.follow import feeds
from state.plugins.follow import portable as follow_portable
from state.plugins.follow import rows as follow
from state.plugins.rc import rows as rc
from state.plugins.social import portable as social_portable
from state.plugins.social import rows as communities_rows
from state.plugins.tags import portable as tags_portable
from state.plugins.tags import rows as tags_rows
from state.plugins.tags import view as tags_view
from state.protocol.values.asset import COIN, SBD, VESTS
from state.store import Row
from state.tables import partial
from state.tables.accounts import Account, DelegationExpiration, VestingDelegation
from state.tables.content import Comment, CommentVote
from state.tables.globals import GlobalProperties, RewardFund, WitnessSchedule
from state.tables.market import ConvertRequest, LimitOrder, LiquidityReward
from state.tables.payments import Escrow
from state.tables.proposals import Proposal
from state.tables.smt import NaiPool, RegularBalance, RewardsBalance, SmtIco, SmtToken
from state.tables.witnesses import Witness, WitnessVote
from tests.helpers.number_walks import (
    LEAST,
    MOST,
    TOKEN,
    Walk,
    added_weight,
    alice,
    both,
    changed_rshares,
    checked,
    claimed_accounts,
    claims,
    converted,
    decayed_claims,
    deepest,
    early_weight,
    early_witness_votes,
    funds,
    judged,
    judged_anew,
    lap_end,
    largest_bar,
    mana_of,
    missed,
    next_lap,
    numbered,
    of_account,
    of_comment,
    of_props,
    of_token,
    of_token_balance,
    of_token_rewards,
    of_witness_votes,
    paid,
    position,
    proxied,
    queued,
    regained,
    reward_balance,
    rewarded,
    savings_seconds,
    sbd_seconds,
    spent,
    too_much_contributed,
    traded,
    volume,
    volume_weight,
    vote_weight,
    witness_votes,
    worked,
    world,
    wrapping,
)

# Numbers of more than 16 bits that each event increases by one. No chain reaches that number of events.
EVENTS = "one for each of 2^31 events and more: longer than any chain lasts"
ONE_EACH = "as many as there are rows, of which the rules allow few: "
HALVED = "given, and only ever lowered, down to zero"
WHOLE = "a part of a total that is checked before it"

EARLY_SHARES = 1_808_504_320_951_000 * 51 // 10_000 * 10**6

NUMBERS: dict[tuple[type[Row], str], tuple[str, Walk | str]] = {
    # ---------------------------------------------------------------- accounts
    (Account, "comment_count"): ("uint32", "never changed"),
    (Account, "lifetime_vote_count"): ("uint32", "never changed"),
    (Account, "post_count"): ("uint32", EVENTS),
    (Account, "voting_mana"): ("int64", both(wrapping(spent(-1), MOST, MOST), wrapping(spent(1), LEAST, LEAST))),
    (Account, "downvote_mana"): ("int64", "as voting_mana"),
    (Account, "balance"): ("share", of_account("balance", lambda s, a, n: balances.adjust_balance(s, a, n, COIN))),
    (Account, "sbd_balance"): ("share", of_account("sbd_balance", lambda s, a, n: balances.adjust_balance(s, a, n, SBD))),
    (Account, "savings_balance"): (
        "share",
        both(
            of_account("savings_balance", lambda s, a, n: balances.adjust_savings_balance(s, a, n, COIN)),
            # The effect allows negative savings only before hardfork 20. Operations check the balance in any case.
            of_account("savings_balance", lambda s, a, n: balances.adjust_savings_balance(s, a, n, COIN), hardfork=19, below=True),
        ),
    ),
    (Account, "savings_sbd_balance"): (
        "share",
        both(
            of_account("savings_sbd_balance", lambda s, a, n: balances.adjust_savings_balance(s, a, n, SBD)),
            of_account("savings_sbd_balance", lambda s, a, n: balances.adjust_savings_balance(s, a, n, SBD), hardfork=19, below=True),
        ),
    ),
    (Account, "sbd_seconds"): ("uint128", wrapping(sbd_seconds, 2**128 - 1, 0)),
    (Account, "savings_sbd_seconds"): ("uint128", wrapping(savings_seconds, 2**128 - 1, 0)),
    (Account, "savings_withdraw_requests"): ("uint8", ONE_EACH + "100"),
    (Account, "reward_coin_balance"): (
        "share",
        of_account("reward_coin_balance", lambda s, a, n: balances.adjust_reward_balance(s, a, n, COIN)),
    ),
    (Account, "reward_sbd_balance"): (
        "share",
        of_account("reward_sbd_balance", lambda s, a, n: balances.adjust_reward_balance(s, a, n, SBD)),
    ),
    (Account, "reward_vesting_balance"): (
        "share",
        of_account("reward_vesting_balance", lambda s, a, n: balances.adjust_reward_balance(s, a, 1, COIN, n)),
    ),
    (Account, "reward_vesting_coin"): (
        "share",
        of_account("reward_vesting_coin", lambda s, a, n: balances.adjust_reward_balance(s, a, n, COIN, 1)),
    ),
    (Account, "vesting_shares"): ("share", of_account("vesting_shares", lambda s, a, n: balances.adjust_balance(s, a, n, VESTS))),
    (Account, "delegated_vesting_shares"): (
        "share",
        checked(lambda s, n: lend(s, alice(s, delegated_vesting_shares=n), s.account("bob"), 1), hardfork=19),
    ),
    (Account, "received_vesting_shares"): (
        "share",
        checked(lambda s, n: mana_of(s, alice(s, received_vesting_shares=n), 1), hardfork=19),
    ),
    (Account, "vesting_withdraw_rate"): ("share", "a part of what is powered down"),
    (Account, "to_withdraw"): ("share", "given, and multiplied by hardfork 1, which looks at the edges"),
    (Account, "withdrawn"): ("share", "never above to_withdraw"),
    (Account, "withdraw_routes"): ("uint16", ONE_EACH + "10"),
    (Account, "curation_rewards"): ("share", paid("curation_rewards", on_author=True, total_vote_weight=1)),
    (Account, "posting_rewards"): ("share", paid("posting_rewards", on_author=True)),
    # The sum of witness_vote_weight, their checked sum with vesting_shares, is at most total_vesting_shares.
    (Account, "proxied_vsf_votes"): ("share", both(checked(proxied), checked(proxied, below=True))),
    (Account, "witnesses_voted_for"): (
        "uint16",
        both(
            wrapping(of_witness_votes(approve=False), 0, 2**16 - 1, hardfork=7),
            wrapping(of_witness_votes(approve=True), 2**16 - 1, 0, hardfork=1),
        ),
    ),
    (Account, "post_bandwidth"): ("uint32", "at most 288 times 10000: roots are five minutes apart, and a day wears one off"),
    (Account, "pending_claimed_accounts"): ("share", claimed_accounts),
    (VestingDelegation, "vesting_shares"): ("share", "given"),
    (DelegationExpiration, "vesting_shares"): ("share", HALVED),
    # ---------------------------------------------------------------- content
    (Comment, "depth"): ("uint16", deepest),
    (Comment, "children"): ("uint32", EVENTS + "; it never falls below zero, as each comment is counted until it is deleted"),
    (Comment, "net_rshares"): (
        "share",
        both(of_comment("net_rshares", 1), of_comment("net_rshares", -1, below=True), checked(changed_rshares, below=True)),
    ),
    (Comment, "abs_rshares"): ("share", both(of_comment("abs_rshares", 1), of_comment("abs_rshares", -1))),
    (Comment, "vote_rshares"): ("share", of_comment("vote_rshares", 1)),
    (Comment, "children_abs_rshares"): ("share", of_comment("children_abs_rshares", -1)),
    (Comment, "total_vote_weight"): (
        "uint64",
        both(
            wrapping(vote_weight, 0, 2**64 - 1),
            wrapping(added_weight, 2**64 - 1, 0),
            # The vote has 51/10000 of the VESTS as rshares, which are multiplied by a million: just below 2^63, and just above.
            wrapping(early_weight, 1_808_504_320_951_000, (2**64 - 1) * EARLY_SHARES // (EARLY_SHARES + 4 * 10**12), hardfork=0),
            wrapping(early_weight, 1_808_504_320_952_000, 0, hardfork=0),
        ),
    ),
    (Comment, "reward_weight"): ("uint16", "at most 10000"),
    (Comment, "total_payout_value"): ("share", paid("total_payout_value")),
    (Comment, "curator_payout_value"): ("share", paid("curator_payout_value", total_vote_weight=1)),
    (Comment, "beneficiary_payout_value"): ("share", paid("beneficiary_payout_value", beneficiaries=(Beneficiary("alice", 10_000),))),
    (Comment, "author_rewards"): ("share", paid("author_rewards")),
    (Comment, "net_votes"): ("int32", EVENTS),
    (CommentVote, "weight"): ("uint64", "a difference of two weights of 64 bits: see total_vote_weight"),
    (CommentVote, "rshares"): ("int64", "a fiftieth of an account's VESTS"),
    (CommentVote, "num_changes"): ("int8", ONE_EACH + "5 changes"),
    # ---------------------------------------------------------------- the chain's own rows
    (GlobalProperties, "head_block_number"): ("uint32", EVENTS),
    (GlobalProperties, "total_pow"): ("uint64", wrapping(worked, 2**64 - 1, 0)),
    (GlobalProperties, "num_pow_witnesses"): ("uint32", wrapping(queued, 2**32 - 1, 0)),
    (GlobalProperties, "virtual_supply"): (
        "share",
        both(
            of_props("virtual_supply", lambda s, n: balances.adjust_supply(s, n, COIN), current_supply=5),
            of_props("virtual_supply", lambda s, n: balances.adjust_supply(s, n, COIN), below=True, current_supply=5),
            converted("virtual_supply"),
        ),
    ),
    (GlobalProperties, "current_supply"): (
        "share",
        both(
            of_props("current_supply", lambda s, n: balances.adjust_supply(s, n, COIN), virtual_supply=0),
            converted("current_supply"),
            funds("current_supply"),
        ),
    ),
    (GlobalProperties, "current_sbd_supply"): (
        "share",
        both(of_props("current_sbd_supply", lambda s, n: balances.adjust_supply(s, n, SBD), current_supply=0), funds("current_sbd_supply")),
    ),
    (GlobalProperties, "init_sbd_supply"): ("share", "never changed"),
    (GlobalProperties, "confidential_supply"): ("share", "never changed"),
    (GlobalProperties, "confidential_sbd_supply"): ("share", "never changed"),
    (GlobalProperties, "total_vesting_fund_coin"): (
        "share",
        both(
            of_props("total_vesting_fund_coin", lambda s, n: balances.add_vesting(s, s.account("bob"), n, 0)),
            of_props("total_vesting_fund_coin", lambda s, n: leave_fund(s, -n, 0), below=True),
            funds("total_vesting_fund_coin"),
        ),
    ),
    (GlobalProperties, "total_vesting_shares"): (
        "share",
        both(
            of_props("total_vesting_shares", lambda s, n: balances.add_vesting(s, s.account("bob"), 0, n)),
            of_props("total_vesting_shares", lambda s, n: leave_fund(s, 0, -n), below=True),
        ),
    ),
    (GlobalProperties, "total_reward_fund_coin"): ("share", WHOLE + ": current_supply"),
    (GlobalProperties, "total_reward_shares2"): ("uint128", wrapping(claims, 0, 2**128 - 4_000_000_000_001)),
    (GlobalProperties, "pending_rewarded_vesting_shares"): ("share", of_props("pending_rewarded_vesting_shares", rewarded)),
    (GlobalProperties, "pending_rewarded_vesting_coin"): ("share", of_props("pending_rewarded_vesting_coin", rewarded)),
    (GlobalProperties, "current_aslot"): ("uint64", EVENTS),
    (GlobalProperties, "recent_slots_filled"): ("uint128", "one bit for each slot, shifted out at the other end"),
    (GlobalProperties, "participation_count"): ("uint8", "counts the bits of recent_slots_filled, 128 at most"),
    (GlobalProperties, "last_irreversible_block_num"): ("uint32", "follows head_block_number"),
    (GlobalProperties, "available_account_subsidies"): ("int64", "between zero and a pool's size, which is below 2^61"),
    (GlobalProperties, "sps_interval_ledger"): ("share", funds("sps_interval_ledger")),
    (WitnessSchedule, "current_virtual_time"): ("uint128", wrapping(next_lap, 2**128 - 1, 0)),
    (WitnessSchedule, "next_shuffle_block_num"): ("uint32", "follows head_block_number"),
    (WitnessSchedule, "num_scheduled_witnesses"): ("uint8", "at most 21"),
    (WitnessSchedule, "witness_pay_normalization_factor"): ("uint32", "at most 21 times 255"),
    (RewardFund, "reward_balance"): ("share", checked(reward_balance)),
    (RewardFund, "recent_claims"): ("uint128", wrapping(decayed_claims, 7, 2**128 - 7)),
    # ---------------------------------------------------------------- market, proposals
    (LimitOrder, "for_sale"): ("share", HALVED),
    (ConvertRequest, "amount"): ("share", "given"),
    (Escrow, "sbd_balance"): ("share", HALVED),
    (Escrow, "coin_balance"): ("share", HALVED),
    (LiquidityReward, "coin_volume"): (
        "int64",
        both(wrapping(volume(True), MOST, LEAST, hardfork=11), wrapping(volume(True), LEAST, MOST, hardfork=11)),
    ),
    (LiquidityReward, "sbd_volume"): (
        "int64",
        both(wrapping(volume(False), MOST, LEAST, hardfork=11), wrapping(volume(False), LEAST, MOST, hardfork=11)),
    ),
    (LiquidityReward, "weight"): ("uint128", wrapping(volume_weight, 2**62, 2**128 - 2**63, hardfork=8)),
    (Proposal, "total_votes"): ("uint64", WHOLE + ": total_vesting_shares"),
    # ---------------------------------------------------------------- tokens
    (SmtToken, "current_supply"): ("share", of_token("current_supply", lambda s: smt_balances.adjust_token_supply(s, 1, TOKEN))),
    (SmtToken, "total_vesting_fund_smt"): (
        "share",
        of_token("total_vesting_fund_smt", lambda s: smt_balances.create_token_vesting(s, "bob", 1, TOKEN), allow_voting=False),
    ),
    (SmtToken, "total_vesting_shares"): (
        "share",
        of_token("total_vesting_shares", lambda s: smt_balances.create_token_vesting(s, "bob", 1, TOKEN), allow_voting=False),
    ),
    (SmtToken, "pending_rewarded_vesting_shares"): (
        "share",
        of_token("pending_rewarded_vesting_shares", lambda s: smt_balances.create_token_vesting(s, "bob", 1, TOKEN, to_reward=True)),
    ),
    (SmtToken, "pending_rewarded_vesting_smt"): (
        "share",
        of_token("pending_rewarded_vesting_smt", lambda s: smt_balances.create_token_vesting(s, "bob", 1, TOKEN, to_reward=True)),
    ),
    (SmtToken, "market_maker_coin_balance"): ("share", "never changed"),
    (SmtToken, "market_maker_token_balance"): ("share", "never changed"),
    (SmtIco, "contributed"): ("share", too_much_contributed),
    (RegularBalance, "liquid"): ("share", of_token_balance("liquid", TOKEN)),
    (RegularBalance, "vesting"): ("share", of_token_balance("vesting", TOKEN ^ 32)),
    (RewardsBalance, "pending_liquid"): ("share", of_token_rewards("pending_liquid", 0)),
    (RewardsBalance, "pending_vesting_shares"): ("share", of_token_rewards("pending_vesting_shares", 1)),
    (RewardsBalance, "pending_vesting_value"): ("share", of_token_rewards("pending_vesting_value", 1)),
    (NaiPool, "attempts"): ("uint32", "starts anew with each block; its sum with a hash wraps in `replenish_pool`"),
    (NaiPool, "collisions"): ("uint32", "at most 100"),
    # ---------------------------------------------------------------- witnesses
    (Witness, "votes"): (
        "share",
        both(checked(witness_votes), checked(witness_votes, below=True), checked(early_witness_votes, hardfork=1)),
    ),
    (Witness, "virtual_position"): ("uint128", wrapping(position, 2**128 - 1, 0)),
    (Witness, "virtual_scheduled_time"): (
        "uint128",
        # Votes of 2^63-1 and one more are undefined behaviour in the reference, so they are not tested.
        both(wrapping(lap_end, 5, 4, hardfork=3), wrapping(lap_end, 5, 2**128 - 1, hardfork=4)),
    ),
    (Witness, "total_missed"): ("uint32", wrapping(missed, 2**32 - 1, 0)),
    (Witness, "last_aslot"): ("uint64", "follows current_aslot"),
    (Witness, "last_confirmed_block_num"): ("uint64", "follows head_block_number"),
    (Witness, "pow_worker"): ("uint64", "follows total_pow"),
    (Witness, "available_witness_account_subsidies"): ("int64", "between zero and a pool's size, which is below 2^61"),
    # ---------------------------------------------------------------- plugins
    (reputation.Reputation, "reputation"): ("share", both(checked(judged), judged_anew)),
    (market_history.Bucket, "coin"): ("share", traded("coin")),
    (market_history.Bucket, "non_coin"): ("share", traded("non_coin")),
    (feeds.BlogEntry, "number"): ("uint32", EVENTS),
    (feeds.BlogSpan, "oldest"): ("uint32", EVENTS),
    (feeds.BlogSpan, "newest"): ("uint32", EVENTS),
    (follow.FollowCount, "follower_count"): ("uint32", "counts accounts, and falls only for who was counted"),
    (follow.FollowCount, "following_count"): ("uint32", "counts accounts, and falls only for who was counted"),
    (follow.BlogAuthor, "count"): ("uint32", EVENTS),
    (rc.RcPool, "pools"): ("int64", "a block of the largest size takes 2^40 at most, and no pool is above 2^46"),
    (rc.RcAccount, "mana"): ("int64", both(wrapping(regained, MOST, LEAST), wrapping(regained, MOST - 1, MOST))),
    (rc.RcAccount, "adjustment"): ("share", "given"),
    (rc.RcAccount, "last_max"): ("int64", wrapping(largest_bar, MOST, MOST)),
    (tags_rows.Tagged, "net_votes"): ("int32", "a comment's"),
    (tags_rows.Tagged, "net_rshares"): ("int64", "a comment's"),
    (tags_rows.Tagged, "children"): ("int32", "a comment's"),
    (tags_rows.Tagged, "first"): ("int64", EVENTS),
    (tags_rows.Tagged, "numbered"): ("share", "what promotes a post is burnt in that block: it would take all SBD twice"),
    (tags_rows.TagRest, "total_payout"): ("share", "at most 10^9 for each of 9 * 10^9 comments"),
    (tags_rows.TagRest, "beyond"): ("int32, uint32, uint32, uint128", EVENTS),
    (tags_rows.TagCounter, "following"): ("int64", EVENTS),
    (state.chain.soft_rules.CustomCount, "count"): ("uint32", ONE_EACH + "5"),
}

# Numbers that are copied unchanged. The reference stores times as uint32 seconds. Sums with the head block's time would wrap in the year
# 2106, which no chain has reached. Sums with a time that a user chooses do wrap: test_proposals (the day after the end), test_tokens (the
# end of emissions).
GIVEN: dict[str, str] = {
    "times": """
        last_account_update created last_account_recovery voting_mana_time downvote_mana_time sbd_seconds_last_update
        sbd_last_interest_payment savings_sbd_seconds_last_update savings_sbd_last_interest_payment next_vesting_withdrawal
        last_post last_root_post last_post_edit last_vote_time last_owner_update last_valid_time expires effective_on
        effective_date min_delegation_time expiration last_update active last_payout cashout_time max_cashout_time time
        next_maintenance_time last_budget_time processed_hardforks next_hardfork_time conversion_date ratification_deadline
        escrow_expiration complete start_date end_date contribution_begin_time contribution_end_time launch_time schedule_time
        lep_time rep_time execution_time virtual_last_update last_sbd_exchange_update hardfork_time_vote reblogged_on first_on
        open mana_time cashout
    """,
    "ids and names": """
        account comment voter root_comment owner slot orderid requestid escrow_id request_id proposal_id contribution_id
        liquid_symbol symbol nais parent root what seconds
    """,
    "settings": """
        percent vote_percent max_accepted_payout percent_coin_dollars sbd_interest_rate sbd_print_rate maximum_block_size
        required_actions_partition_percent vote_power_reserve_rate delegation_return_period reverse_auction_seconds
        sbd_stop_percent sbd_start_percent content_reward_percent vesting_reward_percent sps_fund_percent downvote_pool_percent
        smt_creation_fee elected_weight timeshare_weight miner_weight majority_version max_voted_witnesses max_miner_witnesses
        max_runner_witnesses hardfork_required_witnesses min_witness_account_subsidy_decay last_hardfork
        current_hardfork_version next_hardfork content_constant percent_curation_rewards percent_content_rewards
        author_reward_curve curation_reward_curve daily_pay phase market_maker_reserve_ratio cashout_window_seconds
        reverse_auction_window_seconds vote_regeneration_period_seconds votes_per_regeneration_period max_supply
        coin_units_soft_cap coin_units_hard_cap token_unit interval_seconds interval_count lep_rel_amount_numerator
        rep_rel_amount_numerator rel_amount_denom_bits contribution schedule running_version hardfork_version_vote
    """,
    "not in the reference's state": """
        average_block_size current_reserve_ratio max_virtual_bandwidth
    """,
}
# Rows that the reference doesn't have: the social index, rows derived from other rows, and those of partial chains.
OURS = {
    market_history.BucketVolume,
    market_history.TradeRow,
    tags_view.TagStats,
    partial.PartialAccount,
    partial.OutsideWitnessVotes,
    partial.OutsideProposalVotes,
} | {
    cls
    for module in (communities_rows, follow_portable, social_portable, tags_portable)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Row) and cls.__module__ == module.__name__
}


def rows(cls: type[Row] = Row) -> Iterable[type[Row]]:
    """Yield all row classes in state/."""
    for row in cls.__subclasses__():
        if row.__module__.startswith("state."):
            yield row
        yield from rows(row)


def test_every_number_of_a_row_is_declared() -> None:
    given = set(" ".join(GIVEN.values()).split())
    found = set()
    for cls in rows():
        if cls in OURS:
            continue
        for field, hint in typing.get_type_hints(cls).items():
            if field != "id" and "int" in str(hint) and (cls, field) not in NUMBERS:
                assert field in given, f"{cls.__name__}.{field}"
                found.add(field)
    assert given == found
    assert all(cls in rows() and field in cls.__struct_fields__ for cls, field in NUMBERS)


WALKS = [(cls, field, walk) for (cls, field), (_, walk) in NUMBERS.items() if not isinstance(walk, str)]


@pytest.mark.parametrize(("cls", "field", "walk"), WALKS, ids=[f"{cls.__name__}.{field}" for cls, field, _ in WALKS])
def test_edges(cls: type[Row], field: str, walk: Walk) -> None:
    walk()


def test_the_number_of_a_virtual_operation_has_16_bits() -> None:
    wrapping(numbered, 2**16 - 1, 0)()


def test_recounted_witnesses_have_16_bits() -> None:
    state = world(7)
    for number in range(2**16):
        state.witness_votes.insert(WitnessVote(witness=f"w{number}", account="alice"))
    recount_voted(state, only_with_proxy=False)
    assert state.account("alice").witnesses_voted_for == 0
