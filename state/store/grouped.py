"""`Grouped`, an unordered index that finds all rows with the same value in one field."""

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Generic, TypeVar, overload

from state.store.rows import Restore, Row, RowSource
from state.store.unique import index_of

RowT = TypeVar("RowT", bound=Row)


class Grouped:
    """Declaration of a `GroupedIndex` on a field."""

    def __init__(self, field: str) -> None:
        self.fields = (field,)

    @overload
    def __get__(self, table: None, owner: type) -> "Grouped": ...
    @overload
    def __get__(self, table: RowSource[RowT], owner: type) -> "GroupedIndex[RowT]": ...
    def __get__(self, table: object, owner: type) -> object:
        """Return the declaration when the attribute is read from the class (see `Unique.__get__`)."""
        return self if table is None else index_of(table, self)


class GroupedIndex(Generic[RowT]):
    """Index of rows by the value of one field. Many rows can have the same value.

    It is for rules that read all rows with a value in any order, for example an account's witness votes. A list per value is faster to
    write and to read than an `Ordered` index, and takes less memory.
    """

    def __init__(self, declared: Grouped) -> None:
        self.entry: Callable[[RowT], Any] = attrgetter(*declared.fields)
        self._groups: dict[Any, list[RowT]] = {}

    def __iter__(self) -> Iterator[RowT]:
        """Yield all rows, ordered by id."""
        rows = [row for group in self._groups.values() for row in group]
        return iter(sorted(rows, key=attrgetter("id")))

    def of(self, value: Any) -> list[RowT]:
        """Return the rows with this value in arbitrary order, as a new list."""
        return self._groups.get(value, [])[:]

    def insert(self, row: RowT) -> None:
        """Insert a row. Only the table calls this."""
        self._put(self.entry(row), row)

    def remove(self, row: RowT) -> None:
        """Remove a row. Only the table calls this."""
        self._remove_from(self.entry(row), row)

    def update(self, old: Any, new: Any, row: RowT) -> None:
        """Change the value of a row. Only the table calls this, also to revert the change if another index refuses the row."""
        self._put(new, row)
        self._remove_from(old, row)

    def restore(self, rows: dict[int, RowT], ids: list[int] | None = None) -> None:
        """Replace all rows. Only the table calls this."""
        self._groups.clear()
        for row in rows.values():
            self.insert(row)

    def copy(self) -> Restore:
        """Copy the index and return a function that restores the copy. Only the table calls this."""
        kept = {value: group.copy() for value, group in self._groups.items()}

        def put_back() -> None:
            self._groups = {value: group.copy() for value, group in kept.items()}

        return put_back

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify the index against the rows of the table; for tests."""
        held = [(value, row) for value, group in self._groups.items() for row in group]
        assert len(held) == len(rows), "rows are missing or extra"
        assert {row.id: value for value, row in held} == {row_id: self.entry(row) for row_id, row in rows.items()}, (
            "a row under another value"
        )
        assert all(rows[row.id] is row for _, row in held), "a row isn't the one of the table"
        assert all(self._groups.values()), "a value without rows"

    def _put(self, value: Any, row: RowT) -> None:
        try:
            self._groups[value].append(row)
        except KeyError:
            self._groups[value] = [row]

    def _remove_from(self, value: Any, row: RowT) -> None:
        group = self._groups[value]
        if group[-1] is row:  # The common case: its insertion is undone.
            group.pop()
        else:
            group.remove(row)
        if not group:
            del self._groups[value]
