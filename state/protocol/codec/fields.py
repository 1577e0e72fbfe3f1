"""The fields of declared types: which of them go over the wire or are shown, in which order, and of what kind each is.

A declared type is a msgspec Struct whose wire fields carry a kind (`AccountName`, `Asset`, `UInt16`, ...) in wire order; fields
without one are the program's own. It knows no chain.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from state.protocol.codec.kinds import AssetKind, Codecs, CoinFee, CoinFeeKind, Kind, Maybe, PriceKind
from state.protocol.values.asset import Asset, Price

MISSING: Any = type("Missing", (), {"__repr__": lambda _: "missing"})()
BUILT_IN: dict[Any, Kind] = {Asset: AssetKind(), Price: PriceKind(), CoinFee: CoinFeeKind()}


def kind_of(of: Any) -> Any:
    """Return a kind as it is, and the kind of a class that stands for one; any other declared class as it is."""
    return BUILT_IN.get(of, of) if isinstance(of, type) else of


class Field(Struct, frozen=True):
    """One wire field of a declared type: its name in Python, its name in JSON (product form), and its kind."""

    name: str
    json: str
    kind: Any


def wire_fields(cls: type) -> tuple[Field, ...]:
    """Return the fields of a declared type that go over the wire, in wire order."""
    return _wire_fields(cls)


@cache  # reading annotations takes up to a millisecond
def _wire_fields(cls: type) -> tuple[Field, ...]:
    hints = get_type_hints(cls, include_extras=True)
    out = []
    for name in cls.__struct_fields__:  # type: ignore[attr-defined]
        kind = kind_of_hint(hints[name])
        if kind is not None:
            out.append(Field(name, name.rstrip("_"), kind))
    return tuple(out)


def shown_fields(cls: type, legacy: bool) -> list[Field]:
    """Return the wire fields that one of the two JSON forms shows; LEGACY_ABSENT and APPBASE_ABSENT of a class name the others."""
    absent = getattr(cls, "LEGACY_ABSENT" if legacy else "APPBASE_ABSENT", ())
    return [field for field in wire_fields(cls) if field.name not in absent]


def field_default(codecs: Codecs, cls: Any, field: Field) -> Any:
    """The declared default of a field, or else that of its kind; a factory (`default_factory`) counts as no default."""
    position = cls.__struct_fields__.index(field.name) - len(cls.__struct_fields__) + len(cls.__struct_defaults__)
    declared = cls.__struct_defaults__[position] if position >= 0 else MISSING
    return declared if isinstance(declared, (int, str, bytes, tuple, Struct, type(None))) else codecs.default(field.kind)


def kind_of_field(cls: type, name: str) -> Any:
    """The kind of one field, None for a field of the program's own.

    It resolves the annotation of this field alone, in the module of the class. So it can be asked while that module is still being
    loaded, when the names in other annotations may not be there yet, and costs little at import.
    """
    hint = cls.__annotations__[name]
    return kind_of_hint(eval(hint, vars(sys.modules[cls.__module__])) if isinstance(hint, str) else hint)


def kind_of_hint(hint: Any) -> Any:
    """Return the kind of an annotation: the one in an `Annotated`, a declared class itself, `Maybe` of an optional one, otherwise None."""
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
