"""The codec of a chain: functions that read and write each declared type, bound to the chain's symbols, key prefix and spelling.

They are made on first use and kept. In the condenser's dialect a type may add constants (LEGACY_EXTRA) and leave out fields
(LEGACY_ABSENT). It knows no operation and no state.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from state.protocol.errors import OutOfRange, require
from state.protocol.fields import BUILT_IN, Field, shown_fields, wire_fields
from state.protocol.kinds import CoinFee, CoinFeeKind, Dump, Kind, Maybe, Pack, Parse, Unpack, as_it_is
from state.protocol.shown import Always, At
from state.protocol.straight import MISSING, struct_dumper, struct_packer, struct_parser, struct_unpacker
from state.protocol.symbols import Symbols

if TYPE_CHECKING:
    from state.protocol.spec import ChainSpec


class Codecs:
    """All functions of one chain that read and write declared types. `of` may be a kind or a declared class.

    The unpackers of `canonical` codecs take only the bytes that packing gives, and raise NotCanonical for others.
    """

    def __init__(self, spec: ChainSpec, canonical: bool = False) -> None:
        self.spec = spec
        self.canonical = canonical
        self.symbols = Symbols(spec, canonical)
        self._made: dict[tuple[str, Any], Any] = {}

    # -------------------------------------------------------------- the four functions of a type

    def packer(self, of: Any) -> Pack:
        """value -> bytes."""
        made: Pack = self._make("pack", of, lambda kind: kind.packer(self), lambda cls: struct_packer(self, cls))
        return made

    def unpacker(self, of: Any) -> Unpack:
        """bytes, position -> value, position. May run past the end: callers go through `reading`."""
        made: Unpack = self._make("unpack", of, lambda kind: kind.unpacker(self), lambda cls: struct_unpacker(self, cls))
        return made

    def dumper(self, of: Any, legacy: bool = False) -> Dump | None:
        """value -> JSON value; None when a value is its own JSON form."""
        made: Dump | None = self._make(
            f"dump{legacy:d}", of, lambda kind: kind.dumper(self, legacy), lambda cls: struct_dumper(self, cls, legacy)
        )
        return made

    def parser(self, of: Any, legacy: bool = False) -> Parse:
        """JSON value -> value; raises a ChainError for everything that it doesn't take."""
        made: Parse = self._make(
            f"parse{legacy:d}", of, lambda kind: kind.parser(self, legacy), lambda cls: struct_parser(self, cls, legacy)
        )
        return made

    def _make(self, what: str, of: Any, from_kind: Callable[[Kind], Any], from_class: Callable[[type], Any]) -> Any:
        key = (what, of)
        if key not in self._made:
            of = BUILT_IN.get(of, of) if isinstance(of, type) else of
            self._made[key] = from_kind(of) if isinstance(of, Kind) else from_class(of)
        return self._made[key]

    # -------------------------------------------------------------- defaults

    def default(self, of: Any) -> Any:
        """The value of a field that is left out."""
        if isinstance(of, CoinFeeKind):
            return CoinFee(self.spec.constants.COIN_MIN_ACCOUNT_CREATION_FEE)
        if isinstance(of, Kind):
            return of.default
        if of in BUILT_IN:
            return self.default(BUILT_IN[of])
        return of(**{field.name: self.field_default(of, field) for field in wire_fields(of)})

    def field_default(self, cls: Any, field: Field) -> Any:
        """The declared default of a field, or else that of its kind."""
        position = cls.__struct_fields__.index(field.name) - len(cls.__struct_fields__) + len(cls.__struct_defaults__)
        declared = cls.__struct_defaults__[position] if position >= 0 else MISSING
        return declared if isinstance(declared, (int, str, bytes, tuple, Struct, type(None))) else self.default(field.kind)

    def blank(self, of: Any, legacy: bool = False) -> Any:
        """The JSON form of a type with nothing in it; optional fields are left out."""
        if isinstance(of, Always):
            return of.value
        if isinstance(of, At):
            return self.blank(of.kind, legacy)
        if isinstance(of, Kind) or of in BUILT_IN:
            return (self.dumper(of, legacy) or as_it_is)(self.default(of))
        fields = [field for field in shown_fields(of, legacy) if not isinstance(field.kind, Maybe)]
        return {self.spec.spell(field.json): self.blank(field.kind, legacy) for field in fields}

    # -------------------------------------------------------------- whole values

    def pack(self, value: Any) -> bytes:
        """The bytes of a declared value."""
        return self.packer(type(value))(value)

    def unpack(self, of: Any, data: bytes, exact: bool = False) -> Any:
        """A value from bytes; what is left over is ignored unless `exact`. Bad bytes end in one ChainError."""
        value, end = reading(self.unpacker(of), data, 0)
        require(not exact or end == len(data), "bytes are left over", condition="ds.remaining() == 0")
        return value

    def dump(self, value: Any, legacy: bool = False) -> Any:
        """The JSON form of a declared value."""
        return (self.dumper(type(value), legacy) or as_it_is)(value)


def reading(unpack: Unpack, data: bytes, i: int) -> tuple[Any, int]:
    """Run an unpacker; reading past the end, which shows late or not at all, is one ChainError."""
    try:
        value, end = unpack(data, i)
    except (IndexError, struct.error):
        raise past_end(data, len(data) + 1) from None
    if end > len(data):
        raise past_end(data, end)
    return value, end


def past_end(data: bytes, end: int) -> OutOfRange:
    """The error of reading beyond the bytes given."""
    return OutOfRange("read datastream of length ${n} over by ${m}", n=len(data), m=end - len(data))
