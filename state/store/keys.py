"""Index keys: compiles the declaration of an index to one function of a row."""

from collections.abc import Callable, Iterable
from typing import Any

Entry = tuple[Any, ...]
Bound = Callable[[Entry], Entry]
Where = tuple[Callable[..., object], *tuple[str, ...]]


class ComputedKey:
    """Computed part of a sort key: a pure `function` of the values of `fields`, in that order.

    All results must be comparable with each other. `descending` reverses the order and requires integers.
    """

    __slots__ = ("descending", "fields", "function")

    def __init__(self, function: Callable[..., Any], /, *fields: str, descending: bool = False) -> None:
        if not fields:
            raise TypeError("a computed key part must name the fields that it reads")
        self.function = function
        self.fields = fields
        self.descending = descending


class _Top:
    """A value greater than any other. A prefix followed by this value is greater than every key with that prefix."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return True


TOP = _Top()


def is_descending(part: str | ComputedKey) -> bool:
    """Whether an index is sorted by this key part in descending order."""
    return part.descending if isinstance(part, ComputedKey) else part.startswith("-")


def fields_of(part: str | ComputedKey) -> tuple[str, ...]:
    """Return the fields that a key part reads."""
    return part.fields if isinstance(part, ComputedKey) else (part.removeprefix("-"),)


def entry_function(parts: tuple[str | ComputedKey, ...], where: Where | None, *, with_row: bool = True) -> Callable[[Any], Entry | None]:
    """Return the function from a row to its entry in an ordered index, or to None if `where` excludes the row.

    An entry is a tuple of the parts (descending ones negated), the id as a tie-breaker, and, with `with_row`, the row, which is never
    compared because ids differ. The function is compiled from source text: a function per part would cost a call for each.
    """
    entry, condition, names = _sources(parts, where, ", row" if with_row else "")
    function: Callable[[Any], Entry | None] = eval(f"lambda row: {entry}" + (f" if {condition} else None" if condition else ""), names)
    return function


def entries_function(parts: tuple[str | ComputedKey, ...], where: Where | None) -> Callable[[Iterable[Any]], list[Entry]]:
    """Return the function from rows to their entries, without the rows and without entries of rows that `where` excludes."""
    entry, condition, names = _sources(parts, where, "")
    function: Callable[[Iterable[Any]], list[Entry]] = eval(
        f"lambda rows: [{entry} for row in rows" + (f" if {condition}]" if condition else "]"), names
    )
    return function


def _sources(parts: tuple[str | ComputedKey, ...], where: Where | None, more: str) -> tuple[str, str, dict[str, Any]]:
    """Return the source texts of an entry and of `where`, and the names in them."""
    names: dict[str, Any] = {}
    terms = [_term(part, f"part_{n}", names) for n, part in enumerate(parts)]
    if where is not None:
        names["where"] = where[0]
    return f"({', '.join(terms)}, row.id{more})", "" if where is None else f"where({_values(where[1:])})", names


def test_function(where: Where | None) -> Callable[[Any], object]:
    """Return the function from a row to True if the row meets the condition `where`, else None. Without a condition, every row does."""
    if where is None:
        return lambda row: True
    function: Callable[[Any], object] = eval(f"lambda row: True if where({_values(where[1:])}) else None", {"where": where[0]})
    return function


def bound_function(parts: tuple[str | ComputedKey, ...]) -> Bound:
    """Return a function that converts a prefix of a key to a prefix of index entries, in which descending parts are negated."""
    signs = tuple(is_descending(part) for part in parts)
    if not any(signs):
        return _same

    def bound(prefix: Entry) -> Entry:
        return tuple([-value if n < len(signs) and signs[n] else value for n, value in enumerate(prefix)])

    return bound


def _same(prefix: Entry) -> Entry:
    return prefix


def _term(part: str | ComputedKey, name: str, names: dict[str, Any]) -> str:
    sign = "-" if is_descending(part) else ""
    if isinstance(part, str):
        return f"{sign}row.{part.removeprefix('-')}"
    names[name] = part.function
    return f"{sign}{name}({_values(part.fields)})"


def _values(fields: tuple[str, ...]) -> str:
    return ", ".join([f"row.{field}" for field in fields])
