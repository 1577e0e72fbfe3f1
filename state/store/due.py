"""`Due`, an index that finds the rows with the earliest time without ordering the other rows."""

from bisect import insort
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from state.store.rows import Restore, Row, RowSource

RowT = TypeVar("RowT", bound=Row)
# Times without rows are dropped when there are more than this, or more than twice the times with rows if that number is larger.
# Transactions expire within an hour, at up to 3,600 times.
EMPTY_TIMES_MAX = 10_000


class Due:
    """Declaration of a `DueIndex` on an integer field that holds a time."""

    def __init__(self, field: str) -> None:
        self.fields = (field,)

    if TYPE_CHECKING:

        def __get__(self, table: RowSource[RowT], owner: type) -> "DueIndex[RowT]": ...

    def new_index(self) -> "DueIndex[Any]":
        """Return an empty index."""
        return DueIndex(self)


class DueIndex(Generic[RowT]):
    """Index by a time field, for queries that only need the earliest rows.

    Many rows have the same time, for example all transactions that expire in the same second. Only the distinct times are kept sorted.
    Inserting or removing a row is therefore mostly a single look-up, while an ordered index has to search and compare tuples.
    """

    def __init__(self, declared: Due) -> None:
        self.entry: Callable[[RowT], int] = attrgetter(*declared.fields)
        # Rows by time and id, and the times in ascending order. A time without rows is dropped when it is the earliest one, or when there
        # are too many such times.
        self._rows_at: dict[int, dict[int, RowT]] = {}
        self._times: list[int] = []
        self._times_max = EMPTY_TIMES_MAX

    def __iter__(self) -> Iterator[RowT]:
        """Yield all rows, ordered by time, then id."""
        return (rows[row_id] for _, rows in sorted(self._rows_at.items()) for row_id in sorted(rows))

    def earliest_before(self, time: int) -> list[RowT]:
        """Return the rows of the earliest time if it is before `time`, in arbitrary order, else []."""
        times, rows_at = self._times, self._rows_at
        while times and times[0] < time:
            if rows := rows_at[times[0]]:
                return list(rows.values())
            del rows_at[times.pop(0)]
        return []

    def insert(self, row: RowT) -> None:
        """Insert a row. Only the table calls this. A time that can't be compared raises an error, and the index stays unchanged."""
        time = self.entry(row)
        try:
            self._rows_at[time][row.id] = row
        except KeyError:
            self._new_time(time)[row.id] = row

    def remove(self, row: RowT) -> None:
        """Remove a row. Only the table calls this."""
        del self._rows_at[self.entry(row)][row.id]

    def update(self, old: int, new: int, row: RowT) -> None:
        """Change the time of a row. Only the table calls this, also to revert the change if another index refuses the row."""
        rows = self._rows_at.get(new)
        (self._new_time(new) if rows is None else rows)[row.id] = row
        del self._rows_at[old][row.id]

    def restore(self, rows: dict[int, RowT], ids: list[int] | None = None) -> None:
        """Replace all rows. Only the table calls this."""
        self._rows_at.clear()
        self._times.clear()
        for row in rows.values():
            self._rows_at.setdefault(self.entry(row), {})[row.id] = row
        self._times.extend(sorted(self._rows_at))

    def copy(self) -> Restore:
        """Copy the index and return a function that restores the copy. Only the table calls this."""
        kept = {time: rows.copy() for time, rows in self._rows_at.items()}

        def put_back() -> None:
            self._rows_at = {time: rows.copy() for time, rows in kept.items()}
            self._times = sorted(kept)

        return put_back

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify the index against the rows of the table; for tests."""
        held = {row_id: (time, row) for time, some in self._rows_at.items() for row_id, row in some.items()}
        assert len(held) == sum(map(len, self._rows_at.values())), "a row is stored twice"
        assert held == {row_id: (self.entry(row), row) for row_id, row in rows.items()}, "rows are missing, extra, or under a wrong time"
        assert self._times == sorted(self._rows_at), "a time is missing, duplicated, or out of order"

    def _new_time(self, time: int) -> dict[int, RowT]:
        """Add a time without rows, and return the empty dict for its rows."""
        if len(self._times) >= self._times_max:
            self._forget_empty()
        insort(self._times, time)
        rows = self._rows_at[time] = {}
        return rows

    def _forget_empty(self) -> None:
        """Drop the times without rows. Otherwise, the index could keep one such time for every second, left by refused and undone rows."""
        self._rows_at = {time: rows for time, rows in self._rows_at.items() if rows}
        self._times = sorted(self._rows_at)
        self._times_max = max(EMPTY_TIMES_MAX, 2 * len(self._times))
