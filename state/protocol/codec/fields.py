"""The fields of declared types: their wire order, their kinds, and the fields of each JSON form.

A declared type is a msgspec Struct whose wire fields are annotated with a kind (`AccountName`, `Asset`, `UInt16`, ...) in wire order.
Fields without a kind are internal.
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
    """Return the kind of a built-in class (`BUILT_IN`). Any other argument is returned unchanged."""
    return BUILT_IN.get(of, of) if isinstance(of, type) else of


class Field(Struct, frozen=True):
    """A wire field of a declared type: its name in Python, its name in JSON (in the product's spelling), and its kind."""

    name: str
    json: str
    kind: Any


def wire_fields(cls: type) -> tuple[Field, ...]:
    """Return the wire fields of a declared type, in the order in which they are packed."""
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
    """Return the wire fields in a JSON form (`legacy`: the condenser's). Fields in LEGACY_ABSENT or APPBASE_ABSENT are omitted."""
    absent = getattr(cls, "LEGACY_ABSENT" if legacy else "APPBASE_ABSENT", ())
    return [field for field in wire_fields(cls) if field.name not in absent]


def field_default(codecs: Codecs, cls: Any, field: Field) -> Any:
    """Return the declared default of a field, or the default of its kind if none is declared. A `default_factory` is ignored."""
    position = cls.__struct_fields__.index(field.name) - len(cls.__struct_fields__) + len(cls.__struct_defaults__)
    declared = cls.__struct_defaults__[position] if position >= 0 else MISSING
    return declared if isinstance(declared, (int, str, bytes, tuple, Struct, type(None))) else codecs.default(field.kind)


def kind_of_field(cls: type, name: str) -> Any:
    """Return the kind of a field, or None for an internal field.

    Only this field's annotation is resolved, in the module of the class. This also works while that module is still loading, when names in
    other annotations may be undefined, and it makes imports faster.
    """
    hint = cls.__annotations__[name]
    return kind_of_hint(eval(hint, vars(sys.modules[cls.__module__])) if isinstance(hint, str) else hint)


def kind_of_hint(hint: Any) -> Any:
    """Return the kind of an annotation: the kind in `Annotated`, a declared class, `Maybe` for an optional type, or None for other
    annotations.
    """
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
