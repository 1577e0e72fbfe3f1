"""`Unique`, an unordered index that finds one row by its key."""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from state.protocol.errors import UnknownKey
from state.store.rows import Row, RowSource

RESTORE_CLASH = "two rows have the same key"

RowT = TypeVar("RowT", bound=Row)


class Unique:
    """Declaration of a `UniqueIndex`. No two rows have the same values in all of `fields`.

    A table has the index as its attribute. Only type checkers read the index from the class, because `Table` takes the declaration out of
    the class.
    """

    def __init__(self, *fields: str) -> None:
        if not fields:
            raise TypeError("Unique needs a field")
        self.fields = fields

    if TYPE_CHECKING:

        def __get__(self, table: RowSource[RowT], owner: type) -> "UniqueIndex[RowT]": ...


class UniqueIndex(Generic[RowT]):
    """Rows by key, found in constant time. A key is the values of the declared fields in order, none of which is None.

    `get(*key)` returns the row or None. `find(*key)` returns the row or raises `UnknownKey`.
    """

    def __init__(self, fields: tuple[str, ...], by_key: dict[Any, RowT] | None = None) -> None:
        self.entry: Callable[[Any], Any] = attrgetter(*fields)
        self.by_key: dict[Any, RowT] = {} if by_key is None else by_key
        self.get, self.find = lookups(self.by_key, fields)

    def peek(self, *key: Any) -> RowT | None:
        """Return the row with this key for reading at once, or None (see `Table.peek`)."""
        return self.get(*key)

    def update(self, old: Any, new: Any, row: RowT) -> None:
        """Replace the key of a row. None means that the row is not in the index. Only the table calls this."""
        if new is not None:
            self.by_key[new] = row
        if old is not None:
            del self.by_key[old]

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify the index against the rows of the table; for tests."""
        assert len(self.by_key) == len(rows), "rows are missing or extra"
        for row in rows.values():
            key = self.entry(row)
            assert key is not None, "a key is None"
            assert self.by_key.get(key) is row, f"row {row.id} is not under its key"


def lookups(by_key: dict[Any, RowT], fields: tuple[str, ...]) -> tuple[Callable[..., RowT | None], Callable[..., RowT]]:
    """Return the functions `get` and `find` for a dict whose keys consist of one value for each of `fields`."""
    if len(fields) == 1:
        return bare_lookups(by_key, fields)
    get: Callable[..., RowT | None] = maker(len(fields))(getter(by_key))

    def find(*key: Any) -> RowT:
        found = get(*key)
        if found is None:
            raise UnknownKey(fields=fields, key=key)
        return found

    return get, find


@cache
def maker(size: int) -> Callable[[Callable[[Any], Any]], Callable[..., Any]]:
    """Return a function that converts a look-up by a tuple into a look-up by `size` arguments.

    The function is compiled for this number of arguments, because a function with a variable number of arguments takes longer (0.2 to 1.2 %
    of a replay).
    """
    names = ", ".join([f"part_{n}" for n in range(size)])
    made: Callable[[Callable[[Any], Any]], Callable[..., Any]] = eval(f"lambda found: lambda {names}, /: found(({names}))")
    return made


def getter(by_key: dict[Any, RowT]) -> Callable[[Any], RowT | None]:
    """Return the fastest function that returns an item or None. Only the reading of an item calls `__missing__`, which dicts of tables that
    pack rows have; it returns None for a missing row.
    """
    return by_key.__getitem__ if hasattr(by_key, "__missing__") else by_key.get


def bare_lookups(by_key: dict[Any, RowT], fields: tuple[str, ...]) -> tuple[Callable[..., RowT | None], Callable[..., RowT]]:
    """Return `get` and `find` for keys of one field, which are stored without a tuple. `get` is the dict's own method, since its calls are
    fastest.
    """

    def find(key: Any, /) -> RowT:
        row = get(key)
        if row is None:
            raise UnknownKey(fields=fields, key=(key,))
        return row

    get = getter(by_key)
    return get, find
