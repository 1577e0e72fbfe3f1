"""`Ordered`, an index that is read in the order of its parts. It knows no chain rule; nothing outside sees how it sorts."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, NoReturn, TypeVar, overload

from state.store.entries import Entries
from state.store.keys import TOP, Entry, Part, Where, bound_function, entry_function, fields_of
from state.store.lazy import LET_GO_MIN, LazyOrder
from state.store.rows import PutBack, Row, Rows
from state.store.slices import SLICE, Reads
from state.store.unique import UniqueIndex, index_of

RowT = TypeVar("RowT", bound=Row)
UNREAD = -1  # Noted in a lazy index that rows have come into, in place of their ids: there are more rows than `unread` says.
SPARSE_SHARE = 8  # With fewer rows than one for so many ids the rows are walked, not the ids.


class Ordered:
    """Declares an order in which rows can be read: see `OrderedIndex`.

    A part is a field name (ascending), `"-field"` (descending, integers only) or a computed `Part`. Rows that agree in
    all parts follow each other by id, or, with `unique`, can't both be there; then all parts are fields, and the index
    finds rows by them as `Unique` does. `where=(function, "field", ...)` leaves out the rows for which the function of
    these fields is false. A `lazy` index is one that is written far more often than read: changed rows are noted and
    sorted in at the next read. Its keys, if it is unique, are always up to date.
    """

    def __init__(self, *parts: str | Part, where: Where | None = None, unique: bool = False, lazy: bool = False) -> None:
        if not parts:
            raise TypeError("Ordered needs a part")
        if unique and (where or any(isinstance(part, Part) for part in parts)):
            raise TypeError("a unique index has all rows, by their fields")
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
    def __get__(self, table: Rows[RowT], owner: type) -> "OrderedIndex[RowT]": ...
    def __get__(self, table: object, owner: type) -> object:
        """Return the declaration, as that of `Unique` does."""
        return self if table is None else index_of(table, self)


class OrderedIndex(Generic[RowT]):
    """Rows in the order of the declared parts.

    A prefix is the values of the first parts, in the terms of the declaration: for a descending field its value, for a
    computed part what its function returns. After all parts the id may follow. "Below" and "beyond" mean earlier and
    later in the order of the index.

    When the index changes while it is walked, the walk raises RuntimeError at its next step, even after its last row.
    Who changes rows as it goes takes a list first, or asks `first` again and again.

    Of a unique index `get(*key)` is the row or None, `find(*key)` the row or the refusal `UnknownKey`; its `keys` are an
    index of their own to the table.
    """

    def __init__(self, declared: Ordered, rows: dict[int, RowT], reads: Reads, next_id: Callable[[], int]) -> None:
        self.entry = declared.entry
        self.lazy = declared.lazy
        self.keys: UniqueIndex[RowT] | None = UniqueIndex(declared.fields) if declared.unique else None
        self.get, self.find = (self.keys.get, self.keys.find) if self.keys else (no_key, no_key)
        self._lazily = LazyOrder(self._entry_at, reads=reads) if declared.lazy else None
        # Of a lazy index only: ids not yet sorted in. Rows that came since the last read are mostly all there are, and a set of them takes
        # as much as 64 bytes for each: they are those from the id `unread` on, and UNREAD stands for them in the set.
        self.changed: set[int] = self._lazily.changed if self._lazily else set()
        self.unread = 0
        # The very list of the lazy order, which is filled in place when it is settled in slices.
        self._order = self._lazily.settled() if self._lazily else Entries()
        self._rows = rows
        self._reads, self._next_id = reads, next_id
        self._bound = declared.bound
        self._version = 0

    def __len__(self) -> int:
        return len(self._settled())

    def __iter__(self) -> Iterator[RowT]:
        """All rows, in order."""
        return self._walk(iter(self._settled()))

    def __reversed__(self) -> Iterator[RowT]:
        """All rows, last first."""
        return self._walk(reversed(self._settled()))

    def first(self) -> RowT | None:
        """The head of the index, None when it is empty."""
        if self.changed:
            self._settle()
        # Not by `[0]`, which sortedcontainers does in Python: every block asks a dozen indices for their head.
        lists = self._order._lists
        row: RowT | None = lists[0][0][-1] if lists else None
        return row

    def last(self) -> RowT | None:
        """The end of the index, None when it is empty."""
        if self.changed:
            self._settle()
        lists = self._order._lists
        return lists[-1][-1][-1] if lists else None

    def starting(self, *prefix: Any) -> Iterator[RowT]:
        """From the first row that is not below the prefix (lower bound) on."""
        return self._walk(self._settled().irange(self._bound(prefix)))

    def after(self, *prefix: Any) -> Iterator[RowT]:
        """From the first row beyond all with the prefix (upper bound) on."""
        return self._walk(self._settled().irange((*self._bound(prefix), TOP)))

    def equal(self, *prefix: Any) -> Iterator[RowT]:
        """The rows whose key starts with the prefix."""
        bound = self._bound(prefix)
        return self._walk(self._settled().irange(bound, (*bound, TOP)))

    def before(self, *prefix: Any) -> Iterator[RowT]:
        """The rows below the prefix, backwards: from the one before the lower bound to the first of the index."""
        return self._walk(self._settled().irange(None, self._bound(prefix), inclusive=(True, False), reverse=True))

    def position(self, *prefix: Any) -> int:
        """How many rows are below the prefix."""
        return int(self._settled().bisect_left(self._bound(prefix)))

    def enter(self, row: RowT) -> None:
        """Sort a row in, unless it is left out. Only the table calls this."""
        entry = self.entry(row)
        if entry is not None:
            self._version += 1
            self._order.add(entry)

    def leave(self, row: RowT) -> None:
        """Take a row out that `enter` has sorted in. Only the table calls this."""
        entry = self.entry(row)
        if entry is not None:
            self._version += 1
            self._order.remove(entry)

    def move(self, old: Entry | None, new: Entry | None, row: RowT) -> None:
        """Exchange the entry of a row, None standing for out of the index. Only the table calls this.

        The new entry goes first: if it can't be compared with the others, nothing has changed yet.
        """
        self._version += 1
        if new is not None:
            self._order.add(new)
        if old is not None:
            self._order.remove(old)

    def forget(self, row_id: int) -> None:
        """Note, in a lazy index, that a row is gone. Only the table calls this."""
        assert self._lazily is not None, "only a lazy index notes changes"
        self._lazily.forget(row_id)

    def restore(self, rows: dict[int, RowT], ids: list[int] | None = None) -> None:
        """Hold these rows and no others; a lazy index only notes them. Only the table calls this.

        `ids` may hold the rows' ids in the order of the index, which saves most of the comparisons. All entries are sorted in any case.
        """
        self._version += 1
        if self._lazily is not None:
            self._order = self._lazily.restore((UNREAD,))
            self.unread = 0
        else:
            ordered = map(rows.__getitem__, ids) if ids and len(ids) == len(rows) and rows.keys() == set(ids) else rows.values()
            self._order = Entries([entry for entry in map(self.entry, ordered) if entry is not None])

    def let_go(self, least: int = LET_GO_MIN) -> None:
        """Give the memory of a lazy index back that nobody reads. Only the table calls this. The next read sorts all rows."""
        if self._lazily is not None and self._lazily.let_go(least, self._next_id() - self.unread):
            self._version += 1
            self._order = self._lazily.restore((UNREAD,))
            self.unread = 0

    def keep(self) -> PutBack:
        """Return a function that puts the order back as it is now. Only the table calls this, and not for a lazy index."""
        entries, version = list(self._order), self._version

        def put_back() -> None:
            nonlocal version
            # The number only rises, so that an equal one says that nothing has moved since.
            if self._version != version:
                self._order = Entries(entries)
                self._version = version = self._version + 1

        return put_back

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify order, membership, `where`, uniqueness and what a lazy index has noted; for tests. Sorts nothing in."""
        if self._lazily is not None:
            self._lazily.check()
            assert not rows or max(rows) < self.unread or UNREAD in self.changed, "rows have come, and that isn't noted"
            missing = [row_id for row_id in rows if row_id < self.unread and row_id not in self.changed and not self._lazily.holds(row_id)]
            assert all(self.entry(rows[row_id]) is None for row_id in missing), "a row was missed"
            known = {UNREAD, *rows}
            assert all(row_id in known or self._lazily.holds(row_id) for row_id in self.changed), "noted rows that never were"
            return
        self._order._check()
        expected = [entry for row in rows.values() if (entry := self.entry(row)) is not None]
        assert list(self._order) == sorted(expected), "rows are missing, too many, or out of order"
        assert not self.changed, "only a lazy index notes changes"

    def _settled(self) -> Any:
        """The order, with all changed rows sorted in."""
        if self.changed:
            self._settle()
        return self._order

    def _walk(self, entries: Iterator[Entry]) -> Iterator[RowT]:
        return self._steps(entries, self._version)

    def _steps(self, entries: Iterator[Entry], version: int) -> Iterator[RowT]:
        """Rows of entries, as long as nothing has changed since the call: `entries` walks the very lists that change."""
        self._demand_unchanged(version)
        for entry in entries:
            yield entry[-1]
            if self._version != version or self.changed:
                self._demand_unchanged(version)

    def _demand_unchanged(self, version: int) -> None:
        if self._version != version or self.changed:
            raise RuntimeError("the index changed while it was walked")

    def _settle(self) -> None:
        """Sort in what a lazy index has noted; walks that are under way end."""
        assert self._lazily is not None, "only a lazy index notes changes"
        self._version += 1
        if UNREAD in self.changed:
            self._reads.require_slice(self._next_id() - self.unread, self._lazily.settle_some)
            while UNREAD in self.changed:
                self._note_unread()
        self._order = self._lazily.settled()

    def _note_unread(self) -> None:
        """Note a slice of the rows that came since the last read by their ids; UNREAD stays as long as there are more."""
        begin, end, rows = self.unread, self._next_id(), self._rows
        self.changed.discard(UNREAD)
        if end - begin > SPARSE_SHARE * len(rows):
            self.changed.update([row_id for row_id in rows if row_id >= begin])
            self.unread = end
            return
        self.unread = min(end, begin + SLICE)
        # The ids of the rows, not those of the range, which would be new objects that the order then holds.
        self.changed.update([row.id for row_id in range(begin, self.unread) if (row := rows.get(row_id)) is not None])
        if self.unread < end:
            self.changed.add(UNREAD)

    def _entry_at(self, row_id: int) -> Entry | None:
        """The entry of the row with an id, None when there is no such row or it is left out.

        A read in slices comes to UNREAD as to any id, and has the rows behind it noted.
        """
        row = self._rows.get(row_id)
        if row is not None:
            return self.entry(row)
        if row_id == UNREAD:
            self._note_unread()
        return None


def no_key(*key: Any) -> NoReturn:
    """Stands for `get` and `find` where there are no keys."""
    raise AssertionError("only a unique index has keys")
