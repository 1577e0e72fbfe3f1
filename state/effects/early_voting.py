"""Votes on comments before hardfork 20: voting power was a percentage, and before hardfork 17 votes moved the payout.
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
    """Vote with a weight in basis points, or change a vote.

    Two kinds of conditions stand apart in eras: what a vote may weigh, and whether it may still raise a payout.
    """
    if state.hardfork >= 12 and payout_time(state, comment) == TIME_MAX:
        record_late_vote(state, voter, comment, weight)
        return
    vote = state.comment_votes.by_comment_voter.get(comment.id, voter.id)
    left, size = spend_power(state, voter, weight)
    rshares = -size if weight < 0 else size
    if vote is not None and vote.num_changes == LEFT_OVER:
        # Before hardfork 12 a vote that had been paid made room for a new one.
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
        # Before hardfork 6 the same vote again was a change.
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
        # Before hardfork 17 there were no funds, and all claims stood in the global properties.
        adjust_claims(state, before, comment.net_rshares)


def adjust_claims(state: State, before: int, after: int) -> None:
    """Update the sum of all comments' claims when one comment's net rshares change; negative rshares claim nothing."""
    change = quadratic(max(0, after)) - quadratic(max(0, before))
    state.set_props(total_reward_shares2=(state.props.total_reward_shares2 + change) % WORD128)


# ------------------------------------------------------------------ voting power


def spend_power(state: State, voter: Account, weight: int) -> tuple[int, int]:
    """Return a voter's power after a vote, and the size of the vote's rshares; refused when it is not enough.

    This is the first of three eras. `voting_mana` holds the power in basis points of a full one, whatever the account owns:
    it fills in 5 days, and the rshares are that percentage of the voter's VESTS at the moment of the vote. VESTS that come or
    go therefore don't touch it. Since hardfork 20 the bar holds mana, one for each of the VESTS, and since hardfork 21 there
    is a second bar for downvotes (`spend_mana` in voting.py). Hardfork 20 converts nothing: the stored number is read as mana
    from then on, where 10000 is next to nothing, so that a voter has what has regenerated since the last vote.
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
    # Dividing by the full power before the multiplication loses precision, and is how the chain has always rounded here.
    power = current * abs(weight) // FULL_POWER * DAY_SECONDS
    divisor = state.props.vote_power_reserve_rate * COIN_VOTING_MANA_REGENERATION_SECONDS
    # Since hardfork 14 the power is rounded up; before, one was added to what was cut.
    power = (power + divisor - 1) // divisor if hardfork >= 14 else power // divisor + 1
    require(power <= current, "Account does not have enough power to vote.", condition="used_power <= current_power")
    size = (voter.vesting_shares - voter.delegated_vesting_shares + voter.received_vesting_shares) * power // FULL_POWER
    if hardfork < 14:
        # Before hardfork 14 a vote had one rshare at least.
        size = size or 1
    if hardfork >= 13:
        # Since hardfork 13 votes must be larger than dust. The exceptions keep what was valid: the single rshare of a voter
        # with nothing, and from hardfork 14 on the weight 0, which takes a vote back.
        require(
            size > COIN_VOTE_DUST_THRESHOLD or (weight == 0 if hardfork >= 14 else size == 1),
            "Voting weight is too small, please accumulate more voting power or coin power.",
            condition="abs_rshares > COIN_VOTE_DUST_THRESHOLD || " + ("o.weight == 0" if hardfork >= 14 else "abs_rshares == 1"),
        )
    return current - power, size


def require_early_enough(state: State, comment: Comment) -> None:
    """Refuse a vote that raises a payout shortly before it: in the last minute since hardfork 7, in twelve hours since 17."""
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


# ------------------------------------------------------------------ the comment


def add_early_vote(state: State, voter: Account, comment: Comment, weight: int, rshares: int) -> None:
    """Count a new vote, and store the weight by which its voter will share in the curation reward."""
    now, before = state.head_time, comment.vote_rshares
    changes = {
        "net_rshares": share(comment.net_rshares + rshares),
        "abs_rshares": share(comment.abs_rshares + abs(rshares)),
        "net_votes": comment.net_votes + (1 if rshares > 0 else -1),
    }
    if rshares > 0:
        changes["vote_rshares"] = share(before + rshares)
    if state.hardfork < 6 and changes["net_rshares"] == -changes["abs_rshares"]:
        # An assertion of the first versions, which hardfork 6 has dropped.
        require(changes["net_votes"] < 0, "Comment has negative net votes?", condition="c.net_votes < 0")
    state.comments.modify(comment, **changes)
    full = curator_weight = 0
    if rshares > 0 and comment.last_payout == 0 and comment.allow_curation_rewards and has_curation(state):
        full = curator_weight = vote_weight(state, comment, rshares, before)
        if now > state.spec.constants.REVERSE_AUCTION_START_TIME:
            # As in `add_vote`: what an early vote loses stays in the total, and is never paid to curators.
            window = state.props.reverse_auction_seconds
            curator_weight = full * min(now - comment.created, window) // window
        state.comments.modify(comment, total_vote_weight=(comment.total_vote_weight + full) % WORD64)
    vote = CommentVote(voter=voter.id, comment=comment.id, weight=curator_weight, rshares=rshares, vote_percent=weight, last_update=now)
    state.comment_votes.insert(vote)


def has_curation(state: State) -> bool:
    """Return whether curators earn anything; before hardfork 17 there was no setting for it, and they did."""
    return state.hardfork < 17 or post_fund(state).percent_curation_rewards > 0


def vote_weight(state: State, comment: Comment, rshares: int, before: int) -> int:
    """Return the weight of a new vote without the discount of early votes; the comment includes the vote already.

    Weights are differences of a curve of all positive rshares, so that later votes weigh less. The oldest comments have another
    formula, by their time of creation.
    """
    split = VESTING_SPLIT if state.hardfork < 1 else 1  # before hardfork 1 VESTS were a millionth of what they are
    after = comment.vote_rshares
    if comment.created < state.spec.constants.REVERSE_AUCTION_START_TIME:
        return (rshares * split) ** 3 // (comment.abs_rshares * split) ** 2 % WORD64
    if state.hardfork < 17:
        # The product wraps at 64 bits.
        return (early_curation(wrapped(after * split)) - early_curation(wrapped(before * split))) % WORD64
    fund = post_fund(state)
    curve, constant = fund.curation_reward_curve, fund.content_constant
    if state.hardfork < 19 and comment.created > state.spec.constants.SQUARE_ROOT_START_TIME:
        # Comments that would be paid after hardfork 19 were weighed by its curve already.
        curve = SQUARE_ROOT
    return (curve_value(curve, after, constant) - curve_value(curve, before, constant)) % WORD64


def change_early_vote(state: State, comment: Comment, vote: CommentVote, weight: int, rshares: int) -> None:
    """Count a changed vote, which has lost its curation reward."""
    state.comments.modify(comment, **changed_vote(comment, vote, rshares))
    state.comment_votes.modify(
        vote, rshares=rshares, vote_percent=weight, last_update=state.head_time, weight=0, num_changes=vote.num_changes + 1
    )


def moved_payout_time(state: State, comment: Comment, size: int) -> int:
    """Return the payout time of a discussion after a vote: the average of its old time and a new window, weighed by rshares."""
    if state.hardfork >= 17:
        # Since hardfork 17 every comment has a time of its own, which votes don't move.
        return comment.cashout_time
    constants, counted = state.spec.constants, state.comments.find(comment.root_comment).children_abs_rshares
    current = payout_time(state, comment)
    if size == 0 and state.hardfork >= 14:
        return current
    # Hardfork 12 alone used its own new window here, 12 hours on the main build; hardfork 13 went back to the 24 hours before.
    window = constants.COIN_CASHOUT_WINDOW_SECONDS_PRE_HF17 if state.hardfork == 12 else constants.COIN_CASHOUT_WINDOW_SECONDS_PRE_HF12
    return (current * counted + (state.head_time + window) * size) // (counted + size) % WORD32


def count_on_root(state: State, comment: Comment, size: int, time: int) -> None:
    """Add the size of a vote to the root of its discussion, and move the discussion's payout."""
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
