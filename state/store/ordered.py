"""`Ordered`, an index that is read in the order of its key parts, always sorted or sorted lazily."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, NoReturn, TypeVar, overload

from state.store.entries import Entries
from state.store.keys import TOP, ComputedKey, Entry, Where, bound_function, entry_function, fields_of
from state.store.lazy.incremental import CHUNK_ROWS, ReadMode
from state.store.lazy.order import RELEASED_ROWS_MIN, LazyOrder
from state.store.rows import Restore, Row, RowSource
from state.store.unique import UniqueIndex, index_of

RowT = TypeVar("RowT", bound=Row)
UNREAD = -1  # In `dirty` of a lazy index: represents all rows inserted since the last read, whose ids are at least `unread`.
SPARSE_SHARE = 8  # If fewer than one id in SPARSE_SHARE has a row, the index iterates over the rows instead of the ids.


class Ordered:
    """Declaration of an `OrderedIndex`.

    A part is a field name (ascending), `"-field"` (descending, integers only) or a `ComputedKey`. Rows with equal parts are ordered by id.
    With `unique`, rows with equal parts are refused. All parts must then be fields, and the index also finds rows by these fields, like
    `Unique`. `where=(function, "field", ...)` excludes the rows for which the function of these fields is false. `lazy` is for an index
    that is written far more often than read: changed rows are sorted in at the next read. The keys of a lazy unique index are always up to
    date.
    """

    def __init__(self, *parts: str | ComputedKey, where: Where | None = None, unique: bool = False, lazy: bool = False) -> None:
        if not parts:
            raise TypeError("Ordered needs a part")
        if unique and (where or any(isinstance(part, ComputedKey) for part in parts)):
            raise TypeError("a unique index can't have a where clause or computed parts")
        self.parts = parts
        self.where = where
        self.unique = unique
        self.lazy = lazy
        read = [field for part in parts for field in fields_of(part)]
        self.fields: tuple[str, ...] = tuple(dict.fromkeys([*read, *(where[1:] if where else ())]))
        self.entry = entry_function(parts, where)
        self.bound = bound_function(parts)

    @overload
    def __get__(self, table: None, owner: type) -> "Ordered": ...
    @overload
    def __get__(self, table: RowSource[RowT], owner: type) -> "OrderedIndex[RowT]": ...
    def __get__(self, table: object, owner: type) -> object:
        """Return the declaration when the attribute is read from the class (see `Unique.__get__`)."""
        return self if table is None else index_of(table, self)


class OrderedIndex(Generic[RowT]):
    """Rows in the order of the declared parts.

    A prefix consists of the values of the first declared parts. A value is not negated for a descending field, and is the function's result
    for a computed part. After all parts the prefix can contain the id. "Below" and "beyond" mean earlier and later in the order of the
    index.

    If the index changes during an iteration, the next step raises RuntimeError, even after the last row. To change rows while iterating,
    copy them to a list first, or call `first` repeatedly.

    In a unique index, `get(*key)` returns the row or None, and `find(*key)` returns the row or raises `UnknownKey`. The table treats its
    `keys` as a separate index.
    """

    def __init__(self, declared: Ordered, rows: dict[int, RowT], read_mode: ReadMode, next_id: Callable[[], int]) -> None:
        self.entry = declared.entry
        self.lazy = declared.lazy
        self.keys: UniqueIndex[RowT] | None = UniqueIndex(declared.fields) if declared.unique else None
        self.get, self.find = (self.keys.get, self.keys.find) if self.keys else (no_key, no_key)
        self._lazily = LazyOrder(self._entry_at, read_mode=read_mode) if declared.lazy else None
        # Only in lazy indices: the ids that are not yet sorted in. UNREAD represents the rows inserted since the last read, whose ids are
        # at least `unread`. These are often most of the table, and a set takes up to 64 bytes per id.
        self.dirty: set[int] = self._lazily.dirty if self._lazily else set()
        self.unread = 0
        # The list inside the lazy order, which incremental reads fill in place.
        self._order = self._lazily.refreshed() if self._lazily else Entries()
        self._rows = rows
        self._read_mode, self._next_id = read_mode, next_id
        self._bound = declared.bound
        self._version = 0

    def __len__(self) -> int:
        return len(self._refreshed())

    def __iter__(self) -> Iterator[RowT]:
        """Yield all rows in order."""
        return self._walk(iter(self._refreshed()))

    def __reversed__(self) -> Iterator[RowT]:
        """Yield all rows, last first."""
        return self._walk(reversed(self._refreshed()))

    def first(self) -> RowT | None:
        """Return the first row, or None if the index is empty."""
        if self.dirty:
            self._refresh()
        # Faster than `[0]`, which sortedcontainers implements in Python: every block reads the first row of a dozen indices.
        lists = self._order._lists
        row: RowT | None = lists[0][0][-1] if lists else None
        return row

    def last(self) -> RowT | None:
        """Return the last row, or None if the index is empty."""
        if self.dirty:
            self._refresh()
        lists = self._order._lists
        return lists[-1][-1][-1] if lists else None

    def starting(self, *prefix: Any) -> Iterator[RowT]:
        """Yield the rows from the first one not below the prefix (lower bound)."""
        return self._walk(self._refreshed().irange(self._bound(prefix)))

    def after(self, *prefix: Any) -> Iterator[RowT]:
        """Yield the rows after all rows whose key starts with the prefix (upper bound)."""
        return self._walk(self._refreshed().irange((*self._bound(prefix), TOP)))

    def equal(self, *prefix: Any) -> Iterator[RowT]:
        """Yield the rows whose key starts with the prefix."""
        bound = self._bound(prefix)
        return self._walk(self._refreshed().irange(bound, (*bound, TOP)))

    def before(self, *prefix: Any) -> Iterator[RowT]:
        """Yield the rows below the prefix, last first."""
        return self._walk(self._refreshed().irange(None, self._bound(prefix), inclusive=(True, False), reverse=True))

    def position(self, *prefix: Any) -> int:
        """Return the number of rows below the prefix."""
        return int(self._refreshed().bisect_left(self._bound(prefix)))

    def insert(self, row: RowT) -> None:
        """Insert a row, unless `where` excludes it. Only the table calls this."""
        entry = self.entry(row)
        if entry is not None:
            self._version += 1
            self._order.add(entry)

    def remove(self, row: RowT) -> None:
        """Remove a row. Only the table calls this."""
        entry = self.entry(row)
        if entry is not None:
            self._version += 1
            self._order.remove(entry)

    def update(self, old: Entry | None, new: Entry | None, row: RowT) -> None:
        """Replace the entry of a row. None means that the row is not in the index. Only the table calls this.

        The new entry is added first: if it can't be compared with the others, nothing has changed yet.
        """
        self._version += 1
        if new is not None:
            self._order.add(new)
        if old is not None:
            self._order.remove(old)

    def forget(self, row_id: int) -> None:
        """Record in a lazy index that a row is gone. Only the table calls this."""
        assert self._lazily is not None, "only a lazy index tracks changes"
        self._lazily.forget(row_id)

    def restore(self, rows: dict[int, RowT], ids: list[int] | None = None) -> None:
        """Replace all rows; a lazy index sorts them at the next read. Only the table calls this.

        `ids` can list the rows in the order of the index, which saves most comparisons. The result is correct even if that order is wrong.
        """
        self._version += 1
        if self._lazily is not None:
            self._order = self._lazily.restore((UNREAD,))
            self.unread = 0
        else:
            ordered = map(rows.__getitem__, ids) if ids and len(ids) == len(rows) and rows.keys() == set(ids) else rows.values()
            self._order = Entries([entry for entry in map(self.entry, ordered) if entry is not None])

    def release(self, least: int = RELEASED_ROWS_MIN) -> None:
        """Free the memory of a lazy index that has more than `least` unread changes. The next read sorts all rows. Only the table calls
        this.
        """
        if self._lazily is not None and self._lazily.release(least, self._next_id() - self.unread):
            self._version += 1
            self._order = self._lazily.restore((UNREAD,))
            self.unread = 0

    def copy(self) -> Restore:
        """Copy the order, and return a function that restores the copy. Only the table calls this, and only for eager indices."""
        entries, version = list(self._order), self._version

        def put_back() -> None:
            nonlocal version
            # Versions only increase, so an equal version means that no entry has moved since.
            if self._version != version:
                self._order = Entries(entries)
                self._version = version = self._version + 1

        return put_back

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify the order, the rows, `where`, uniqueness, and a lazy index's unapplied changes, without applying them; for tests."""
        if self._lazily is not None:
            self._lazily.check()
            assert not rows or max(rows) < self.unread or UNREAD in self.dirty, "inserted rows are not marked as unread"
            missing = [row_id for row_id in rows if row_id < self.unread and row_id not in self.dirty and not self._lazily.contains(row_id)]
            assert all(self.entry(rows[row_id]) is None for row_id in missing), "a row was missed"
            known = {UNREAD, *rows}
            assert all(row_id in known or self._lazily.contains(row_id) for row_id in self.dirty), "changed rows that never existed"
            return
        self._order._check()
        expected = [entry for row in rows.values() if (entry := self.entry(row)) is not None]
        assert list(self._order) == sorted(expected), "rows are missing, extra, or out of order"
        assert not self.dirty, "only a lazy index tracks changes"

    def _refreshed(self) -> Any:
        """Return the order with all changes applied."""
        if self.dirty:
            self._refresh()
        return self._order

    def _walk(self, entries: Iterator[Entry]) -> Iterator[RowT]:
        return self._steps(entries, self._version)

    def _steps(self, entries: Iterator[Entry], version: int) -> Iterator[RowT]:
        """Yield the rows of entries. Raises RuntimeError if the index has changed since the call, because `entries` reads the index's live
        lists.
        """
        self._require_unchanged(version)
        for entry in entries:
            yield entry[-1]
            if self._version != version or self.dirty:
                self._require_unchanged(version)

    def _require_unchanged(self, version: int) -> None:
        if self._version != version or self.dirty:
            raise RuntimeError("the index changed during an iteration")

    def _refresh(self) -> None:
        """Apply the changes of a lazy index. Ends all iterations in progress."""
        assert self._lazily is not None, "only a lazy index tracks changes"
        self._version += 1
        if UNREAD in self.dirty:
            self._read_mode.raise_if_large(self._next_id() - self.unread, self._lazily.refresh_chunk)
            while UNREAD in self.dirty:
                self._mark_unread()
        self._order = self._lazily.refreshed()

    def _mark_unread(self) -> None:
        """Mark one chunk of the rows inserted since the last read as changed. UNREAD remains until the last chunk is marked."""
        begin, end, rows = self.unread, self._next_id(), self._rows
        self.dirty.discard(UNREAD)
        if end - begin > SPARSE_SHARE * len(rows):
            self.dirty.update([row_id for row_id in rows if row_id >= begin])
            self.unread = end
            return
        self.unread = min(end, begin + CHUNK_ROWS)
        # Use the id objects of the rows. The range would create new objects, which the order would retain.
        self.dirty.update([row.id for row_id in range(begin, self.unread) if (row := rows.get(row_id)) is not None])
        if self.unread < end:
            self.dirty.add(UNREAD)

    def _entry_at(self, row_id: int) -> Entry | None:
        """Return the entry of the row with this id, or None if it doesn't exist or is excluded.

        An incremental read can also pass UNREAD, which represents the rows inserted since the last read. In this case, mark the next chunk
        of these rows as changed, and return None.
        """
        row = self._rows.get(row_id)
        if row is not None:
            return self.entry(row)
        if row_id == UNREAD:
            self._mark_unread()
        return None


def no_key(*key: Any) -> NoReturn:
    """Takes the place of `get` and `find` in an index that isn't unique, and always raises an error."""
    raise AssertionError("only a unique index has keys")
