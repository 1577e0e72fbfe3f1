"""The plugin `reputation`: votes on unpaid posts and comments raise or lower the reputation of their authors.

The plugin `follow` computes the same reputations by these rules. With both enabled, they share one table.
Source: block-processing.md §7.5; rpc-api.md §6.6.
"""

from collections.abc import Iterator
from itertools import islice

from state.effects.arithmetic import share
from state.effects.comments import find_comment, payout_time
from state.operations.content import Vote
from state.plugins.plugin import Plugin, bound, ranged
from state.portable import Batch, Portable, declare
from state.portable.exports import exported_rows
from state.protocol.constants import TIME_MAX
from state.protocol.values.integers import INT64_MAX, INT64_MIN
from state.store import Packed, Row, Setter, Table, Unique
from state.store.serializers import TablePart
from state.tables import State
from state.tables.content import Comment, CommentVote

NOISE_BITS = 6  # low bits of a vote's rshares, which are dropped


class Reputation(Row):
    """An account's reputation, in rshares shifted right by NOISE_BITS. An account without a row has reputation 0."""

    account: str = ""
    reputation: int = 0


PORTABLE = declare("reputation/rows", Portable(row=Reputation, key=("account",), is_default_absent=True))


class Reputations(Table[Reputation]):
    """Reputations by account, at most one row per account that has posted."""

    packed = Packed()
    by_account = Unique("account")
    set_reputation = Setter("reputation")


def install(state: State) -> Reputations:
    """Create the plugin's table and register its listeners. The plugin `follow` also calls this if `reputation` is not enabled."""
    reputations = Reputations(state.journal)

    state.listeners.on_operation(bound(take_back, reputations), Vote, after=False)
    state.listeners.on_operation(bound(count, reputations), Vote)
    return reputations


def reputation_of(reputations: Reputations, account: str) -> int:
    """Return an account's reputation, 0 without a row."""
    row = reputations.by_account.get(account)
    return 0 if row is None else row.reputation


def account_reputations(state: State, reputations: Reputations, start: str, limit: int) -> Iterator[tuple[str, int]]:
    """Yield the first `limit` accounts, ordered by name, from `start` on, with their reputations."""
    return ((account.name, reputation_of(reputations, account.name)) for account in islice(state.accounts.by_name.starting(start), limit))


def take_back(state: State, reputations: Reputations, operation: Vote) -> None:
    """Undo the effect of an existing vote before the vote changes, if the voter's reputation allows that effect.

    As on the reference, the current reputations decide, not the reputations at the time of the vote. If the voter's reputation has since
    fallen below zero, or a downvoter's to the author's or less, the effect becomes permanent.
    """
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
        # If the result exceeds 64 bits, the reputation stays unchanged, without an error.
        reputations.set_reputation(author, left)


def count(state: State, reputations: Reputations, operation: Vote) -> None:
    """Add a vote to the author's reputation, after the vote was applied.

    Votes of accounts with a negative reputation don't count. A downvote counts only if the voter's reputation exceeds the author's.
    """
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
        reputations.set_reputation(author, share(current + delta))


def vote_of(state: State, operation: Vote) -> CommentVote | None:
    """Return the voter's vote on a comment. Return None if there is none or if the comment is paid out."""
    comment: Comment | None = find_comment(state, operation.author, operation.permlink)
    if comment is None or payout_time(state, comment) == TIME_MAX:
        return None
    voter = state.accounts.by_name.get(operation.voter)
    return None if voter is None else state.comment_votes.by_comment_voter.get(comment.id, voter.id)


def import_rows(state: State, reputations: Reputations, batch: Batch) -> None:
    """Add the reputations of accounts."""
    for values in batch.get("reputation/rows", ()):
        row = Reputation(**values)
        ranged((row.reputation,), INT64_MIN, INT64_MAX)
        is_here = state.accounts.by_name.get(row.account) is not None
        if row.reputation and is_here and reputations.by_account.get(row.account) is None:
            reputations.insert(row)


def export_rows(state: State, reputations: Reputations) -> Batch:
    """Return the portable rows of all reputations."""
    return {"reputation/rows": exported_rows(state, reputations, PORTABLE)}


REPUTATION = Plugin(
    "reputation",
    Reputations,
    install,
    serves=("reputation_api",),
    parts=lambda state, kept: {"rows": TablePart(kept)},
    import_rows=import_rows,
    export_rows=export_rows,
)
