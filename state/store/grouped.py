"""`Grouped`, an index that finds all rows with the same value in one field, and keeps no order. It knows no chain rule."""

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Generic, TypeVar, overload

from state.store.rows import PutBack, Row, Rows
from state.store.unique import index_of

RowT = TypeVar("RowT", bound=Row)


class Grouped:
    """Declares that rows are found by the value of a field, which many may share: see `GroupedIndex`."""

    def __init__(self, field: str) -> None:
        self.fields = (field,)

    @overload
    def __get__(self, table: None, owner: type) -> "Grouped": ...
    @overload
    def __get__(self, table: Rows[RowT], owner: type) -> "GroupedIndex[RowT]": ...
    def __get__(self, table: object, owner: type) -> object:
        """Return the declaration, as that of `Unique` does."""
        return self if table is None else index_of(table, self)


class GroupedIndex(Generic[RowT]):
    """Rows by the value of one field.

    For rules that read all rows of a value and don't ask for an order, as the votes of an account for witnesses. A list for each value
    is faster to write and to read than an `Ordered`, and takes less memory.
    """

    def __init__(self, declared: Grouped) -> None:
        self.entry: Callable[[RowT], Any] = attrgetter(*declared.fields)
        self._groups: dict[Any, list[RowT]] = {}

    def __iter__(self) -> Iterator[RowT]:
        """All rows, by id."""
        rows = [row for group in self._groups.values() for row in group]
        return iter(sorted(rows, key=attrgetter("id")))

    def of(self, value: Any) -> list[RowT]:
        """Return the rows with a value, in no order that means anything; the list is the caller's."""
        return self._groups.get(value, [])[:]

    def enter(self, row: RowT) -> None:
        """Take a row in. Only the table calls this."""
        self._put(self.entry(row), row)

    def leave(self, row: RowT) -> None:
        """Take a row out that `enter` has taken in. Only the table calls this."""
        self._leave(self.entry(row), row)

    def move(self, old: Any, new: Any, row: RowT) -> None:
        """Exchange the value of a row. Only the table calls this, and once more the other way round when another index refuses the row."""
        self._put(new, row)
        self._leave(old, row)

    def restore(self, rows: dict[int, RowT], ids: list[int] | None = None) -> None:
        """Hold these rows and no others. Only the table calls this."""
        self._groups.clear()
        for row in rows.values():
            self.enter(row)

    def keep(self) -> PutBack:
        """Return a function that puts everything back as it is now. Only the table calls this."""
        kept = {value: group.copy() for value, group in self._groups.items()}

        def put_back() -> None:
            self._groups = {value: group.copy() for value, group in kept.items()}

        return put_back

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify that exactly the rows of the table are here, under their values; for tests."""
        held = [(value, row) for value, group in self._groups.items() for row in group]
        assert len(held) == len(rows), "rows are missing, or too many"
        assert {row.id: value for value, row in held} == {row_id: self.entry(row) for row_id, row in rows.items()}, (
            "a row under another value"
        )
        assert all(rows[row.id] is row for _, row in held), "another row than that of the table"
        assert all(self._groups.values()), "a value without rows"

    def _put(self, value: Any, row: RowT) -> None:
        try:
            self._groups[value].append(row)
        except KeyError:
            self._groups[value] = [row]

    def _leave(self, value: Any, row: RowT) -> None:
        group = self._groups[value]
        if group[-1] is row:  # as when its insertion is undone
            group.pop()
        else:
            group.remove(row)
        if not group:
            del self._groups[value]
