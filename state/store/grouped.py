"""`Grouped` and `GroupedIds`, unordered indices that find all rows with the same value in one field."""

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from operator import attrgetter
from sys import byteorder
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from state.protocol.values.integers import UINT32_MAX
from state.store.columns import CorruptData
from state.store.packed_integers import UINT32_BYTES, Integers, as_array, pack_uint32
from state.store.rows import Restore, Row, RowSource, run_steps
from state.store.slots import Slots

RowT = TypeVar("RowT", bound=Row)


class Grouped:
    """Declaration of a `GroupedIndex` on a field."""

    def __init__(self, field: str) -> None:
        self.fields = (field,)

    if TYPE_CHECKING:

        def __get__(self, table: RowSource[RowT], owner: type) -> "GroupedIndex[RowT]": ...

    def new_index(self) -> "GroupedIndex[Any]":
        """Return an empty index."""
        return GroupedIndex(self)


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


class GroupedIds:
    """Declaration of a `GroupedIdsIndex` on a field that contains the id of a row of another table."""

    def __init__(self, field: str) -> None:
        self.fields = (field,)

    if TYPE_CHECKING:

        def __get__(self, table: RowSource[RowT], owner: type) -> "GroupedIdsIndex[RowT]": ...


FEW_BYTES = 64 * UINT32_BYTES  # up to which the ids of a group are bytes


class GroupedIdsIndex(Generic[RowT]):
    """Index of the ids of rows by the id in one field, with 4 bytes per row. A table that packs its rows can have it.

    It is like `GroupedIndex`, but it doesn't hold the rows.
    """

    def __init__(self, declared: GroupedIds, get: Callable[[int], RowT | None]) -> None:
        self.entry: Callable[[RowT], int] = attrgetter(*declared.fields)
        self._get = get
        self._groups: Slots[Integers] = Slots()

    def ids(self, value: int) -> "array[int]":
        """Return the ids of the rows with this value, in ascending order. The caller must not change it."""
        return as_array(self._groups.get(value) or b"")

    def of(self, value: int) -> list[RowT]:
        """Return the rows with this value in the order of their ids, as a new list."""
        return [row for row in map(self._get, self.ids(value)) if row is not None]

    def insert(self, row: RowT) -> None:
        """Insert a row. Only the table calls this."""
        self._put(self.entry(row), row.id)

    def remove(self, row: RowT) -> None:
        """Remove a row. Only the table calls this."""
        self._remove_from(self.entry(row), row.id)

    def update(self, old: int, new: int, row: RowT) -> None:
        """Change the value of a row. Only the table calls this, also to revert the change if another index refuses the row."""
        self._put(new, row.id)
        self._remove_from(old, row.id)

    def restore(self, rows: dict[int, RowT], ids: list[int] | None = None) -> None:
        """Replace all rows. Only the table calls this. Raises CorruptData for an id that is too large."""
        if max(rows, default=0) > UINT32_MAX:
            raise CorruptData(f"an id above {UINT32_MAX}")
        self._groups.chunks.clear()
        for row in rows.values():
            self.insert(row)

    def copy(self) -> Restore:
        """Copy the index and return a function that restores the copy. Only the table calls this."""
        chunks = run_steps(self._groups.copying())

        def put_back() -> None:
            self._groups.chunks = chunks()

        return put_back

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify the index against all rows of the table, hot and packed; for tests."""
        held = {row_id: value for value, _ in self._groups.items() for row_id in self.ids(value)}
        assert held == {row_id: self.entry(row) for row_id, row in rows.items()}, "rows are missing, extra or under another value"
        assert all(list(self.ids(value)) == sorted(self.ids(value)) for value, _ in self._groups.items()), "ids out of order"

    def _put(self, value: int, row_id: int) -> None:
        group, packed = self._groups.get(value), pack_uint32(row_id)
        if group is None:
            self._groups.put(value, packed)
        elif isinstance(group, bytes) and len(group) < FEW_BYTES and int.from_bytes(group[-UINT32_BYTES:], byteorder) < row_id:
            self._groups.put(value, group + packed)
        else:
            ids = self.ids(value)
            insort(ids, row_id)
            self._keep(value, ids)

    def _remove_from(self, value: int, row_id: int) -> None:
        ids = self.ids(value)
        at = bisect_left(ids, row_id)
        assert ids[at] == row_id, "the row is not in the index"
        del ids[at]
        self._keep(value, ids)

    def _keep(self, value: int, ids: "array[int]") -> None:
        self._groups.put(value, (ids.tobytes() if len(ids) * UINT32_BYTES <= FEW_BYTES else ids) or None)
