"""`Unique`, an index that finds one row by its key and keeps no order. It knows no chain rule."""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, Generic, TypeVar, overload

from state.protocol.errors import UnknownKey
from state.store.rows import Row, Rows

RowT = TypeVar("RowT", bound=Row)


class Unique:
    """Declares that no two rows agree in all of `fields`, and that rows are found by them: see `UniqueIndex`."""

    def __init__(self, *fields: str) -> None:
        if not fields:
            raise TypeError("Unique needs a field")
        self.fields = fields

    @overload
    def __get__(self, table: None, owner: type) -> "Unique": ...
    @overload
    def __get__(self, table: Rows[RowT], owner: type) -> "UniqueIndex[RowT]": ...
    def __get__(self, table: object, owner: type) -> object:
        """Return the declaration. On a table the index of the same name stands in front of it, which the type checker learns from here.

        A table whose attributes are parked is asked for the index.
        """
        return self if table is None else index_of(table, self)


def index_of(table: object, declared: object) -> object:
    """Return the index that a declaration has on a table whose attributes are parked."""
    name = next(name for cls in type(table).__mro__ for name, value in vars(cls).items() if value is declared)
    return table.__getattr__(name)  # type: ignore[attr-defined]


class UniqueIndex(Generic[RowT]):
    """Rows by key, O(1). The key is the values of the declared fields, in their order; none of them may be None.

    `get(*key)` is the row or None, `find(*key)` the row or the refusal `UnknownKey`.
    """

    def __init__(self, fields: tuple[str, ...]) -> None:
        self.entry: Callable[[Any], Any] = attrgetter(*fields)
        self.by_key: dict[Any, RowT] = {}
        self.get, self.find = lookups(self.by_key, fields)

    def move(self, old: Any, new: Any, row: RowT) -> None:
        """Exchange the key of a row, None standing for out of the index. Only the table calls this."""
        if new is not None:
            self.by_key[new] = row
        if old is not None:
            del self.by_key[old]

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify that exactly the rows of the table are here, under their keys; for tests."""
        assert len(self.by_key) == len(rows), "rows are missing, or too many"
        for row in rows.values():
            key = self.entry(row)
            assert key is not None, "None is no key"
            assert self.by_key.get(key) is row, f"row {row.id} is not under its key"


def lookups(by_key: dict[Any, RowT], fields: tuple[str, ...]) -> tuple[Callable[..., RowT | None], Callable[..., RowT]]:
    """The functions `get` and `find` over a dict of keys that have a part for each of the fields."""
    if len(fields) == 1:
        return bare_lookups(by_key, fields)
    get: Callable[..., RowT | None] = maker(len(fields))(by_key.get)

    def find(*key: Any) -> RowT:
        found = get(*key)
        if found is None:
            raise UnknownKey(fields=fields, key=key)
        return found

    return get, find


@cache
def maker(size: int) -> Callable[[Callable[[Any], Any]], Callable[..., Any]]:
    """Return what makes a look-up by so many parts of a look-up by their tuple.

    It is compiled for the number: a function of any number of arguments that counts them takes longer (0.2 to 1.2 % of a replay).
    """
    names = ", ".join([f"part_{n}" for n in range(size)])
    made: Callable[[Callable[[Any], Any]], Callable[..., Any]] = eval(f"lambda found: lambda {names}, /: found(({names}))")
    return made


def bare_lookups(by_key: dict[Any, RowT], fields: tuple[str, ...]) -> tuple[Callable[..., RowT | None], Callable[..., RowT]]:
    """The functions `get` and `find` for keys of one field, which are held bare: `get` is the dict's own, the cheapest call there is."""

    def find(key: Any, /) -> RowT:
        try:
            return by_key[key]
        except KeyError:
            raise UnknownKey(fields=fields, key=(key,)) from None

    return by_key.get, find
