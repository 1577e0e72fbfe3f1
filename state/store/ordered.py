"""`Ordered`, an index that is read in the order of its key parts. Unless it is lazy (`LazyIndex`), it is always sorted."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from state.store.entries import Entries
from state.store.keys import TOP, ComputedKey, Entry, Where, bound_function, entry_function, fields_of
from state.store.rows import RESTORE_CHUNK, Restore, Row, RowSource
from state.store.unique import UniqueIndex

RowT = TypeVar("RowT", bound=Row)


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

    if TYPE_CHECKING:

        def __get__(self, table: RowSource[RowT], owner: type) -> "OrderedIndex[RowT]": ...


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

    def __init__(self, declared: Ordered, keys: UniqueIndex[RowT] | None) -> None:
        self.entry = declared.entry
        self.keys = keys
        self.get, self.find = (self.keys.get, self.keys.find) if self.keys else (no_key, no_key)
        self._order = Entries()
        self._bound = declared.bound
        self._version = 0

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[RowT]:
        """Yield all rows in order."""
        return self._between()

    def __reversed__(self) -> Iterator[RowT]:
        """Yield all rows, last first."""
        return self._between(reverse=True)

    def first(self) -> RowT | None:
        """Return the first row, or None if the index is empty."""
        # Faster than `[0]`, which sortedcontainers implements in Python: every block reads the first row of a dozen indices.
        lists = self._order._lists
        row: RowT | None = lists[0][0][-1] if lists else None
        return row

    def last(self) -> RowT | None:
        """Return the last row, or None if the index is empty."""
        lists = self._order._lists
        return lists[-1][-1][-1] if lists else None

    def starting(self, *prefix: Any) -> Iterator[RowT]:
        """Yield the rows from the first one not below the prefix (lower bound)."""
        return self._between(self._bound(prefix))

    def after(self, *prefix: Any) -> Iterator[RowT]:
        """Yield the rows after all rows whose key starts with the prefix (upper bound)."""
        return self._between((*self._bound(prefix), TOP))

    def equal(self, *prefix: Any) -> Iterator[RowT]:
        """Yield the rows whose key starts with the prefix."""
        bound = self._bound(prefix)
        return self._between(bound, (*bound, TOP))

    def before(self, *prefix: Any) -> Iterator[RowT]:
        """Yield the rows below the prefix, last first."""
        return self._between(None, self._bound(prefix), (True, False), reverse=True)

    def position(self, *prefix: Any) -> int:
        """Return the number of rows below the prefix."""
        return int(self._order.bisect_left(self._bound(prefix)))

    def class_of(self, limits: tuple[int, ...], *prefix: Any) -> int:
        """Return how many of the ascending `limits` are at most the number of rows below the prefix."""
        return bisect_right(limits, self.position(*prefix))

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

    def restoring(self, rows: dict[int, RowT], ids: list[int] | None) -> Iterator[None]:
        """Replace all rows in steps. Only the table calls this.

        `ids` can list the rows in the order of the index, which saves most comparisons. The result is correct even if that order is wrong.
        """
        self._version += 1
        ordered = map(rows.__getitem__, ids) if ids and len(ids) == len(rows) and rows.keys() == set(ids) else iter(rows.values())
        entries: list[Entry] = []
        while some := list(islice(ordered, RESTORE_CHUNK)):
            entries += [entry for entry in map(self.entry, some) if entry is not None]
            yield
        self._order = Entries(entries)

    def copy(self) -> Restore:
        """Copy the order, and return a function that restores the copy. Only the table calls this."""
        entries, version = list(self._order), self._version

        def put_back() -> None:
            nonlocal version
            # Versions only increase, so an equal version means that no entry has moved since.
            if self._version != version:
                self._order = Entries(entries)
                self._version = version = self._version + 1

        return put_back

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify the order, the rows, `where`, and uniqueness; for tests."""
        self._order._check()
        expected = [entry for row in rows.values() if (entry := self.entry(row)) is not None]
        assert list(self._order) == sorted(expected), "rows are missing, extra, or out of order"

    def _between(
        self, low: Entry | None = None, high: Entry | None = None, inclusive: tuple[bool, bool] = (True, True), *, reverse: bool = False
    ) -> Iterator[RowT]:
        """Yield the rows of the entries from `low` to `high`, or in reverse."""
        return self._steps(self._order.irange(low, high, inclusive, reverse), self._version)

    def _steps(self, entries: Iterator[Entry], version: int) -> Iterator[RowT]:
        """Yield the rows of entries. Raises RuntimeError if the index has changed since the call, because `entries` reads the index's live
        lists.
        """
        self._require_unchanged(version)
        for entry in entries:
            yield entry[-1]
            if self._version != version:
                self._require_unchanged(version)

    def _require_unchanged(self, version: int) -> None:
        if self._version != version:
            raise RuntimeError("the index changed during an iteration")


def no_key(*key: Any) -> NoReturn:
    """Takes the place of `get` and `find` in an index that isn't unique, and always raises an error."""
    raise AssertionError("only a unique index has keys")
