"""Materialized view for reads of the plugin `tags`: the comments of each tag, sorted lists of them, and the totals per tag.

The view is derived from the plugin's tables and updated when it is read, so a chain that only replays pays nothing for it. It has no undo
records: undoing a change marks the comment or tag as changed again. Entries have no objects: their values are read from the row of the
comment. Source: block-processing.md §7.6; rpc-api.md §6.5.
"""

from collections.abc import Callable, Iterator
from itertools import chain, count

from msgspec import Struct

from state.plugins.tags.rows import (
    NOTHING,
    Contribution,
    Tagged,
    TaggedComments,
    TagRest,
    TagRests,
    added,
    contribution_of,
    hot,
    less,
    trending,
)
from state.store import LazyOrder, Row
from state.store.keys import Entry
from state.store.lazy.dirty import DirtyRows
from state.store.lazy.incremental import ReadMode
from state.store.lazy.memory import QueryData
from state.store.lazy.order_cache import OrderCache
from state.store.lazy.sorted_ids import Computed, SortedIds

COMMENTS_CHUNK = 500
SOURCE_ROWS = 2000  # ids of the table per step of a first read
PLACES_MAX = 8  # more than the tags of a comment
BYTES_PER_COMMENT, BYTES_PER_TAG = 700, 700
NOTHING_LISTED = LazyOrder(lambda item: None)

ALL, POSTS, REPLIES = "all", "posts", "replies"
Group = str | int
"""The comments with a tag that a list contains: ALL, POSTS, REPLIES, or those with this parent (0: posts)."""


class TagSort(Struct, frozen=True):
    """Sort order of the entries of a tag, smallest `value` first, then by number. `value` is a function of a comment and its promotion.

    Comments with less than `rshares_min` are excluded by the reader.
    """

    name: str
    value: Callable[[Tagged, int], float]
    rshares_min: int | None = None


class TagStats(Row):
    """Totals of a tag: payouts in SBD, net votes, root posts, replies, and trending scores without their fractions."""

    tag: str = ""
    total_payout: int = 0
    net_votes: int = 0
    top_posts: int = 0
    comments: int = 0
    total_trending: int = 0


TRENDING = TagSort("trending", lambda row, promoted: -trending(row.net_rshares, row.created), 1)
HOT = TagSort("hot", lambda row, promoted: -hot(row.net_rshares, row.created), 1)
CREATED = TagSort("created", lambda row, promoted: -row.created)
ACTIVE = TagSort("active", lambda row, promoted: -row.active)
VOTES = TagSort("votes", lambda row, promoted: -row.net_votes)
CHILDREN = TagSort("children", lambda row, promoted: -row.children)
PROMOTED = TagSort("promoted", lambda row, promoted: -promoted)
CASHOUT = TagSort("cashout", lambda row, promoted: row.cashout, 0)
PAYOUT = TagSort("payout", lambda row, promoted: -row.net_rshares, 1)


class TagView(QueryData):
    """The comments of all tags, sorted lists of them, and the totals of all tags.

    A list contains items. An item is a place of a tag in a comment: the comment's id, times PLACES_MAX, plus the place. The same tag can be
    there twice, because tags are truncated.
    """

    def __init__(self, tagged: TaggedComments, rests: TagRests, changed: DirtyRows, used: DirtyRows, read_mode: ReadMode) -> None:
        super().__init__()
        self._tagged, self._rests, self._changed, self._used = tagged, rests, changed, used
        self._read_mode = read_mode
        self._orders = OrderCache(read_mode)
        self._is_stale = True
        self._known: dict[int, tuple[tuple[str, ...], int, Contribution]] = {}  # by comment: its tags, its parent, what it adds to totals
        self._posts: dict[str, set[int]] = {}
        self._replies: dict[str, set[int]] = {}
        self._live: dict[str, Contribution] = {}
        self._totals: LazyOrder | None = None

    def mark_all(self) -> None:
        """Mark all rows as replaced. The next read recomputes everything."""
        self._is_stale = True
        self._known, self._posts, self._replies, self._live = {}, {}, {}, {}
        self._read_mode.memory.remove(self)
        self._drop_totals()
        self._orders.clear()

    @property
    def memory_size(self) -> int:
        """The approximate memory of comments and totals, in bytes."""
        return len(self._known) * BYTES_PER_COMMENT + len(self._live) * BYTES_PER_TAG

    def drop(self) -> None:
        """Implement `QueryData.drop`."""
        self.mark_all()

    def entries(self, sort: TagSort, tag: str, group: Group) -> SortedIds:
        """Return the sorted entries of a tag and group (`LazyOrder.refreshed`). An entry is (value, number, item)."""
        self._refresh()
        if tag not in self._posts and tag not in self._replies:
            # Otherwise a client could evict all lists with requests for unused tags.
            return NOTHING_LISTED.refreshed()
        return self._orders.refreshed((tag, group), sort.name, lambda: (self._entry_of(sort, tag, group), self._items(tag, group)))

    def entry(self, sort: TagSort, tag: str, group: Group, comment: int) -> Entry | None:
        """Return the first entry of a comment that has this tag, or None if the comment isn't in the group."""
        place = self._tagged.by_comment.find(comment).tags.index(tag)
        return self._entry_of(sort, tag, group)(comment * PLACES_MAX + place)

    def totals(self, rest: TagRest) -> TagStats:
        """Return the totals of a tag."""
        self._refresh()
        return self._stats(rest)

    def all_totals(self) -> Iterator[TagStats]:
        """Yield the totals of all tags."""
        self._refresh()
        return map(self._stats, self._rests)

    def trending(self, start: str) -> Iterator[TagStats]:
        """Yield the totals of tags by trending score, from `start` or the next name after it, or from the first tag if it is ""."""
        self._refresh()
        order = self._refreshed_totals()
        first = next(self._rests.by_name.starting(start), None) if start else None
        if start and first is None:
            return iter(())
        return (self._stats(self._rests.find(entry[-1])) for entry in order.irange(None if first is None else self._totals_entry(first.id)))

    # -------------------------------------------------------------- entries

    def _entry_of(self, sort: TagSort, tag: str, group: Group) -> Computed:
        by_comment, value = self._tagged.by_comment, sort.value

        def entry_of(item: int) -> Entry | None:
            comment, place = divmod(item, PLACES_MAX)
            row = by_comment.get(comment)
            if row is None or not is_in(group, row.parent) or place >= len(row.tags) or row.tags[place] != tag:
                return None
            number, promoted = row.numbered[place] if row.numbered else (row.first + place, 0)
            return value(row, promoted), number, item

        return entry_of

    def _items(self, tag: str, group: Group) -> Iterator[int]:
        """Yield the items that a list can contain."""
        if isinstance(group, int) and group:
            return (item for row in self._tagged.by_parent.equal(group) for item in items_of(row.comment, row.tags, tag))
        posts = () if group == REPLIES else self._posts.get(tag, ())
        return chain(posts, self._replies.get(tag, ()) if group in (ALL, REPLIES) else ())

    # -------------------------------------------------------------- processing changes

    def _refresh(self) -> None:
        """Apply all marked changes."""
        changed = self._changed
        self._read_mode.memory.used(self, self._read_mode.is_incremental)
        if self._is_stale or changed.count_unread() > 2 * len(self._tagged) + COMMENTS_CHUNK:
            # Only comments with tags need reading. Most comments are paid, and have none any more.
            self.mark_all()
            self._is_stale = False
            changed.restart(self._tagged_comments(), len(self._tagged))
        if changed:
            self._read_mode.raise_if_large(len(changed), self._refresh_chunk)
            while self._refresh_chunk():
                pass

    def _refresh_chunk(self) -> bool:
        """Process at most COMMENTS_CHUNK changed comments. Return whether any are left."""
        self._changed.process(COMMENTS_CHUNK, self._take_over)
        self._read_mode.memory.resized(self)
        return bool(self._changed)

    def _tagged_comments(self) -> Iterator[list[int]]:
        begin = 0
        while begin < self._tagged.next_id:
            yield [row.comment for row in self._tagged.rows_between(begin, begin + SOURCE_ROWS)]
            begin += SOURCE_ROWS

    def _take_over(self, comment: int) -> None:
        """Update the tags of a comment, their totals, and the lists of its old and new tags."""
        row = self._tagged.by_comment.get(comment)
        known = self._known.pop(comment, None)
        if known is not None:
            tags, parent, counted = known
            for tag in tags:
                self._live[tag] = less(self._live[tag], counted)
            if row is None or row.tags != tags:
                self._remove(comment, tags, parent)
            self._mark(comment, tags, parent)
        if row is not None:
            # Use the id object of the row. The other one can be a copy, which would stay in memory.
            comment, tags, parent, counted = row.comment, row.tags, row.parent, contribution_of(row)
            self._known[comment] = tags, parent, counted
            members = self._replies if parent else self._posts
            for item, tag in enumerate(tags, comment * PLACES_MAX):
                self._live[tag] = added(self._live.get(tag, NOTHING), counted)
                try:
                    members[tag].add(item)
                except KeyError:
                    members[tag] = {item}
            if known is None or known[0] != tags:
                self._mark(comment, tags, parent)

    def _remove(self, comment: int, tags: tuple[str, ...], parent: int) -> None:
        members = self._replies if parent else self._posts
        for item, tag in enumerate(tags, comment * PLACES_MAX):
            members[tag].remove(item)
            if not members[tag]:
                del members[tag]

    def _mark(self, comment: int, tags: tuple[str, ...], parent: int) -> None:
        """Mark a comment in the lists of these tags, and the totals of the tags."""
        for item, tag in enumerate(tags, comment * PLACES_MAX):
            if self._totals is not None and (rest := self._rests.by_tag.get(tag)) is not None:
                self._totals.dirty.add(rest.id)
            if self._orders:
                for group in (ALL, REPLIES if parent else POSTS, parent):
                    self._orders.mark((tag, group), item)

    # -------------------------------------------------------------- totals

    def _refreshed_totals(self) -> SortedIds:
        """Return the up-to-date order of tags by trending score, with entries (negated score, tag, id of the row in `TagRests`)."""
        used = self._used
        if self._totals is None:
            self._totals = LazyOrder(self._totals_entry, read_mode=self._read_mode, drop_all=self._drop_totals)
            used.restart(map(range, range(0, self._rests.next_id, SOURCE_ROWS), count(SOURCE_ROWS, SOURCE_ROWS)), len(self._rests))
        if used:
            self._read_mode.raise_if_large(len(used), self._refresh_totals)
            while self._refresh_totals():
                pass
        return self._totals.refreshed()

    def _drop_totals(self) -> None:
        if self._totals is not None:
            self._read_mode.memory.remove(self._totals)
            self._totals = None

    def _refresh_totals(self) -> bool:
        if self._totals is None:
            return False  # dropped meanwhile
        self._used.process(COMMENTS_CHUNK, self._totals.dirty.add)
        return bool(self._used)

    def _totals_entry(self, rest_id: int) -> Entry | None:
        rest = self._rests.get(rest_id)
        if rest is None:
            return None
        return -(rest.beyond[-1] + self._live.get(rest.tag, NOTHING)[-1]), rest.tag, rest_id

    def _stats(self, rest: TagRest) -> TagStats:
        votes, posts, replies, whole = added(rest.beyond, self._live.get(rest.tag, NOTHING))
        return TagStats(
            tag=rest.tag, total_payout=rest.total_payout, net_votes=votes, top_posts=posts, comments=replies, total_trending=whole
        )


def is_in(group: Group, parent: int) -> bool:
    """Whether a comment with this parent belongs to a group."""
    if group == ALL:
        return True
    return (parent != 0) == (group == REPLIES) if isinstance(group, str) else parent == group


def items_of(comment: int, tags: tuple[str, ...], tag: str) -> list[int]:
    """Return the items of a comment under a tag."""
    return [comment * PLACES_MAX + place for place, one in enumerate(tags) if one == tag]
