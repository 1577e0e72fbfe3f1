"""Votes on comments since hardfork 20: their cost in mana, and their effect on the comment.

Source: operations.md §8.4, §8.5; block-processing.md §3.3.
"""

from typing import NamedTuple

from state.effects.arithmetic import share
from state.effects.curves import CONTENT_CONSTANT, QUADRATIC, curve_value
from state.effects.mana import both_now, voting_now, wrapped
from state.protocol import constants
from state.protocol.errors import Refused, require
from state.protocol.values.asset import SBD, Asset, convert
from state.protocol.values.integers import HALF64, WORD64, WORD128
from state.tables import State
from state.tables.accounts import Account
from state.tables.content import Comment, CommentVote
from state.tables.globals import RewardFund

NO_MANA = "Account does not have enough mana to vote."
LEFT_OVER = -1  # num_changes of a vote that was counted in a payout before hardfork 17


def cast_vote(state: State, voter: Account, comment: Comment, weight: int) -> None:
    """Cast or change a vote; `weight` is in basis points.

    All conditions are checked before the first change. The order of checks is the reference's, because it decides the message of a refusal.
    """
    if comment.cashout_time == constants.TIME_MAX:
        record_late_vote(state, voter, comment, weight)
        return
    now = state.props.time
    if now >= comment.cashout_time:
        raise Refused(
            "Comment is actively being rewarded. Cannot vote on comment.", condition="_db.head_block_time() < comment.cashout_time"
        )
    vote = state.comment_votes.by_comment_voter.get(comment.id, voter.id)
    if vote is not None and vote.num_changes == LEFT_OVER:
        raise Refused("Cannot vote again on a comment after payout.", condition="false")
    if now - voter.last_vote_time < constants.COIN_MIN_VOTE_INTERVAL_SEC:
        raise Refused(
            "Can only vote once every 3 seconds.", condition="( now - voter.last_vote_time ).to_seconds() >= COIN_MIN_VOTE_INTERVAL_SEC"
        )
    cost, voting, downvote = spend_mana(state, voter, weight)
    rshares = rshares_of(state, comment, cost)
    if weight < 0:
        rshares = -rshares
    if vote is None:
        if weight == 0:
            raise Refused("Vote weight cannot be 0.", condition="o.weight != 0")
    else:
        require_changeable(vote)
        if vote.vote_percent == weight:
            raise Refused("Your current vote on this comment is identical to this vote.", condition="itr->vote_percent != o.weight")

    # Before hardfork 21 there was no bar for downvotes.
    downvote_time = now if state.hardfork >= 21 else voter.downvote_mana_time
    state.accounts.set_last_vote(voter, now, voting, now, downvote, downvote_time)
    if vote is None:
        add_vote(state, voter, comment, weight, rshares)
    else:
        change_vote(state, comment, vote, weight, rshares)


def record_late_vote(state: State, voter: Account, comment: Comment, weight: int) -> None:
    """Store a vote on a comment that is already paid. Such a vote costs no mana and has no other effect."""
    vote = state.comment_votes.by_comment_voter.get(comment.id, voter.id)
    if vote is None:
        vote = CommentVote(voter=voter.id, comment=comment.id, vote_percent=weight, last_update=state.head_time)
        state.comment_votes.insert(vote)
    else:
        state.comment_votes.modify(vote, vote_percent=weight, last_update=state.head_time)


def require_changeable(vote: CommentVote) -> None:
    """Refuse a sixth change of a vote."""
    require(
        vote.num_changes < constants.COIN_MAX_VOTE_CHANGES,
        "Voter has used the maximum number of vote changes on this comment.",
        condition="itr->num_changes < COIN_MAX_VOTE_CHANGES",
    )


# ------------------------------------------------------------------ mana


def spend_mana(state: State, voter: Account, weight: int) -> tuple[int, int, int]:
    """Return the mana that a vote costs, and what it leaves in the voter's bars for votes and downvotes. Refuse a vote without enough mana.

    This function covers the second and third eras of voting power. `spend_power` (early_voting.py) covers the first. Hardfork 20 introduced
    one manabar, with one unit per VESTS of the account. The cost is a fraction of the current mana, so each vote in a row costs and weighs
    less. Hardfork 21 added a second bar of a quarter of the size (downvote_pool_percent). Downvotes use this second bar before they use the
    voting bar, so some downvotes cost no voting mana. A downvote can be as strong as the fuller of the two bars allows.
    """
    props, hardfork = state.props, state.hardfork
    percent = props.downvote_pool_percent
    if hardfork < 21:
        # Hardfork 20 refused a voter with an empty bar. Since hardfork 21 such a vote is allowed, with 0 mana.
        voting, downvote = voting_now(state, voter), voter.downvote_mana
        if voting <= 0:
            raise Refused(NO_MANA, condition="voter.voting_manabar.current_mana > 0")
    else:
        voting, downvote = both_now(state, voter)
        if voting < 0:
            raise Refused(NO_MANA, condition="voter.voting_manabar.current_mana >= 0")
    if weight >= 0 or hardfork < 21 or percent == 0:
        cost = mana_cost(voting, abs(weight), props.vote_power_reserve_rate)
        if voting < cost:
            raise Refused(NO_MANA, condition="voter.voting_manabar.has_mana( used_mana.to_int64() )")
        return cost, voting - cost, downvote
    # The mana of the voting bar if it were as full as the downvote bar.
    if hardfork >= 22:
        pool = downvote * constants.COIN_100_PERCENT // percent
    else:
        # Hardfork 21 multiplied in 64 bits and divided in 128. Sign extension turned a product that wrapped to a negative number into
        # a huge one.
        pool = wrapped(downvote * constants.COIN_100_PERCENT) % WORD128 // percent
    cost = mana_cost(max(pool, voting), -weight, props.vote_power_reserve_rate)
    if wrapped(voting + downvote) <= cost:
        raise Refused(
            "Account does not have enough mana to downvote. voting_mana: ${v} downvote_mana: ${d} required_mana: ${r}",
            condition="voter.voting_manabar.current_mana + voter.downvote_manabar.current_mana > used_mana.to_int64()",
            v=voting,
            d=downvote,
            r=cost,
        )
    # The downvote bar pays first, the voting bar pays the rest.
    return cost, max(voting - max(cost - downvote, 0), 0), max(downvote - cost, 0)


def mana_cost(base: int, weight: int, reserve_rate: int) -> int:
    """Return the cost of a vote from a bar with `base` mana, rounded up.

    At full weight this is `base` · day / (reserve rate · regeneration time). With a rate of 10 and 5 days the cost is a fiftieth of the
    mana, so ten full votes per day use the mana that regenerates in a day.
    """
    divisor = reserve_rate * constants.COIN_VOTING_MANA_REGENERATION_SECONDS
    cost = (base * weight * constants.DAY_SECONDS % WORD128 // constants.COIN_100_PERCENT + divisor - 1) // divisor
    if cost >= HALF64:
        raise Refused("", condition="used_mana.to_int64()")
    return cost


def rshares_of(state: State, comment: Comment, cost: int) -> int:
    """Return the rshares for spent mana, less a fixed amount of dust.

    In the last hours before the payout the rshares fall linearly to 0.
    """
    rshares = max(0, cost - constants.COIN_VOTE_DUST_THRESHOLD)
    left, lockout = comment.cashout_time - state.props.time, state.spec.constants.COIN_UPVOTE_LOCKOUT_SECONDS
    return rshares * left // lockout if left < lockout else rshares


# ------------------------------------------------------------------ the comment


def add_vote(state: State, voter: Account, comment: Comment, weight: int, rshares: int) -> None:
    """Count a new vote. A vote without rshares lowers net_votes, like a downvote."""
    now, size = state.props.time, abs(rshares)
    curator_weight = 0
    net_rshares, abs_rshares = share(comment.net_rshares + rshares), share(comment.abs_rshares + size)
    before = after = comment.vote_rshares
    total_weight, net_votes = comment.total_vote_weight, comment.net_votes - 1
    if rshares > 0:
        net_votes = comment.net_votes + 1
        after = share(before + rshares)
        if comment.last_payout == 0 and comment.allow_curation_rewards:
            fund = post_fund(state)
            if fund.percent_curation_rewards > 0:
                curve, constant = fund.curation_reward_curve, fund.content_constant
                full = max(0, curve_value(curve, after, constant) - curve_value(curve, before, constant))
                # A vote in the first minutes has a reduced weight, but the total includes its full weight. The difference is never
                # paid to curators.
                window = state.props.reverse_auction_seconds
                curator_weight = full * min(now - comment.created, window) // window
                total_weight = (total_weight + full) % WORD64
    state.comments.set_votes(comment, net_rshares, abs_rshares, after, total_weight, net_votes)
    count_in_discussion(state, comment, size)
    state.comment_votes.insert(
        CommentVote(voter=voter.id, comment=comment.id, weight=curator_weight, rshares=rshares, vote_percent=weight, last_update=now)
    )


def change_vote(state: State, comment: Comment, vote: CommentVote, weight: int, rshares: int) -> None:
    """Count a changed vote, which loses its curation reward."""
    size = abs(rshares)
    state.comments.modify(comment, **changed_vote(comment, vote, rshares))
    count_in_discussion(state, comment, size)
    state.comment_votes.modify(
        vote, rshares=rshares, vote_percent=weight, last_update=state.props.time, weight=0, num_changes=vote.num_changes + 1
    )


def changed_vote(comment: Comment, vote: CommentVote, rshares: int) -> dict[str, int]:
    """Return the new values of a comment's fields when the rshares of a vote on it change.

    abs_rshares grows by the size of the new rshares, and doesn't lose the size of the old ones, because it counts all rshares ever spent on
    the comment. vote_rshares doesn't change. total_vote_weight loses only the vote's own weight, which excludes the discount for an early
    vote.
    """
    return {
        "net_rshares": share(share(comment.net_rshares - vote.rshares) + rshares),
        "abs_rshares": share(comment.abs_rshares + abs(rshares)),
        "net_votes": comment.net_votes + sign(rshares) - sign(vote.rshares),
        "total_vote_weight": (comment.total_vote_weight - vote.weight) % WORD64,
    }


def count_in_discussion(state: State, comment: Comment, size: int) -> None:
    """Add a vote's absolute rshares (`size`) to the root of its comment's discussion."""
    root = state.comments.find(comment.root_comment)
    state.comments.set_children_abs_rshares(root, share(root.children_abs_rshares + size))


def post_fund(state: State) -> RewardFund:
    """Return the fund that pays comments since hardfork 17."""
    fund = state.reward_funds.by_name.get(constants.COIN_POST_REWARD_FUND_NAME)
    assert fund is not None, "hardfork 17 creates the fund"
    return fund


class ContentRewardPool(NamedTuple):
    """The reward pool of unpaid comments: its funds, in SBD if there is a median price, and the claims and the curve that divide them."""

    worth: Asset
    claims: int
    curve: int
    constant: int


NO_REWARD_POOL = ContentRewardPool(Asset(0, SBD), 0, QUADRATIC, 0)


def content_reward_pool(state: State) -> ContentRewardPool:
    """Return the current reward pool. Before hardfork 17 it was one fund for all rewards, in the global properties."""
    if state.hardfork >= 17:
        fund = post_fund(state)
        balance, claims, curve, constant = fund.reward_balance, fund.recent_claims, fund.author_reward_curve, fund.content_constant
    else:
        props = state.props
        balance, claims, curve, constant = props.total_reward_fund_coin, props.total_reward_shares2, QUADRATIC, CONTENT_CONSTANT
    price = state.feed.current_median_history
    return ContentRewardPool(Asset(balance) if price.is_null else convert(Asset(balance), price), claims, curve, constant)


def payable_reward_pool(state: State) -> ContentRewardPool:
    """Return the reward pool for displayed payouts: an empty pool if it can't be computed or its balance is negative.

    The rules allow a negative balance, but a negative amount can't be converted at a price.
    """
    try:
        pot = content_reward_pool(state)
    except Refused:
        return NO_REWARD_POOL
    return NO_REWARD_POOL if pot.worth.amount < 0 else pot


def sign(value: int) -> int:
    """Return the sign of a number: -1, 0 or 1."""
    return (value > 0) - (value < 0)
