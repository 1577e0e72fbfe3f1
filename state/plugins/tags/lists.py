"""Reads of the plugin `tags`: discussions in all orders, tags by trending score, tags of authors. Source: rpc-api.md §6.5."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from state.plugins.tags import view
from state.plugins.tags.plugin import TAGS
from state.plugins.tags.uses import AuthorTag
from state.plugins.tags.view import PLACES_MAX, TagStats
from state.tables import State

SCANNED_PER_FOUND = 10  # entries that a list reads at most, per entry of its limit


class TagEntry(NamedTuple):
    """An entry of a list: a comment, and the amount paid to promote it under the tag of the list, in SBD."""

    comment: int
    promoted: int


ORDERS = {
    "trending": view.TRENDING,
    "hot": view.HOT,
    "created": view.CREATED,
    "active": view.ACTIVE,
    "votes": view.VOTES,
    "children": view.CHILDREN,
    "promoted": view.PROMOTED,
    "cashout": view.CASHOUT,
    "post_payout": view.PAYOUT,
    "comment_payout": view.PAYOUT,
}


def discussions(
    state: State,
    order: str,
    tag: str,
    limit: int,
    *,
    parent: int = 0,
    start: int | None = None,
    since: int = 0,
    hidden: frozenset[str] = frozenset(),
) -> list[TagEntry]:
    """Return the entries of a tag ("" for all comments) in one of ORDERS.

    If `parent` is 0, only entries of root posts are returned, otherwise only entries of replies to `parent`.

    The list starts at the entry of the comment `start`, if that comment has the tag. `since` is the earliest time of payout in the order
    `cashout`. Comments with one of the `hidden` tags are excluded. The list can be shorter than `limit` even if more entries match: it
    reads only SCANNED_PER_FOUND * `limit` entries, as on the reference.
    """
    sort, tagged = ORDERS[order], TAGS.of(state).tagged.by_comment
    found: list[TagEntry] = []
    for item in islice(walk(state, sort, tag, group_of(order, parent), start, since), SCANNED_PER_FOUND * limit):
        comment, place = divmod(item, PLACES_MAX)
        row = tagged.find(comment)
        promoted = row.numbered[place][1] if row.numbered else 0
        # Sorted by promotion, so no later entry is promoted.
        if order == "promoted" and not promoted:
            break
        if order == "cashout" and row.parent != parent:
            continue
        if sort.rshares_min is not None and state.comments.find(comment).net_rshares < sort.rshares_min:
            continue
        if not hidden.isdisjoint(row.tags):
            continue
        found.append(TagEntry(comment, promoted))
        if len(found) == limit:
            break
    return found


def group_of(order: str, parent: int) -> view.Group:
    """Return the group of comments that a list contains."""
    match order:
        case "cashout":
            return view.ALL
        case "post_payout":
            return view.POSTS
        case "comment_payout":
            return view.REPLIES
        case _:
            return parent


def walk(state: State, sort: view.TagSort, tag: str, group: view.Group, start: int | None, since: int) -> Iterator[int]:
    """Yield the items of a tag and group in a sort order. Start at the comment `start`, if that comment has the tag.

    A list that starts at a comment outside of the group is empty.
    """
    lists = TAGS.of(state).view
    entries = lists.entries(sort, tag, group)
    first: tuple[float, ...] | None = (since,) if sort is view.CASHOUT else None
    if start is not None and tag in tags_of(state, start):
        first = lists.entry(sort, tag, group, start)
        if first is None:
            return iter(())
    return (entry[-1] for entry in entries.irange(first))


def trending_tags(state: State, start: str, limit: int) -> list[TagStats]:
    """Return tags by trending score, starting with the tag `start`, or with the first if it is "". An unknown `start` begins with the next
    name.
    """
    return list(islice(TAGS.of(state).view.trending(start), limit))


def tags_by_author(state: State, author: str) -> list[AuthorTag]:
    """Return the tags that an author has used, the most frequent ones first."""
    account = state.accounts.by_name.get(author)
    return [] if account is None else TAGS.of(state).authors.of(account.id)


def tags_of(state: State, comment: int) -> tuple[str, ...]:
    """Return the tags under which a comment has entries."""
    row = TAGS.of(state).tagged.by_comment.get(comment)
    return () if row is None else row.tags


def promotion_of(state: State, comment: int) -> int | None:
    """Return the amount paid to promote a comment, in SBD, or None if the comment has no entries."""
    row = TAGS.of(state).tagged.by_comment.get(comment)
    return None if row is None else row.places[0][2]
