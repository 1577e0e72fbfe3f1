"""`LazyOrder`: ids that are sorted by their entries when they are read, not when they change.

Some orders, such as posts by score, change with nearly every operation, but queries read them only a few times a minute. Keeping them
sorted would cost a search per change. Instead, a change adds an id to a set (about 0.1 µs), and the next read moves these ids only. It
first removes all of them from the order, since an entry is computed from the item as it is now (`SortedIds`), and then puts them in again.

Undo needs no extra code: it marks the id as changed, like any other write.
"""

from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress

from state.store.keys import Entry
from state.store.lazy.incremental import CHUNK_ROWS, ReadMode, process_some
from state.store.lazy.memory import QueryData
from state.store.lazy.sorted_ids import UNSORTED_IDS, Computed, ManyComputed, SortedIds

RELEASED_ROWS_MIN = 2000  # Minimum number of changes. Dropping an order for fewer would free little memory.
CHUNK_IDS = 4096  # ids that one step of an incremental read sorts, in some 10 ms
IDS_PER_UNIT = 10  # ids sorted per unit of work
# In `dirty`: represents all ids that have to be put into the order without being in `dirty`.
UNREAD = -1
# Before the first sort, the bounds of the buckets are chosen from every IDS_PER_SAMPLE-th id, but from at most SAMPLE_MAX.
IDS_PER_SAMPLE, SAMPLE_MAX = UNSORTED_IDS // 8, 8192


class LazyOrder(QueryData):
    """Ids in ascending order of entries.

        by_score = LazyOrder(lambda post: (-scores[post], post) if post in scores else None, scores)
        scores[7] = 100
        by_score.dirty.add(7)
        best = by_score.refreshed()[:20]

    `entry_of(id)` returns the current entry of an item, or None if the item is gone or excluded. An entry is a tuple that differs from the
    entries of all other items, and the id is its last part. `entries_of(ids)` returns the entries of several items. `ids` are the initial
    items.

    A writer adds the id of each changed item to `dirty`. An unnecessary id is harmless, but a missing id leaves the order wrong. The set
    stays the same object, so writers can keep a reference. The size of the set is bounded by the number of items; see `forget` for removed
    items.

    With `drop_all`, the order counts as query memory (`QueryMemory`), and this function is called to drop it.
    """

    __slots__ = (
        "_drop_all",
        "_entries_of",
        "_entry_of",
        "_has_bounds",
        "_new",
        "_order",
        "_read_mode",
        "_removed",
        "_sized",
        "dirty",
    )

    def __init__(
        self,
        entry_of: Computed,
        ids: Iterable[int] = (),
        read_mode: ReadMode | None = None,
        *,
        entries_of: ManyComputed | None = None,
        drop_all: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        self.dirty: set[int] = set()
        self._entry_of = entry_of
        self._entries_of = entries_of or self._entries_one_by_one
        self._read_mode = read_mode or ReadMode()
        self._drop_all = drop_all
        self._order = SortedIds(entry_of, self._entries_of, self._read_mode, self.dirty)
        # Ids to put into the order: new ones, and those that were removed because their items have changed.
        self._new = array("Q")
        self._removed: set[int] = set()
        self._has_bounds = False
        self._sized = 0  # the number of ids when the query memory last got the size
        self.restore(ids)

    @property
    def memory_size(self) -> int:
        """The approximate memory in bytes."""
        return self._order.size

    def drop(self) -> None:
        """Free the memory."""
        if self._drop_all is not None:
            self._drop_all()

    def refreshed(self) -> SortedIds:
        """Return the up-to-date order. After a change, call this again."""
        read_mode = self._read_mode
        if self._drop_all is not None:
            read_mode.memory.used(self, read_mode.is_incremental)
        if self.dirty:
            if read_mode.is_incremental and (count := self.count()) > CHUNK_ROWS:
                # The first sort costs the client nothing. If the order had to be dropped, the client that reads it again pays for the work.
                units, self.was_dropped = count // IDS_PER_UNIT if self.was_dropped else 0, False
                read_mode.raise_if_large(count, self.refresh_chunk, units)
            while self.refresh_chunk():
                pass
        return self._order

    def count(self) -> int:
        """Return the number of ids that the next read has to process."""
        return len(self.dirty) - (UNREAD in self.dirty) + len(self._removed) + len(self._new)

    def refresh_chunk(self) -> bool:
        """Apply one chunk of the changes. Return whether more changes remain. Until all are applied, the order can't be read."""
        dirty = self.dirty
        dirty.discard(UNREAD)
        try:
            changed = [dirty.pop() for _ in range(min(len(dirty), CHUNK_IDS))]
            if changed:
                self._order.remove(changed, len(changed))
                self._removed.update(changed)
            if not dirty and len(changed) < CHUNK_IDS:
                self._put_chunk()
        finally:
            if self._removed or self._has_new():
                dirty.add(UNREAD)
            if self._drop_all is not None and abs(len(self._order) - self._sized) > self._sized // 8:
                self._sized = len(self._order)
                self._read_mode.memory.resized(self)
        return bool(dirty)

    def forget(self, thing: int) -> None:
        """Record that an item is gone. An item that was added and removed between two reads is forgotten completely, so `dirty` stays
        bounded.
        """
        if self._order.has(thing):
            self.dirty.add(thing)
        else:
            self.dirty.discard(thing)

    def restore(self, ids: Iterable[int]) -> None:
        """Clear the order, and mark these ids as changed."""
        self.dirty.clear()
        self._order.clear()
        self._removed = set()
        self._new = array("Q", ids)
        self._has_bounds, self._sized = False, 0
        self._read_mode.memory.remove(self)
        if self._new:
            self.dirty.add(UNREAD)

    def release(self, least: int = RELEASED_ROWS_MIN) -> bool:
        """Drop the order and `dirty` if more than `least` items, and more than half of them, have changed. Return whether it was dropped.

        The caller must mark all items as changed before the next read.
        """
        if self.count() <= max(len(self._order) // 2, least):
            return False
        self.restore(())
        return True

    def check(self) -> None:
        """Verify the order, and that all changes were marked, without applying the changes; for tests."""
        self._order.check()

    def _has_new(self) -> bool:
        """Whether ids that were never in the order have to be put into it."""
        return bool(self._new)

    def _put_chunk(self) -> None:
        """Put one chunk of ids into the order: first new ones, then those that were removed."""
        removed, new = self._removed, self._new
        if new:
            self._choose_bounds(lambda step: new[::step], len(new))
            ids = new[-CHUNK_IDS:].tolist()
            del new[-CHUNK_IDS:]
            self._put([row_id for row_id in ids if row_id not in removed and not self._order.has(row_id)])
        elif removed:
            # Rows in arbitrary order take longer to read.
            self._put([removed.pop() for _ in range(min(len(removed), CHUNK_IDS // 2))])

    def _choose_bounds(self, sample: Callable[[int], Iterable[int]], count: int) -> None:
        """Before the first sort of `count` ids, choose the bounds of the buckets. `sample(n)` returns every n-th id."""
        if not self._has_bounds and count > 2 * UNSORTED_IDS and not self._order:
            with suppress(Exception):  # The bounds only save time.
                self._order.choose_bounds(sample(max(IDS_PER_SAMPLE, count // SAMPLE_MAX)), count)
        self._has_bounds = True

    def _put(self, ids: list[int]) -> None:
        """Put ids into the order. An item whose entry can't be computed or compared is omitted (`process_some`)."""
        try:
            entries = self._entries_of(ids)
        except Exception:
            self._put_one_by_one(ids)
        except BaseException:
            self._removed.update(ids)
            raise
        else:
            self._put_entries(entries)

    def _put_entries(self, entries: list[Entry]) -> None:
        """Put entries that aren't sorted into the order."""
        ids = [entry[-1] for entry in entries]
        try:
            entries.sort()
            self._order.put(entries)
        except Exception:
            self._put_one_by_one(ids)
        except BaseException:
            self._removed.update(ids)
            self._order.remove(ids, len(ids))
            raise

    def _put_one_by_one(self, ids: list[int]) -> None:
        self._order.remove(ids, len(ids))
        left = set(ids)
        try:
            process_some(left, len(left), self._put_one)
        finally:
            self._removed |= left

    def _put_one(self, thing: int) -> None:
        entry = self._entry_of(thing)
        if entry is not None:
            self._order.put([entry])

    def _entries_one_by_one(self, ids: Iterable[int]) -> list[Entry]:
        entry_of = self._entry_of
        return [entry for row_id in ids if (entry := entry_of(row_id)) is not None]
