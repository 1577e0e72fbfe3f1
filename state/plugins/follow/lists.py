"""Reads of the plugin `follow`: relations, blogs, feeds and reputations. Source: rpc-api.md §6.4."""

from collections.abc import Iterator
from itertools import islice, takewhile

from state.plugins.follow.plugin import FOLLOW
from state.plugins.follow.rows import BlogAuthor, Follow
from state.plugins.reputation import REPUTATION, Reputations
from state.tables import State

REBLOGGERS_MAX = 2000
GUESTS_MAX = 2000
ROWS_OF_UNIT = 50  # relations that are read per unit of work


def followers(state: State, account: str, start: str, what: int) -> Iterator[Follow]:
    """Yield the relations of other accounts to an account, ordered by follower name, from `start` on.

    Only relations with at least one bit of `what` are included. If `what` is 0, all relations are included, even ended ones.
    """
    rows = FOLLOW.of(state).follows.by_following.starting(account, start)
    return _having(state, takewhile(lambda row: row.following == account, rows), what)


def followed(state: State, account: str, start: str, what: int) -> Iterator[Follow]:
    """Yield the relations of an account to other accounts, ordered by the followed account's name, from `start` on.

    Only relations with at least one bit of `what` are included. If `what` is 0, all relations are included, even ended ones.
    """
    rows = FOLLOW.of(state).follows.by_follower.starting(account, start)
    return _having(state, takewhile(lambda row: row.follower == account, rows), what)


def _having(state: State, rows: Iterator[Follow], what: int) -> Iterator[Follow]:
    """Yield the relations that have at least one bit of `what`, or all if it is 0. The skipped ones count as work, too."""
    for number, row in enumerate(rows, 1):
        if number % ROWS_OF_UNIT == 0:
            state.work.spend(1, "follow relations")
        if not what or row.what & what:
            yield row


def follow_count(state: State, account: str) -> tuple[int, int]:
    """Return the number of followers of an account's blog, and the number of blogs that the account follows."""
    row = FOLLOW.of(state).counts.by_account.get(account)
    return (0, 0) if row is None else (row.follower_count, row.following_count)


def has_relation(state: State, account: str, other: str, what: int) -> bool:
    """Whether an account's relation to another account has at least one bit of `what`. Always False if the plugin isn't enabled."""
    kept = FOLLOW.find(state)
    row = None if kept is None else kept.follows.by_pair.get(account, other)
    return row is not None and bool(row.what & what)


def reblogged_by(state: State, comment: int) -> list[str]:
    """Return at most 2,000 accounts whose blogs contain a post, ordered by name. The author is one of them."""
    return [row.account for row in islice(FOLLOW.of(state).blogs.of_comment(comment), REBLOGGERS_MAX)]


def blog_authors(state: State, account: str) -> list[BlogAuthor]:
    """Return at most 2,000 authors whose posts an account has reblogged, ordered by name."""
    return list(islice(FOLLOW.of(state).authors.by_pair.equal(account), GUESTS_MAX))


def known_reputations(state: State) -> Reputations | None:
    """Return the table of reputations, which the plugins `follow` and `reputation` share, or None if neither is enabled."""
    kept = FOLLOW.find(state)
    return REPUTATION.find(state) if kept is None else kept.reputations
