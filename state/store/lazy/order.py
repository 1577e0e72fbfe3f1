"""`LazyOrder`: entries that are sorted when they are read, not when they change.

Some orders, such as posts by score, change with nearly every operation, but queries read them only a few times a minute. Keeping them
sorted would cost a search per change. Instead, a change adds an id to a set (about 0.1 µs), and the next read computes the entries of these
ids only.

A read has two ways to apply the changes. Moving a single entry takes two binary searches, which is best for few changes. Merging all
changed entries with the unchanged ones touches every entry once, which is best for many changes. `bench/store.py` measures both: they cost
the same when about one entry in eight has changed (REBUILD_SHARE). An incremental read (state/store/lazy/incremental.py) always moves
single entries, and can be interrupted after each.

Undo needs no extra code: it marks the id as changed, like any other write.
"""

from collections.abc import Callable, Iterable
from typing import Any

from sortedcontainers import SortedList

from state.store.keys import Entry
from state.store.lazy.incremental import CHUNK_ROWS, ReadMode, process_some

RELEASED_ROWS_MIN = 2000  # Minimum number of changes. Dropping an order for fewer would free little memory.
REBUILD_SHARE = 8  # The order is rebuilt when more than one entry in REBUILD_SHARE has changed (measured in bench/store.py).


class LazyOrder:
    """Ascending order of entries, at most one per id.

        by_score = LazyOrder(lambda post: (-scores[post], post) if post in scores else None, scores)
        scores[7] = 100
        by_score.dirty.add(7)
        best = by_score.refreshed()[:20]

    `entry_of(id)` returns the current entry of an item, or None if the item is gone or excluded. An entry is a tuple that differs from the
    entries of all other items; usually the id comes last. `ids` are the initial items.

    A writer adds the id of each changed item to `dirty`. An unnecessary id is harmless, but a missing id leaves the item at its old
    position. The set stays the same object, so writers can keep a reference. The size of the set is bounded by the number of items; see
    `forget` for removed items.
    """

    __slots__ = ("_entries", "_entry_of", "_order", "_read_mode", "dirty")

    def __init__(self, entry_of: Callable[[int], Entry | None], ids: Iterable[int] = (), read_mode: ReadMode | None = None) -> None:
        self.dirty = set(ids)
        self._entry_of = entry_of
        self._entries: dict[int, Entry] = {}  # The entries in `_order` by id, to find those that must move.
        self._order = SortedList()
        self._read_mode = read_mode or ReadMode()

    def refreshed(self) -> Any:
        """Return the up-to-date order as a read-only SortedList. After a change, call this again, because it can return another object."""
        if self.dirty:
            self._read_mode.raise_if_large(len(self.dirty), self.refresh_chunk)
            try:
                if not self._entries:
                    self._sort_first()
                elif len(self.dirty) * REBUILD_SHARE > len(self._entries):
                    self._rebuild()
            except Exception:
                pass  # `_update` finds the items whose entry can't be computed and skips only those.
            self._update(len(self.dirty))
        return self._order

    def refresh_chunk(self) -> bool:
        """Apply one chunk of the changes. Return whether more changes remain. Until all are applied, the order can't be read."""
        self._update(min(CHUNK_ROWS, len(self.dirty)))
        return bool(self.dirty)

    def forget(self, thing: int) -> None:
        """Record that an item is gone. An item that was added and removed between two reads is forgotten completely, so `dirty` stays
        bounded.
        """
        if thing in self._entries:
            self.dirty.add(thing)
        else:
            self.dirty.discard(thing)

    def restore(self, ids: Iterable[int]) -> Any:
        """Clear the order, and mark these ids as changed. Return the order, which remains empty until the next read."""
        self.dirty.clear()
        self.dirty.update(ids)
        self._entries = {}
        self._order = SortedList()
        return self._order

    def release(self, least: int = RELEASED_ROWS_MIN, more: int = 0) -> bool:
        """Drop the order and `dirty` if more than `least` items, and more than half of them, have changed. Return whether it was dropped.

        `more` is the number of changes that aren't in `dirty`. The caller must mark all items as changed before the next read.
        """
        if len(self.dirty) + more <= max(len(self._entries) // 2, least):
            return False
        self.restore(())
        return True

    def contains(self, thing: int) -> bool:
        """Whether the order has an entry for the item `thing`. The entry can be outdated."""
        return thing in self._entries

    def check(self) -> None:
        """Verify the order, and that all changes were marked, without applying the changes; for tests."""
        self._order._check()
        assert list(self._order) == sorted(self._entries.values()), "the order differs from its entries"
        for thing, entry in self._entries.items():
            assert thing in self.dirty or self._entry_of(thing) == entry, f"a change of {thing} was missed"

    def _update(self, count: int) -> None:
        """Apply `count` changes one by one. If the entry of an item can't be computed or compared, the item is omitted (`process_some`)."""
        process_some(self.dirty, count, self._update_one)

    def _update_one(self, thing: int) -> None:
        order, entries = self._order, self._entries
        old, new = entries.pop(thing, None), None
        try:
            new = self._entry_of(thing)
        finally:
            if old is not None and new == old:
                entries[thing] = old
            elif old is not None:
                # Remove the old entry first. After an undo another row can have the same id, and rows can't be compared.
                order.remove(old)
        if new is not None and new != old:
            order.add(new)
            entries[thing] = new

    def _sort_first(self) -> None:
        """Fill an empty order. If this raises an error, the order is still empty."""
        entry_of = self._entry_of
        entries = {thing: entry for thing in self.dirty if (entry := entry_of(thing)) is not None}
        self._order = SortedList(entries.values())
        self._entries = entries
        self.dirty.clear()

    def _rebuild(self) -> None:
        """Apply all changes without interruption. If this raises an error, nothing has changed.

        The unchanged entries are sorted already, so Python's sort only merges them with the new ones.
        """
        entries, entry_of = self._entries, self._entry_of
        moved: dict[int, Entry | None] = {}
        stale: set[int] = set()  # by identity: comparing entries would take longer than everything else here
        for thing in self.dirty:
            new, old = entry_of(thing), entries.get(thing)
            if new != old:
                moved[thing] = new
                if old is not None:
                    stale.add(id(old))
        kept = [entry for entry in self._order if id(entry) not in stale]
        self._order = SortedList(kept + sorted([entry for entry in moved.values() if entry is not None]))
        for thing, entry in moved.items():
            if entry is None:
                del entries[thing]
            else:
                entries[thing] = entry
        self.dirty.clear()
