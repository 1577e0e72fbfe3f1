"""The codec of a chain: functions that read and write each declared type, bound to the chain's symbols, key prefix and brand word.

The functions are created on first use and cached. In the condenser's dialect a type can add constants (LEGACY_EXTRA) and omit fields
(LEGACY_ABSENT).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from state.protocol.codec.code_generator import struct_dumper, struct_packer, struct_parser, struct_unpacker
from state.protocol.codec.fields import BUILT_IN, field_default, kind_of, wire_fields
from state.protocol.codec.kinds import Codecs, CoinFee, CoinFeeKind, Dump, Kind, Pack, Parse, Unpack, as_it_is
from state.protocol.errors import OutOfRange, require
from state.protocol.spec import ChainSpec
from state.protocol.values.symbols import Symbols
from state.protocol.work import Spend, spend_nothing

ClassDumper = Callable[[Codecs, type, bool], Dump]


class ChainCodecs:
    """The codec functions of one chain for declared types. The parameter `of` is a kind or a declared class.

    Unpackers of `canonical` codecs accept only bytes that packing would produce, and raise NotCanonical for others. `class_dumper(codecs,
    cls, legacy)` creates the function that writes a declared class as JSON. The RPC service passes its own `class_dumper`, because its
    records declare more about their fields than operations do.
    """

    def __init__(self, spec: ChainSpec, *, canonical: bool = False, class_dumper: ClassDumper = struct_dumper) -> None:
        self.spec = spec
        self.canonical = canonical
        self.spend: Spend = spend_nothing  # replaced by the state
        self.symbols = Symbols(spec.coin_symbol, spec.debt_symbol, spec.vests_symbol, canonical=canonical)
        self._class_dumper = class_dumper
        self._made: dict[tuple[str, Any], Any] = {}

    def packer(self, of: Any) -> Pack:
        """Return the function that converts a value to its bytes."""
        made: Pack = self._made.get(("pack", of)) or self._make("pack", of)
        return made

    def unpacker(self, of: Any) -> Unpack:
        """Return the function that converts bytes and a position to a value and the position after the value.

        The function doesn't detect the end of the bytes, because a check per field would cost more than the field. The outermost caller
        uses `reading`, which checks once.
        """
        made: Unpack = self._made.get(("unpack", of)) or self._make("unpack", of)
        return made

    def dumper(self, of: Any, legacy: bool = False) -> Dump | None:
        """Return the function that converts a value to its JSON form, or None if values are used as JSON unchanged."""
        what = "legacy dump" if legacy else "dump"
        made: Dump | None = self._made.get((what, of)) or self._make(what, of)
        return made

    def parser(self, of: Any, legacy: bool = False) -> Parse:
        """Return the function that converts JSON to a value of the type `of`. The function raises a ChainError for invalid JSON values."""
        what = "legacy parse" if legacy else "parse"
        made: Parse = self._made.get((what, of)) or self._make(what, of)
        return made

    def _make(self, what: str, of: Any) -> Any:
        """Return the function of a type that the method `what` makes, which is created on first use. A dumper can be None."""
        key = (what, of)
        if key not in self._made:
            of = kind_of(of)
            self._made[key] = self._of_kind(what, of) if isinstance(of, Kind) else self._of_class(what, of)
        return self._made[key]

    def _of_kind(self, what: str, kind: Kind) -> Any:
        # The functions are selected by name. A table of functions would create closures at each lookup, even of a cached function.
        match what:
            case "pack":
                return kind.packer(self)
            case "unpack":
                return kind.unpacker(self)
            case "dump" | "legacy dump":
                return kind.dumper(self, what != "dump")
            case _:
                return kind.parser(self, what != "parse")

    def _of_class(self, what: str, cls: type) -> Any:
        match what:
            case "pack":
                return struct_packer(self, cls)
            case "unpack":
                return struct_unpacker(self, cls)
            case "dump" | "legacy dump":
                return self._class_dumper(self, cls, what != "dump")
            case _:
                return struct_parser(self, cls, what != "parse")

    def default(self, of: Any) -> Any:
        """Return the default value of a missing field of this type."""
        if isinstance(of, CoinFeeKind):
            return CoinFee(self.spec.constants.COIN_MIN_ACCOUNT_CREATION_FEE)
        if isinstance(of, Kind):
            return of.default
        if of in BUILT_IN:
            return self.default(BUILT_IN[of])
        return of(**{field.name: field_default(self, of, field) for field in wire_fields(of)})

    def pack(self, value: Any) -> bytes:
        """Encode an instance of a declared class."""
        return self.packer(type(value))(value)

    def unpack(self, of: Any, data: bytes, exact: bool = False) -> Any:
        """Decode the value at the start of `data`. With `exact`, `data` must end after the value. Raises ChainError."""
        value, end = reading(self.unpacker(of), data, 0)
        require(not exact or end == len(data), "bytes are left over", condition="ds.remaining() == 0")
        return value

    def dump(self, value: Any, legacy: bool = False) -> Any:
        """Return the JSON form of an instance of a declared class."""
        return (self.dumper(type(value), legacy) or as_it_is)(value)


def reading(unpack: Unpack, data: bytes, i: int) -> tuple[Any, int]:
    """Run an unpacker. Raises ChainError if it reads beyond the end of the bytes.

    A slice of bytes that ends early raises no error. Some unpackers therefore return a position beyond the end, which is checked here.
    """
    try:
        value, end = unpack(data, i)
    except (IndexError, struct.error):
        raise past_end(data, len(data) + 1) from None
    if end > len(data):
        raise past_end(data, end)
    return value, end


def past_end(data: bytes, end: int) -> OutOfRange:
    """Return the reference's error for reading up to `end`, beyond the end of the bytes."""
    return OutOfRange("read datastream of length ${n} over by ${m}", n=len(data), m=end - len(data))
