"""Votes on comments since hardfork 20: what they cost the voter, and what they change on the comment.
Source: operations.md §8.4, §8.5; block-processing.md §3.3.
"""

from typing import NamedTuple

from state.effects.balances import share
from state.effects.curves import CONTENT_CONSTANT, QUADRATIC, curve_value
from state.effects.mana import both_now, voting_now, wrapped
from state.protocol.constants import (
    COIN_MAX_VOTE_CHANGES,
    COIN_MIN_VOTE_INTERVAL_SEC,
    COIN_POST_REWARD_FUND_NAME,
    COIN_VOTE_DUST_THRESHOLD,
    COIN_VOTING_MANA_REGENERATION_SECONDS,
    TIME_MAX,
)
from state.protocol.errors import require
from state.protocol.values.asset import Asset, convert
from state.tables import State
from state.tables.accounts import Account
from state.tables.content import Comment, CommentVote
from state.tables.globals import RewardFund

DAY_SECONDS = 86_400
WORD64 = 2**64
WORD128 = 2**128
NO_MANA = "Account does not have enough mana to vote."
LEFT_OVER = -1  # num_changes of a vote that a payout before hardfork 17 has counted


def cast_vote(state: State, voter: Account, comment: Comment, weight: int) -> None:
    """Vote with a weight in basis points, or change a vote."""
    if comment.cashout_time == TIME_MAX:
        note_late_vote(state, voter, comment, weight)
        return
    now = state.props.time
    require(
        now < comment.cashout_time,
        "Comment is actively being rewarded. Cannot vote on comment.",
        condition="_db.head_block_time() < comment.cashout_time",
    )
    vote = state.comment_votes.by_comment_voter.get(comment.id, voter.id)
    require(vote is None or vote.num_changes != LEFT_OVER, "Cannot vote again on a comment after payout.", condition="false")
    require(
        now - voter.last_vote_time >= COIN_MIN_VOTE_INTERVAL_SEC,
        "Can only vote once every 3 seconds.",
        condition="( now - voter.last_vote_time ).to_seconds() >= COIN_MIN_VOTE_INTERVAL_SEC",
    )
    cost, mana = spend_mana(state, voter, weight)
    rshares = rshares_of(state, comment, cost)
    if weight < 0:
        rshares = -rshares
    if vote is None:
        require(weight != 0, "Vote weight cannot be 0.", condition="o.weight != 0")
    else:
        require_changeable(vote)
        require(
            vote.vote_percent != weight,
            "Your current vote on this comment is identical to this vote.",
            condition="itr->vote_percent != o.weight",
        )

    state.accounts.modify(voter, last_vote_time=now, **mana)
    if vote is None:
        add_vote(state, voter, comment, weight, rshares)
    else:
        change_vote(state, comment, vote, weight, rshares)


def note_late_vote(state: State, voter: Account, comment: Comment, weight: int) -> None:
    """A vote on a comment that has been paid out is only remembered."""
    vote = state.comment_votes.by_comment_voter.get(comment.id, voter.id)
    if vote is None:
        vote = CommentVote(voter=voter.id, comment=comment.id, vote_percent=weight, last_update=state.head_time)
        state.comment_votes.insert(vote)
    else:
        state.comment_votes.modify(vote, vote_percent=weight, last_update=state.head_time)


def require_changeable(vote: CommentVote) -> None:
    """A vote can be changed five times."""
    require(
        vote.num_changes < COIN_MAX_VOTE_CHANGES,
        "Voter has used the maximum number of vote changes on this comment.",
        condition="itr->num_changes < COIN_MAX_VOTE_CHANGES",
    )


# ------------------------------------------------------------------ mana


def spend_mana(state: State, voter: Account, weight: int) -> tuple[int, dict[str, int]]:
    """What a vote costs, and the changes of the voter's bars by it; refused when there isn't enough."""
    props, hardfork = state.props, state.hardfork
    now, percent = props.time, props.downvote_pool_percent
    if hardfork < 21:
        # Under hardfork 20 there was no bar for downvotes, and a voter without any mana was refused.
        voting, downvote = voting_now(state, voter), 0
        require(voting > 0, NO_MANA, condition="voter.voting_manabar.current_mana > 0")
        changes = {"voting_mana": voting, "voting_mana_time": now}
    else:
        voting, downvote = both_now(state, voter)
        require(voting >= 0, NO_MANA, condition="voter.voting_manabar.current_mana >= 0")
        changes = {"voting_mana": voting, "voting_mana_time": now, "downvote_mana": downvote, "downvote_mana_time": now}
    if weight >= 0 or hardfork < 21 or percent == 0:
        cost = mana_cost(voting, abs(weight), props.vote_power_reserve_rate)
        require(voting >= cost, NO_MANA, condition="voter.voting_manabar.has_mana( used_mana.to_int64() )")
        changes["voting_mana"] = voting - cost
        return cost, changes
    if hardfork >= 22:
        pool = downvote * 10000 // percent
    else:
        # Under hardfork 21 the product wrapped at 64 bits, and a negative one was taken as a large number of 128.
        pool = wrapped(downvote * 10000) % WORD128 // percent
    cost = mana_cost(max(pool, voting), -weight, props.vote_power_reserve_rate)
    require(
        wrapped(voting + downvote) > cost,
        "Account does not have enough mana to downvote. voting_mana: ${v} downvote_mana: ${d} required_mana: ${r}",
        condition="voter.voting_manabar.current_mana + voter.downvote_manabar.current_mana > used_mana.to_int64()",
        v=voting,
        d=downvote,
        r=cost,
    )
    # The bar for downvotes is emptied first; the remainder can't make the other one negative.
    changes["downvote_mana"] = max(downvote - cost, 0)
    changes["voting_mana"] = max(voting - max(cost - downvote, 0), 0)
    return cost, changes


def mana_cost(base: int, weight: int, reserve_rate: int) -> int:
    """What a vote takes off a bar of `base`: a fiftieth of the day's regeneration at full weight, rounded up."""
    divisor = reserve_rate * COIN_VOTING_MANA_REGENERATION_SECONDS
    cost = (base * weight * DAY_SECONDS % WORD128 // 10000 + divisor - 1) // divisor
    require(cost < 2**63, condition="used_mana.to_int64()")
    return cost


def rshares_of(state: State, comment: Comment, cost: int) -> int:
    """What the spent mana moves: less the dust, and less and less shortly before the payout."""
    rshares = max(0, cost - COIN_VOTE_DUST_THRESHOLD)
    left, lockout = comment.cashout_time - state.props.time, state.spec.constants.COIN_UPVOTE_LOCKOUT_SECONDS
    return rshares * left // lockout if left < lockout else rshares


# ------------------------------------------------------------------ the comment


def add_vote(state: State, voter: Account, comment: Comment, weight: int, rshares: int) -> None:
    """Count a new vote. One without rshares counts against the comment."""
    now, size = state.props.time, abs(rshares)
    full = curator_weight = 0
    changes = {"net_rshares": share(comment.net_rshares + rshares), "abs_rshares": share(comment.abs_rshares + size)}
    if rshares > 0:
        before = comment.vote_rshares
        changes["net_votes"] = comment.net_votes + 1
        changes["vote_rshares"] = after = share(before + rshares)
        if comment.last_payout == 0 and comment.allow_curation_rewards:
            fund = post_fund(state)
            if fund.percent_curation_rewards > 0:
                curve, constant = fund.curation_reward_curve, fund.content_constant
                full = max(0, curve_value(curve, after, constant) - curve_value(curve, before, constant))
                # What an early vote loses stays in the total and is never paid out.
                window = state.props.reverse_auction_seconds
                curator_weight = full * min(now - comment.created, window) // window
                changes["total_vote_weight"] = (comment.total_vote_weight + full) % WORD64
    else:
        changes["net_votes"] = comment.net_votes - 1
    count_in_discussion(state, comment, size, changes)
    state.comment_votes.insert(
        CommentVote(voter=voter.id, comment=comment.id, weight=curator_weight, rshares=rshares, vote_percent=weight, last_update=now)
    )


def change_vote(state: State, comment: Comment, vote: CommentVote, weight: int, rshares: int) -> None:
    """Count a vote anew; whoever changes a vote loses its curation reward."""
    size = abs(rshares)
    changes = changed_vote(comment, vote, rshares)
    count_in_discussion(state, comment, size, changes)
    state.comment_votes.modify(
        vote, rshares=rshares, vote_percent=weight, last_update=state.props.time, weight=0, num_changes=vote.num_changes + 1
    )


def changed_vote(comment: Comment, vote: CommentVote, rshares: int) -> dict[str, int]:
    """The changes of a comment when a vote on it gets other rshares."""
    return {
        "net_rshares": share(share(comment.net_rshares - vote.rshares) + rshares),
        "abs_rshares": share(comment.abs_rshares + abs(rshares)),
        "net_votes": comment.net_votes + sign(rshares) - sign(vote.rshares),
        "total_vote_weight": (comment.total_vote_weight - vote.weight) % WORD64,
    }


def count_in_discussion(state: State, comment: Comment, size: int, changes: dict[str, int]) -> None:
    """Apply the changes of a comment, and count the size of its votes on the root."""
    comments = state.comments
    if comment.root_comment == comment.id:
        comments.modify(comment, children_abs_rshares=share(comment.children_abs_rshares + size), **changes)
    else:
        comments.modify(comment, **changes)
        root = comments.find(comment.root_comment)
        comments.modify(root, children_abs_rshares=share(root.children_abs_rshares + size))


def post_fund(state: State) -> RewardFund:
    """The fund that pays comments since hardfork 17."""
    fund = state.reward_funds.by_name.get(COIN_POST_REWARD_FUND_NAME)
    assert fund is not None, "hardfork 17 creates the fund"
    return fund


class ContentPot(NamedTuple):
    """What all comments that are not yet paid will share, in SBD if there is a median price, and by which claims and curve."""

    worth: Asset
    claims: int
    curve: int
    constant: int


def content_pot(state: State) -> ContentPot:
    """The pot as it is now. Before hardfork 17 there was one fund for all rewards, in the global properties."""
    if state.hardfork >= 17:
        fund = post_fund(state)
        balance, claims, curve, constant = fund.reward_balance, fund.recent_claims, fund.author_reward_curve, fund.content_constant
    else:
        props = state.props
        balance, claims, curve, constant = props.total_reward_fund_coin, props.total_reward_shares2, QUADRATIC, CONTENT_CONSTANT
    price = state.feed.current_median_history
    return ContentPot(Asset(balance) if price.is_null else convert(Asset(balance), price), claims, curve, constant)


def sign(value: int) -> int:
    """-1, 0 or 1."""
    return (value > 0) - (value < 0)
