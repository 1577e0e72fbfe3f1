"""The fields of declared types: which of them go over the wire or are shown, in which order, and of what kind each is.

A declared type is a msgspec Struct whose wire fields carry a kind (`AccountName`, `Asset`, `UInt16`, ...) in wire order; fields
without one are the program's own. It knows no chain.
"""

from __future__ import annotations

from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from state.protocol.codec.kinds import AssetKind, CoinFee, CoinFeeKind, Kind, Maybe, PriceKind
from state.protocol.codec.shown import At, MaybeAt
from state.protocol.values.asset import Asset, Price

BUILT_IN: dict[Any, Kind] = {Asset: AssetKind(), Price: PriceKind(), CoinFee: CoinFeeKind()}


class Field(Struct, frozen=True):
    """One wire field of a declared type: its name in Python, its name in JSON (product form), and its kind."""

    name: str
    json: str
    kind: Any


def wire_fields(cls: type) -> list[Field]:
    """The fields of a declared type that go over the wire, in order."""
    hints = get_type_hints(cls, include_extras=True)
    out = []
    for name in cls.__struct_fields__:  # type: ignore[attr-defined]
        kind = kind_of_hint(hints[name])
        if kind is not None:
            out.append(Field(name, name.rstrip("_"), kind))
    return out


def shown_fields(cls: type, legacy: bool) -> list[Field]:
    """The wire fields of a declared type that one of the JSON forms has; a class names what is absent from either."""
    absent = getattr(cls, "LEGACY_ABSENT" if legacy else "APPBASE_ABSENT", ())
    return [field for field in wire_fields(cls) if field.name not in absent]


def place_of(cls: type, field: Field) -> str:
    """Where a dumper reads a field of `v`: its attribute, below the attribute `ROOT` if the class has one, or at its path."""
    if isinstance(field.kind, At | MaybeAt):
        path = field.kind.path
    else:
        root = getattr(cls, "ROOT", "")
        path = f"{root}.{field.name}" if root else field.name
    return f"v.{path}" if path else "v"


def kind_of_hint(hint: Any) -> Any:
    """The kind of an annotation: that of an `Annotated`, a declared class itself, `Maybe` of an optional one, or None."""
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, Kind):
            return extra
    if hint in BUILT_IN:
        return BUILT_IN[hint]
    if isinstance(hint, type) and issubclass(hint, Struct) and get_origin(hint) is None:
        return hint
    arguments = get_args(hint)
    if len(arguments) == 2 and arguments[1] is type(None):
        inner = kind_of_hint(arguments[0])
        return None if inner is None else Maybe(inner)
    return None
