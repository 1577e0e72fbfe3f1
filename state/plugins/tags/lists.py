"""Reads of the plugin `tags`: discussions in all orders, tags by trending score, tags of authors. Source: rpc-api.md §6.5."""

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from state.plugins.tags.plugin import TAGS
from state.plugins.tags.uses import AuthorTag
from state.plugins.tags.view import TagEntry, TagStats
from state.tables import State

SCANNED_PER_FOUND = 10  # entries that a list reads at most, per entry of its limit


class TagSort(Struct, frozen=True):
    """Sort order of discussions: an index of the entries, and the fields of its key. The entry's number follows them."""

    index: str
    fields: tuple[str, ...]
    rshares_min: int | None = None  # comments with fewer are excluded


ORDERS = {
    "trending": TagSort("by_trending", ("tag", "parent", "trending"), 1),
    "hot": TagSort("by_hot", ("tag", "parent", "hot"), 1),
    "created": TagSort("by_created", ("tag", "parent", "created")),
    "active": TagSort("by_active", ("tag", "parent", "active")),
    "votes": TagSort("by_votes", ("tag", "parent", "net_votes")),
    "children": TagSort("by_children", ("tag", "parent", "children")),
    "promoted": TagSort("by_promoted", ("tag", "parent", "promoted")),
    "cashout": TagSort("by_cashout", ("tag", "cashout"), 0),
    "post_payout": TagSort("by_payout", ("tag", "is_reply", "net_rshares"), 1),
    "comment_payout": TagSort("by_payout", ("tag", "is_reply", "net_rshares"), 1),
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
    entries = walk(state, ORDERS[order], tag, order_group(order, parent), start, since)
    found: list[TagEntry] = []
    for entry in islice(entries, SCANNED_PER_FOUND * limit):
        # Sorted by promotion, so no later entry is promoted.
        if order == "promoted" and not entry.promoted:
            break
        if order == "cashout" and entry.parent != parent:
            continue
        least = ORDERS[order].rshares_min
        if least is not None and state.comments.find(entry.comment).net_rshares < least:
            continue
        if hidden and not hidden.isdisjoint(tags_of(state, entry.comment)):
            continue
        found.append(entry)
        if len(found) == limit:
            break
    return found


def order_group(order: str, parent: int) -> tuple[int | bool, ...]:
    """Return the index key values after the tag that all entries of a list share."""
    match order:
        case "cashout":
            return ()
        case "post_payout" | "comment_payout":
            return (order == "comment_payout",)
        case _:
            return (parent,)


def walk(state: State, order: TagSort, tag: str, group: tuple[int | bool, ...], start: int | None, since: int) -> Iterator[TagEntry]:
    """Yield the entries of a tag and group in a sort order. Start at the entry of the comment `start`, if that comment has an entry.

    The key of an index consists of tag, group, sort values and number of the entry. A list is therefore a range of the index, from the key
    of the first entry, or from the start of the group, to the end of the group.
    """
    view = TAGS.of(state).view
    index = getattr(view.entries, order.index)
    first = None if start is None else view.entry(tag, start)
    prefix = (tag, *group) if group else (tag, since)
    if first is not None:
        prefix = (*[getattr(first, field) for field in order.fields], first.number)
    common = order.fields[: 1 + len(group)]
    for entry in index.starting(*prefix):
        if tuple([getattr(entry, field) for field in common]) != (tag, *group):
            return
        yield entry


def trending_tags(state: State, start: str, limit: int) -> list[TagStats]:
    """Return tags by trending score, starting with the tag `start`, or with the first if it is "". An unknown `start` begins with the next
    name.
    """
    stats = TAGS.of(state).view.stats
    if not start:
        return list(islice(stats.by_trending, limit))
    first = next(stats.by_name.starting(start), None)
    return [] if first is None else list(islice(stats.by_trending.starting(first.total_trending, first.tag), limit))


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
