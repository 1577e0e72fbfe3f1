"""What accounts think of each other's posts: votes add to and take from the author's reputation. Votes on paid posts don't count.
Source: block-processing.md §7.5; rpc-api.md §6.6.
"""

from collections.abc import Iterator
from itertools import islice

from state.effects.arithmetic import share
from state.effects.comments import find_comment, payout_time
from state.operations.content import Vote
from state.protocol.constants import TIME_MAX
from state.protocol.values.asset import INT64_MAX, INT64_MIN
from state.store import Row, Table, Unique
from state.tables import State
from state.tables.content import Comment, CommentVote

NAME = "reputation"
NOISE_BITS = 6  # of rshares that don't count


class Reputation(Row):
    """An account's reputation, as rshares; an account without a row has none, which is neither good nor bad."""

    account: str = ""
    reputation: int = 0


class Reputations(Table[Reputation]):
    """Reputations by account; one row at most for each account that has posted."""

    by_account = Unique("account")


def install(state: State) -> Reputations:
    """Make the table and listen."""
    reputations = Reputations(state.journal)

    def undo(state: State, operation: Vote) -> None:
        take_back(state, reputations, operation)

    def apply(state: State, operation: Vote) -> None:
        count(state, reputations, operation)

    state.listeners.on_operation(undo, Vote, after=False)
    state.listeners.on_operation(apply, Vote)
    return reputations


# ------------------------------------------------------------------ reading


def reputation_of(reputations: Reputations, account: str) -> int:
    """An account's reputation, 0 without one."""
    row = reputations.by_account.get(account)
    return 0 if row is None else row.reputation


def known_reputations(state: State) -> Reputations | None:
    """The table that the plugins `reputation` and `follow` share; None when neither is enabled."""
    follow = state.plugins.get("follow")
    reputations: Reputations | None = state.plugins.get(NAME) if follow is None else follow.reputations
    return reputations


def account_reputations(state: State, reputations: Reputations, start: str, limit: int) -> Iterator[tuple[str, int]]:
    """All accounts by name from `start` on with their reputations, `limit` at most."""
    return ((account.name, reputation_of(reputations, account.name)) for account in islice(state.accounts.by_name.starting(start), limit))


# ------------------------------------------------------------------ rules


def take_back(state: State, reputations: Reputations, operation: Vote) -> None:
    """Before a vote is changed, what it has done is undone, as far as the voter may still do it."""
    author = reputations.by_account.get(operation.author)
    if author is None:
        return
    vote = vote_of(state, operation)
    voter = reputations.by_account.get(operation.voter)
    if vote is None or (voter is not None and voter.reputation < 0):
        return
    delta = vote.rshares >> NOISE_BITS
    if vote.rshares < 0 and (voter is None or voter.reputation <= author.reputation - delta):
        return
    left = author.reputation - delta
    if left == 0:
        reputations.remove(author)
    elif INT64_MIN <= left <= INT64_MAX:
        # A number that leaves 64 bits stays as it is, and nobody is told.
        reputations.modify(author, reputation=left)


def count(state: State, reputations: Reputations, operation: Vote) -> None:
    """Only who has no bad reputation counts, and against somebody only who has a better one."""
    voter = reputations.by_account.get(operation.voter)
    if voter is not None and voter.reputation < 0:
        return
    vote = vote_of(state, operation)
    if vote is None:
        return
    author = reputations.by_account.get(operation.author)
    current = 0 if author is None else author.reputation
    if vote.rshares < 0 and (voter is None or voter.reputation <= current):
        return
    delta = vote.rshares >> NOISE_BITS
    if author is None:
        reputations.insert(Reputation(account=operation.author, reputation=delta))
    else:
        reputations.modify(author, reputation=share(current + delta))


def vote_of(state: State, operation: Vote) -> CommentVote | None:
    """The vote that stands on a comment which is not paid yet, None otherwise."""
    comment: Comment | None = find_comment(state, operation.author, operation.permlink)
    if comment is None or payout_time(state, comment) == TIME_MAX:
        return None
    voter = state.accounts.by_name.get(operation.voter)
    return None if voter is None else state.comment_votes.by_comment_voter.get(comment.id, voter.id)
