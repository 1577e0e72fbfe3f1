"""`LazyIndex`, the index of an `Ordered(..., lazy=True)`: rows that are sorted when they are read."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from state.store.keys import TOP, Entry, entries_function, entry_function
from state.store.lazy.incremental import ReadMode
from state.store.lazy.order import CHUNK_IDS, RELEASED_ROWS_MIN, UNREAD, LazyOrder
from state.store.lazy.sorted_ids import Computed, SortedIds
from state.store.ordered import Ordered, OrderedIndex
from state.store.rows import SPARSE_SHARE, Row
from state.store.unique import UniqueIndex

RowT = TypeVar("RowT", bound=Row)
RowT_co = TypeVar("RowT_co", bound=Row, covariant=True)
UNSORTED_CHANGES_MAX = 32  # changes up to which `class_of` compares with the order before them


class RowTable(Protocol[RowT_co]):
    """The part of a table that its lazy indices use."""

    next_id: int

    @property
    def get(self) -> Callable[[int], RowT_co | None]:
        """The function that returns the row with an id, or None."""

    def __len__(self) -> int: ...
    def peek(self, row_id: int, /) -> RowT_co | None:
        """Return the row with an id for reading at once, or None."""

    def rows_between(self, begin: int, end: int, /) -> Iterator[RowT_co]:
        """Yield the rows with ids from `begin` to below `end`, in ascending order, for reading at once."""


class RowOrder(LazyOrder):
    """The order of a table's rows. Rows that no read has seen, whose ids are at least `unread`, are not in `dirty`, which contains UNREAD
    instead. They are often most of the table, and a set takes up to 64 bytes per id.
    """

    __slots__ = ("_declared", "_function", "_table", "unread")

    def __init__(self, declared: Ordered, table: RowTable[Any], read_mode: ReadMode, drop_all: Callable[[], object]) -> None:
        self._table, self._declared = table, declared
        self._function: Callable[[Iterable[Any]], list[Entry]] | None = None
        entry_of = entry_by_id(table.peek, entry_function(declared.parts, declared.where, with_row=False))
        super().__init__(entry_of, (), read_mode, entries_of=self._entries_of_rows, drop_all=drop_all)
        self.unread = 0

    def count(self) -> int:
        """Return the number of ids that the next read has to process."""
        return super().count() + self._table.next_id - self.unread

    def restore_unread(self) -> None:
        """Clear the order, and mark all rows as unread."""
        self.restore(())
        self.unread = 0
        self.dirty.add(UNREAD)

    def check(self) -> None:
        """Verify the order and the changes that are not applied yet, without applying them; for tests."""
        super().check()
        rows = {row.id for row in self._table.rows_between(0, self._table.next_id)}
        assert not rows or max(rows) < self.unread or UNREAD in self.dirty, "inserted rows are not marked as unread"
        pending = {*self.dirty, *self._removed, *self._new}
        missing = [n for n in rows if n < self.unread and n not in pending and not self._order.has(n)]
        assert all(self._entry_of(row_id) is None for row_id in missing), "a row was missed"
        assert all(row_id in rows or row_id == UNREAD or self._order.has(row_id) for row_id in self.dirty), (
            "changed rows that never existed"
        )

    def _has_new(self) -> bool:
        return super()._has_new() or self.unread < self._table.next_id

    def _put_chunk(self) -> None:
        if self._removed or self._new:
            super()._put_chunk()
            return
        table, begin, end = self._table, self.unread, self._table.next_id
        if end - begin > SPARSE_SHARE * len(table):
            self.unread = end
            self._new.extend([row.id for row in table.rows_between(begin, end)])
            return
        self._choose_bounds(lambda step: range(begin, end, step), end - begin)
        self.unread = end = min(end, begin + CHUNK_IDS)
        try:
            entries = self._entries(table.rows_between(begin, end))
        except Exception:
            self._put(list(range(begin, end)))
        else:
            self._put_entries(entries)

    def _put(self, ids: list[int]) -> None:
        super()._put([row_id for row_id in ids if row_id < self.unread])

    def _entries(self, rows: Iterable[Any]) -> list[Entry]:
        # Compiled at the first read, since compiling the functions of all indices would add 2 ms to a node's start.
        if self._function is None:
            self._function = entries_function(self._declared.parts, self._declared.where)
        return self._function(rows)

    def _entries_of_rows(self, ids: Iterable[int]) -> list[Entry]:
        return self._entries(filter(None, map(self._table.peek, ids)))


class LazyIndex(OrderedIndex[RowT]):
    """An `OrderedIndex` that sorts changed rows at the next read. `dirty` contains their ids, and UNREAD (see `RowOrder`)."""

    def __init__(self, declared: Ordered, keys: UniqueIndex[RowT] | None, table: RowTable[RowT], read_mode: ReadMode) -> None:
        super().__init__(declared, keys)
        self._table = table
        self._lazily = RowOrder(declared, table, read_mode, self._drop)
        self.dirty = self._lazily.dirty
        # For `class_of`: the version of the order, the limits, and two entries for each limit. Keys up to the first entry are within the
        # limit, and keys beyond the second one aren't, even if UNSORTED_CHANGES_MAX rows have changed since that version.
        self._margins: tuple[int, tuple[int, ...], list[tuple[Entry, Entry]]] = (-1, (), [])

    def __len__(self) -> int:
        return len(self._refreshed())

    def first(self) -> RowT | None:
        """Return the first row, or None if the index is empty."""
        row_id = self._refreshed().first()
        return None if row_id is None else self._table.get(row_id)

    def last(self) -> RowT | None:
        """Return the last row, or None if the index is empty."""
        row_id = self._refreshed().last()
        return None if row_id is None else self._table.get(row_id)

    def position(self, *prefix: Any) -> int:
        """Return the number of rows below the prefix."""
        return self._refreshed().bisect_left(self._bound(prefix))

    def class_of(self, limits: tuple[int, ...], *prefix: Any) -> int:
        """Return how many of the ascending `limits` are at most the number of rows below the prefix.

        This mostly needs no sorting, unlike `position`: a few changed rows can't move a key that is far enough from the rows at the limits.
        """
        key, changes = self._bound(prefix), self._lazily.count() if self.dirty else 0
        if self._margins[:2] == (self._version, limits) and changes <= UNSORTED_CHANGES_MAX:
            for number, (low, high) in enumerate(self._margins[2]):
                if not low < key:
                    return number
                if not high < key:
                    break
            else:
                return len(limits)
        order = self._refreshed()
        if self._margins[:2] != (self._version, limits):
            self._margins = self._version, limits, [margin_of(order, limit - 1) for limit in limits]
        return bisect_right(limits, order.bisect_left(key))

    def forget(self, row_id: int) -> None:
        """Record that a row is gone. Only the table calls this."""
        self._lazily.forget(row_id)

    def reuse(self, row_id: int) -> None:
        """Mark the highest id as unread, because the next new row gets it. Only the table calls this."""
        self._lazily.unread = min(self._lazily.unread, row_id)

    def restore(self, rows: object, ids: object = None) -> None:
        """Mark all rows as unread, after they were replaced. Only the table calls this."""
        self._drop()

    def release(self, least: int = RELEASED_ROWS_MIN) -> None:
        """Free the memory if there are more than `least` unread changes. The next read sorts all rows. Only the table calls this."""
        if self._lazily.release(least):
            self._drop()

    def check(self, rows: object) -> None:
        """Verify the order and the changes that are not applied yet, without applying them; for tests."""
        self._lazily.check()

    def _drop(self) -> None:
        self._version += 1
        self._lazily.restore_unread()

    def _refreshed(self) -> SortedIds:
        """Return the order with all changes applied. Applying changes ends all iterations in progress."""
        if self.dirty:
            self._version += 1
        return self._lazily.refreshed()

    def _between(
        self, low: Entry | None = None, high: Entry | None = None, inclusive: tuple[bool, bool] = (True, True), *, reverse: bool = False
    ) -> Iterator[RowT]:
        return self._rows_of(self._refreshed().ids(low, high, inclusive, reverse), self._version)

    def _rows_of(self, ids: Iterator[int], version: int) -> Iterator[RowT]:
        self._require_unchanged(version)
        get, dirty = self._table.get, self.dirty
        for row_id in ids:
            row = get(row_id)
            assert row is not None, "a row that is gone is still in the order"
            yield row
            if dirty or self._version != version:
                self._require_unchanged(version)

    def _require_unchanged(self, version: int) -> None:
        if self.dirty or self._version != version:
            raise RuntimeError("the index changed during an iteration")


def entry_by_id(peek: Callable[[int], Any], entry: Callable[[Any], Entry | None]) -> Computed:
    """Return the function from the id of a row to its entry, or to None if there is no such row or the index excludes it."""

    def entry_of(row_id: int) -> Entry | None:
        row = peek(row_id)
        return None if row is None else entry(row)

    return entry_of


def margin_of(order: SortedIds, place: int) -> tuple[Entry, Entry]:
    """Return the entries UNSORTED_CHANGES_MAX before and after a position, or values that are below or above all entries."""
    low, high, count = place - UNSORTED_CHANGES_MAX, place + UNSORTED_CHANGES_MAX, len(order)
    return () if low < 0 else order[low] if low < count else (TOP,), order[high] if high < count else (TOP,)
