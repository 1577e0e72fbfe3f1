"""`Due`, an index that finds the rows of the least time, and keeps no order among the others. It knows no chain rule."""

from bisect import insort
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Generic, TypeVar, overload

from state.store.rows import PutBack, Row, Rows
from state.store.unique import index_of

RowT = TypeVar("RowT", bound=Row)
# So many times without rows are kept, and as many more as there are times with rows. Transactions expire within an hour: 3,600 times.
EMPTY_TIMES_MAX = 10_000


class Due:
    """Declares that rows are found by when they are due, the time in an integer field: see `DueIndex`."""

    def __init__(self, field: str) -> None:
        self.fields = (field,)

    @overload
    def __get__(self, table: None, owner: type) -> "Due": ...
    @overload
    def __get__(self, table: Rows[RowT], owner: type) -> "DueIndex[RowT]": ...
    def __get__(self, table: object, owner: type) -> object:
        """Return the declaration, as that of `Unique` does."""
        return self if table is None else index_of(table, self)


class DueIndex(Generic[RowT]):
    """Rows by the time in one field, of which only the earliest are asked for.

    Many rows share a time: every transaction that expires in the same second. So only the times are kept sorted, and to enter a
    row or to take it out is mostly one look-up, where an order searches and compares tuples.
    """

    def __init__(self, declared: Due) -> None:
        self.entry: Callable[[RowT], int] = attrgetter(*declared.fields)
        # The rows of each time by their ids, and these times in ascending order. Times without rows stay until they are the earliest, or
        # too many.
        self._rows_at: dict[int, dict[int, RowT]] = {}
        self._times: list[int] = []
        self._times_max = EMPTY_TIMES_MAX

    def __iter__(self) -> Iterator[RowT]:
        """All rows, by their times, those of one time by id."""
        return (rows[row_id] for _, rows in sorted(self._rows_at.items()) for row_id in sorted(rows))

    def earliest_before(self, time: int) -> list[RowT]:
        """Return the rows of the earliest time, if that is before `time`, in no order that means anything; [] when there is none."""
        times, rows_at = self._times, self._rows_at
        while times and times[0] < time:
            if rows := rows_at[times[0]]:
                return list(rows.values())
            del rows_at[times.pop(0)]
        return []

    def enter(self, row: RowT) -> None:
        """Take a row in. Only the table calls this. A time that can't be compared raises, and changes nothing."""
        time = self.entry(row)
        try:
            self._rows_at[time][row.id] = row
        except KeyError:
            self._new_time(time)[row.id] = row

    def leave(self, row: RowT) -> None:
        """Take a row out that `enter` has taken in. Only the table calls this."""
        del self._rows_at[self.entry(row)][row.id]

    def move(self, old: int, new: int, row: RowT) -> None:
        """Exchange the time of a row. Only the table calls this, and once more the other way round when another index refuses the row."""
        rows = self._rows_at.get(new)
        (self._new_time(new) if rows is None else rows)[row.id] = row
        del self._rows_at[old][row.id]

    def restore(self, rows: dict[int, RowT], ids: list[int] | None = None) -> None:
        """Hold these rows and no others. Only the table calls this."""
        self._rows_at.clear()
        self._times.clear()
        for row in rows.values():
            self._rows_at.setdefault(self.entry(row), {})[row.id] = row
        self._times.extend(sorted(self._rows_at))

    def keep(self) -> PutBack:
        """Return a function that puts everything back as it is now. Only the table calls this."""
        kept = {time: rows.copy() for time, rows in self._rows_at.items()}

        def put_back() -> None:
            self._rows_at = {time: rows.copy() for time, rows in kept.items()}
            self._times = sorted(kept)

        return put_back

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify that exactly the rows of the table are here, under their times, and that these are in order; for tests."""
        held = {row_id: (time, row) for time, some in self._rows_at.items() for row_id, row in some.items()}
        assert len(held) == sum(map(len, self._rows_at.values())), "a row is there twice"
        assert held == {row_id: (self.entry(row), row) for row_id, row in rows.items()}, "rows are missing, too many, or under another time"
        assert self._times == sorted(self._rows_at), "a time is missing, there twice, or out of order"

    def _new_time(self, time: int) -> dict[int, RowT]:
        """Return the rows of a time that isn't known: none."""
        if len(self._times) >= self._times_max:
            self._forget_empty()
        insort(self._times, time)
        rows = self._rows_at[time] = {}
        return rows

    def _forget_empty(self) -> None:
        """Forget the times without rows: rows that are refused, and taken back, could leave one for each second that there is."""
        self._rows_at = {time: rows for time, rows in self._rows_at.items() if rows}
        self._times = sorted(self._rows_at)
        self._times_max = max(EMPTY_TIMES_MAX, 2 * len(self._times))
