"""Votes on comments before hardfork 20: voting power was a percentage, and before hardfork 17 votes moved the payout time.

Source: operations.md §8.6.
"""

from state.effects.arithmetic import share
from state.effects.comments import payout_time
from state.effects.curves import SQUARE_ROOT, curve_value, early_curation, quadratic
from state.effects.mana import wrapped
from state.effects.voting import LEFT_OVER, changed_vote, post_fund, record_late_vote, require_changeable
from state.protocol.constants import (
    COIN_100_PERCENT,
    COIN_MIN_VOTE_INTERVAL_SEC,
    COIN_VOTE_DUST_THRESHOLD,
    COIN_VOTING_MANA_REGENERATION_SECONDS,
    DAY_SECONDS,
    TIME_MAX,
    VESTING_SPLIT,
)
from state.protocol.errors import require
from state.protocol.values.integers import WORD32, WORD64, WORD128
from state.tables import State
from state.tables.accounts import Account
from state.tables.content import Comment, CommentVote

FULL_POWER = COIN_100_PERCENT


def cast_early_vote(state: State, voter: Account, comment: Comment, weight: int) -> None:
    """Cast or change a vote; `weight` is in basis points."""
    if state.hardfork >= 12 and payout_time(state, comment) == TIME_MAX:
        record_late_vote(state, voter, comment, weight)
        return
    vote = state.comment_votes.by_comment_voter.get(comment.id, voter.id)
    left, size = spend_power(state, voter, weight)
    rshares = -size if weight < 0 else size
    if vote is not None and vote.num_changes == LEFT_OVER:
        # Before hardfork 12 a new vote could replace a paid one.
        require(state.hardfork < 12, "Cannot vote again on a comment after payout.", condition="false")
        state.comment_votes.remove(vote)
        vote = None
    if vote is None:
        require(weight != 0, "Vote weight cannot be 0.", condition="o.weight != 0")
        if rshares > 0:
            require_early_enough(state, comment)
        require(size > 0, "Cannot vote with 0 rshares.", condition="abs_rshares > 0")
    else:
        require_changeable(vote)
        # Before hardfork 6 repeating a vote counted as a change.
        require(
            vote.vote_percent != weight or state.hardfork < 6,
            "You have already voted in a similar way.",
            condition="itr->vote_percent != o.weight",
        )
        if rshares > vote.rshares:
            require_early_enough(state, comment)

    now = state.head_time
    state.accounts.modify(voter, voting_mana=left, last_vote_time=now, voting_mana_time=now)
    time = moved_payout_time(state, comment, size)
    before = comment.net_rshares
    if vote is None:
        add_early_vote(state, voter, comment, weight, rshares)
    else:
        change_early_vote(state, comment, vote, weight, rshares)
    count_on_root(state, comment, size, time)
    if state.hardfork < 17:
        # Before hardfork 17 there were no reward funds; the global properties had the sum of all claims.
        adjust_claims(state, before, comment.net_rshares)


def adjust_claims(state: State, before: int, after: int) -> None:
    """Update the sum of all comments' claims when one comment's net rshares change. Negative rshares have no claim."""
    change = quadratic(max(0, after)) - quadratic(max(0, before))
    state.set_props(total_reward_shares2=(state.props.total_reward_shares2 + change) % WORD128)


def spend_power(state: State, voter: Account, weight: int) -> tuple[int, int]:
    """Return a voter's power after a vote, and the vote's absolute rshares. Refuse a vote without enough power.

    These are the rules of the first of three eras of voting power. `voting_mana` contains the power in basis points of full power,
    independent of the account's VESTS. The power fills in 5 days, and the rshares are the used percentage of the voter's VESTS at the time
    of the vote. Since hardfork 20 the bar contains mana, one unit per VESTS, and since hardfork 21 there is a second bar for downvotes
    (`spend_mana` in voting.py). Hardfork 20 doesn't convert the stored number. Since 10000 is almost nothing as mana, a voter then has only
    the mana regenerated since the last vote.
    """
    hardfork, elapsed = state.hardfork, state.head_time - voter.voting_mana_time
    # Before hardfork 11 there was no pause between votes.
    require(
        elapsed >= COIN_MIN_VOTE_INTERVAL_SEC or hardfork < 11,
        "Can only vote once every 3 seconds.",
        condition="elapsed_seconds >= COIN_MIN_VOTE_INTERVAL_SEC",
    )
    current = min(voter.voting_mana + FULL_POWER * elapsed // COIN_VOTING_MANA_REGENERATION_SECONDS, FULL_POWER)
    require(current > 0, "Account currently does not have voting power.", condition="current_power > 0")
    # The chain has always divided by the full power before it multiplied, which loses precision.
    power = current * abs(weight) // FULL_POWER * DAY_SECONDS
    divisor = state.props.vote_power_reserve_rate * COIN_VOTING_MANA_REGENERATION_SECONDS
    # Since hardfork 14 the power is rounded up; before, it was truncated and 1 was added.
    power = (power + divisor - 1) // divisor if hardfork >= 14 else power // divisor + 1
    require(power <= current, "Account does not have enough power to vote.", condition="used_power <= current_power")
    size = (voter.vesting_shares - voter.delegated_vesting_shares + voter.received_vesting_shares) * power // FULL_POWER
    if hardfork < 14:
        # Before hardfork 14 a vote had at least one rshare.
        size = size or 1
    if hardfork >= 13:
        # Since hardfork 13 votes must exceed the dust threshold, except the single rshare of a voter without VESTS and, from hardfork 14
        # on, a vote of weight 0, which withdraws a vote.
        require(
            size > COIN_VOTE_DUST_THRESHOLD or (weight == 0 if hardfork >= 14 else size == 1),
            "Voting weight is too small, please accumulate more voting power or coin power.",
            condition="abs_rshares > COIN_VOTE_DUST_THRESHOLD || " + ("o.weight == 0" if hardfork >= 14 else "abs_rshares == 1"),
        )
    return current - power, size


def require_early_enough(state: State, comment: Comment) -> None:
    """Refuse a vote that raises a payout shortly before the payout.

    Such votes are refused in the last minute before the payout, and since hardfork 17 in the last twelve hours.
    """
    now, constants = state.head_time, state.spec.constants
    if state.hardfork >= 17:
        require(
            now < comment.cashout_time - constants.COIN_UPVOTE_LOCKOUT_HF17,
            "Cannot increase payout within last twelve hours before payout.",
            condition="_db.head_block_time() < comment.cashout_time - COIN_UPVOTE_LOCKOUT_HF17",
        )
    elif state.hardfork >= 7:
        require(
            now < payout_time(state, comment) - constants.COIN_UPVOTE_LOCKOUT_HF7,
            "Cannot increase payout within last minute before payout.",
            condition="_db.head_block_time() < _db.calculate_discussion_payout_time( comment ) - COIN_UPVOTE_LOCKOUT_HF7",
        )


def add_early_vote(state: State, voter: Account, comment: Comment, weight: int, rshares: int) -> None:
    """Count a new vote on the comment, and store the vote's weight in the curation reward."""
    now, before = state.head_time, comment.vote_rshares
    changes = {
        "net_rshares": share(comment.net_rshares + rshares),
        "abs_rshares": share(comment.abs_rshares + abs(rshares)),
        "net_votes": comment.net_votes + (1 if rshares > 0 else -1),
    }
    if rshares > 0:
        changes["vote_rshares"] = share(before + rshares)
    if state.hardfork < 6 and changes["net_rshares"] == -changes["abs_rshares"]:
        # An assertion of the first versions, removed by hardfork 6.
        require(changes["net_votes"] < 0, "Comment has negative net votes?", condition="c.net_votes < 0")
    state.comments.modify(comment, **changes)
    full = curator_weight = 0
    if rshares > 0 and comment.last_payout == 0 and comment.allow_curation_rewards and has_curation(state):
        full = curator_weight = vote_weight(state, comment, rshares, before)
        if now > state.spec.constants.REVERSE_AUCTION_START_TIME:
            # As in `add_vote`, the total includes the discount for an early vote, which is never paid to curators.
            window = state.props.reverse_auction_seconds
            curator_weight = full * min(now - comment.created, window) // window
        state.comments.modify(comment, total_vote_weight=(comment.total_vote_weight + full) % WORD64)
    vote = CommentVote(voter=voter.id, comment=comment.id, weight=curator_weight, rshares=rshares, vote_percent=weight, last_update=now)
    state.comment_votes.insert(vote)


def has_curation(state: State) -> bool:
    """Whether there are curation rewards. Before hardfork 17 there always are."""
    return state.hardfork < 17 or post_fund(state).percent_curation_rewards > 0


def vote_weight(state: State, comment: Comment, rshares: int, before: int) -> int:
    """Return the weight of a new vote without the discount for early votes. The comment must already include the vote.

    Weights are differences of a curve over all positive rshares, so later votes weigh less. A different formula applies to the oldest
    comments, by creation time.
    """
    split = VESTING_SPLIT if state.hardfork < 1 else 1  # hardfork 1 multiplied VESTS by a million
    after = comment.vote_rshares
    if comment.created < state.spec.constants.REVERSE_AUCTION_START_TIME:
        return (rshares * split) ** 3 // (comment.abs_rshares * split) ** 2 % WORD64
    if state.hardfork < 17:
        # The product wraps at 64 bits.
        return (early_curation(wrapped(after * split)) - early_curation(wrapped(before * split))) % WORD64
    fund = post_fund(state)
    curve, constant = fund.curation_reward_curve, fund.content_constant
    if state.hardfork < 19 and comment.created > state.spec.constants.SQUARE_ROOT_START_TIME:
        # Comments with a payout after hardfork 19 already used its curve.
        curve = SQUARE_ROOT
    return (curve_value(curve, after, constant) - curve_value(curve, before, constant)) % WORD64


def change_early_vote(state: State, comment: Comment, vote: CommentVote, weight: int, rshares: int) -> None:
    """Count a changed vote, which loses its curation reward."""
    state.comments.modify(comment, **changed_vote(comment, vote, rshares))
    state.comment_votes.modify(
        vote, rshares=rshares, vote_percent=weight, last_update=state.head_time, weight=0, num_changes=vote.num_changes + 1
    )


def moved_payout_time(state: State, comment: Comment, size: int) -> int:
    """Return a discussion's payout time after a vote: the average of its old time and a new window, weighted by rshares."""
    if state.hardfork >= 17:
        # Since hardfork 17 every comment has its own payout time, which votes don't change.
        return comment.cashout_time
    constants, counted = state.spec.constants, state.comments.find(comment.root_comment).children_abs_rshares
    current = payout_time(state, comment)
    if size == 0 and state.hardfork >= 14:
        return current
    # Only hardfork 12 used its own window, 12 hours on the main build. Hardfork 13 returned to the previous 24 hours.
    window = constants.COIN_CASHOUT_WINDOW_SECONDS_PRE_HF17 if state.hardfork == 12 else constants.COIN_CASHOUT_WINDOW_SECONDS_PRE_HF12
    return (current * counted + (state.head_time + window) * size) // (counted + size) % WORD32


def count_on_root(state: State, comment: Comment, size: int, time: int) -> None:
    """Add a vote's absolute rshares to the root of its discussion, and update the discussion's payout time."""
    root = state.comments.find(comment.root_comment)
    changes = {"children_abs_rshares": share(root.children_abs_rshares + size)}
    if state.hardfork < 17:
        if state.hardfork >= 12 and root.last_payout > 0:
            # Since hardfork 12 there was a second payout, at a fixed time.
            changes["cashout_time"] = root.last_payout + state.spec.constants.COIN_SECOND_CASHOUT_WINDOW
        else:
            changes["cashout_time"] = min(time, root.max_cashout_time)
        if root.max_cashout_time == TIME_MAX:
            changes["max_cashout_time"] = state.head_time + state.spec.constants.COIN_MAX_CASHOUT_WINDOW_SECONDS
    state.comments.modify(root, **changes)
