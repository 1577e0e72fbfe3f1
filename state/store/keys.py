"""Keys of indices: what a declaration says about a row, compiled to one function per index. No row type is known here."""

from collections.abc import Callable
from typing import Any

Entry = tuple[Any, ...]
Bound = Callable[[Entry], Entry]
Where = tuple[Callable[..., object], *tuple[str, ...]]


class Part:
    """A computed part of a sort key: `function` of the values of `fields`, in their order, and of nothing else.

    What it returns must be ordered without ties: of two values that differ, one is less. `descending` turns the order
    around and needs an integer.
    """

    __slots__ = ("descending", "fields", "function")

    def __init__(self, function: Callable[..., Any], /, *fields: str, descending: bool = False) -> None:
        if not fields:
            raise TypeError("a computed part must name the fields that it reads")
        self.function = function
        self.fields = fields
        self.descending = descending


class _Top:
    """Greater than anything: at the end of a prefix it makes a bound after every key with that prefix."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return True


TOP = _Top()


def is_descending(part: str | Part) -> bool:
    """Whether greater values of a part come first."""
    return part.descending if isinstance(part, Part) else part.startswith("-")


def fields_of(part: str | Part) -> tuple[str, ...]:
    """The fields that a part reads."""
    return part.fields if isinstance(part, Part) else (part.removeprefix("-"),)


def entry_function(parts: tuple[str | Part, ...], where: Where | None) -> Callable[[Any], Entry | None]:
    """From a row to its entry in an ordered index, None when `where` leaves it out.

    The entry is the tuple of the parts (descending ones negated); then the id, which decides between equals, and the
    row itself, which is never compared because the id has decided. It is compiled from source text: a function per part
    would cost a call for each.
    """
    names: dict[str, Any] = {}
    terms = [_term(part, f"part_{n}", names) for n, part in enumerate(parts)]
    source = f"lambda row: ({', '.join(terms)}, row.id, row)"
    if where is not None:
        names["where"] = where[0]
        source += f" if where({_values(where[1:])}) else None"
    function: Callable[[Any], Entry | None] = eval(source, names)
    return function


def bound_function(parts: tuple[str | Part, ...]) -> Bound:
    """From a prefix in the terms of the declaration to one in the terms of the entries."""
    signs = tuple(is_descending(part) for part in parts)
    if not any(signs):
        return _same

    def bound(prefix: Entry) -> Entry:
        return tuple([-value if n < len(signs) and signs[n] else value for n, value in enumerate(prefix)])

    return bound


def _same(prefix: Entry) -> Entry:
    return prefix


def _term(part: str | Part, name: str, names: dict[str, Any]) -> str:
    sign = "-" if is_descending(part) else ""
    if isinstance(part, str):
        return f"{sign}row.{part.removeprefix('-')}"
    names[name] = part.function
    return f"{sign}{name}({_values(part.fields)})"


def _values(fields: tuple[str, ...]) -> str:
    return ", ".join([f"row.{field}" for field in fields])
