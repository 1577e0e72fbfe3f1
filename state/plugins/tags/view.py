"""Materialized view for reads of the plugin `tags`: the entries of all tags in all orders, and the totals per tag.

The view is derived from the plugin's tables and updated when it is read, so a chain that only replays pays nothing for it. It has no undo
records: undoing a change marks the comment or tag as changed again. Source: block-processing.md §7.6; rpc-api.md §6.5.
"""

from typing import Any

from state.plugins.tags.rows import (
    NOTHING,
    Contribution,
    Place,
    Tagged,
    TaggedComments,
    TagRests,
    added,
    contribution_of,
    hot,
    less,
    trending,
)
from state.store import DirtyMarks, Journal, Ordered, Row, Table, Unique
from state.store.lazy.incremental import ReadMode, process_some

COMMENTS_CHUNK = 100  # fewer than CHUNK_ROWS, since a comment has an entry per tag, and an entry is in nine orders


class TagEntry(Row):
    """Entry of a comment under one of its tags. `promoted` is in SBD."""

    number: int = 0
    tag: str = ""
    comment: int = 0
    parent: int = 0
    is_reply: bool = False
    created: int = 0
    active: int = 0
    cashout: int = 0
    children: int = 0
    net_rshares: int = 0
    net_votes: int = 0
    promoted: int = 0
    hot: float = 0.0
    trending: float = 0.0


class TagEntries(Table[TagEntry]):
    """All entries. Entry numbers break ties, as the row ids do in the reference."""

    by_trending = Ordered("tag", "parent", "-trending", "number", lazy=True)
    by_hot = Ordered("tag", "parent", "-hot", "number", lazy=True)
    by_created = Ordered("tag", "parent", "-created", "number", lazy=True)
    by_active = Ordered("tag", "parent", "-active", "number", lazy=True)
    by_votes = Ordered("tag", "parent", "-net_votes", "number", lazy=True)
    by_children = Ordered("tag", "parent", "-children", "number", lazy=True)
    by_promoted = Ordered("tag", "parent", "-promoted", "number", lazy=True)
    by_cashout = Ordered("tag", "cashout", "number", lazy=True)
    by_payout = Ordered("tag", "is_reply", "-net_rshares", "number", lazy=True)


class TagStats(Row):
    """Totals of a tag: payouts in SBD, net votes, root posts, replies, and trending scores without their fractions."""

    tag: str = ""
    total_payout: int = 0
    net_votes: int = 0
    top_posts: int = 0
    comments: int = 0
    total_trending: int = 0


class TagStatsTable(Table[TagStats]):
    """All tags that are or were used."""

    by_tag = Unique("tag")
    by_name = Ordered("tag", lazy=True)
    by_trending = Ordered("-total_trending", "tag", lazy=True)


class TagView:
    """Entries and totals of all tags. The tables require a journal, which is emptied after each update because nothing is undone."""

    def __init__(self, tagged: TaggedComments, rests: TagRests, notes: DirtyMarks, read_mode: ReadMode) -> None:
        self._tagged, self._rests, self._notes = tagged, rests, notes
        self._is_stale = False
        self._journal = Journal(read_mode)
        self._entries = TagEntries(self._journal)
        self._stats = TagStatsTable(self._journal)
        self._by_comment: dict[int, tuple[TagEntry, ...]] = {}
        self._live: dict[str, Contribution] = {}
        self._counted: dict[int, Contribution] = {}

    @property
    def entries(self) -> TagEntries:
        """Bring the view up to date, and return its table of entries."""
        self._refresh()
        return self._entries

    @property
    def stats(self) -> TagStatsTable:
        """Bring the view up to date, and return its table of totals per tag."""
        self._refresh()
        return self._stats

    def entry(self, tag: str, comment: int) -> TagEntry | None:
        """Return a comment's entry under a tag, or None."""
        self._refresh()
        return next((entry for entry in self._by_comment.get(comment, ()) if entry.tag == tag), None)

    def mark_all(self) -> None:
        """Mark all rows as replaced. The next read recomputes everything."""
        self._is_stale = True

    def _mark_all(self) -> None:
        """Mark all comments and tags as changed, including those that no longer exist."""
        self._is_stale = False
        self._notes.rows.add_all(self._by_comment)
        self._notes.names.update(self._live, [stats.tag for stats in self._stats], [row.tag for row in self._rests])

    def _refresh(self) -> None:
        """Apply all marked changes to entries and totals."""
        notes = self._notes
        if self._is_stale:
            self._mark_all()
        if not notes.rows and not notes.names:
            return
        self._journal.read_mode.raise_if_large(len(notes.rows) + len(notes.names), lambda: self._refresh_chunk(COMMENTS_CHUNK))
        while self._refresh_chunk(COMMENTS_CHUNK):
            pass

    def _refresh_chunk(self, most: int) -> bool:
        """Update the entries of at most `most` changed comments. If no comment is left, compute the totals of at most `most` changed tags.

        Return whether any comments or tags are left.
        """
        comments, tags = self._notes.rows, self._notes.names
        if comments:
            comments.process(most, self._take_over)
        else:
            process_some(tags, most, self._sum_up)
        self._journal.commit(self._journal.position())
        return bool(comments or tags)

    def _take_over(self, comment: int) -> None:
        """Update the entries of a comment from its row, and mark its old and new tags, whose totals must be computed again."""
        row = self._tagged.by_comment.get(comment)
        old = self._by_comment.pop(comment, ())
        counted = self._counted.pop(comment, NOTHING)
        for entry in old:
            self._live[entry.tag] = less(self._live[entry.tag], counted)
            self._notes.names.add(entry.tag)
        if row is not None:
            # Entries are matched by number and modified in place, so that only indices with changed values move them.
            # Use the id object of the row. The other one can be a copy, which would stay in memory.
            comment = row.comment
            self._by_comment[comment] = self._shown(row, {entry.number: entry for entry in old})
            self._counted[comment] = counted = contribution_of(row)
            for tag in row.tags:
                self._live[tag] = added(self._live.get(tag, NOTHING), counted)
                self._notes.names.add(tag)
        kept = self._by_comment.get(comment, ())
        for entry in old:
            if not any(entry is other for other in kept):
                self._entries.remove(entry)

    def _shown(self, row: Tagged, old: dict[int, TagEntry]) -> tuple[TagEntry, ...]:
        """Return the entries that a row describes. Existing entries (`old`) with the same numbers are modified and reused."""
        values: dict[str, Any] = {
            "comment": row.comment,
            "parent": row.parent,
            "is_reply": row.parent != 0,
            "created": row.created,
            "active": row.active,
            "cashout": row.cashout,
            "children": row.children,
            "net_rshares": row.net_rshares,
            "net_votes": row.net_votes,
            "hot": hot(row.net_rshares, row.created),
            "trending": trending(row.net_rshares, row.created),
        }
        return tuple([self._entry(place, old.get(place[1]), values) for place in row.places])

    def _entry(self, place: Place, old: TagEntry | None, values: dict[str, Any]) -> TagEntry:
        tag, number, promoted = place
        if old is None:
            return self._entries.insert(TagEntry(tag=tag, number=number, promoted=promoted, **values))
        self._entries.modify(old, tag=tag, promoted=promoted, **values)
        return old

    def _sum_up(self, tag: str) -> None:
        """Compute the totals of a tag from its entries, its payouts and the last values of removed entries."""
        row, stats = self._rests.by_tag.get(tag), self._stats.by_tag.get(tag)
        if row is None:
            # The first use of the tag was undone.
            assert self._live.get(tag, NOTHING) == NOTHING, "entries of a tag that was never used"
            if stats is not None:
                self._stats.remove(stats)
            return
        if stats is None:
            stats = self._stats.insert(TagStats(tag=tag))
        votes, posts, replies, whole = added(row.beyond, self._live.get(tag, NOTHING))
        self._stats.modify(stats, total_payout=row.total_payout, net_votes=votes, top_posts=posts, comments=replies, total_trending=whole)
