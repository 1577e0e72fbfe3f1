"""Kinds of fixed size: integers, bools, times, enumerations, hashes, keys, versions. Source: wire-format.md §1.1, §1.5, §1.7, §1.12."""

from __future__ import annotations

from struct import Struct as Layout
from typing import Any

from state.protocol.codec.kinds.base import Codecs, Dump, Kind, Pack, Parse, Unpack
from state.protocol.errors import NotCanonical, Refused
from state.protocol.keys.keys import public_key_from_text, public_key_text
from state.protocol.values.convert import JSON_NUMBER_MAX, json_int, to_bool, to_choice, to_int, to_text, to_u128
from state.protocol.values.integers import HALF64, UINT32_MAX, UINT64_MAX, WORD64
from state.protocol.values.text import fixed_hex, time_from_text, time_text, version_from_text, version_text
from state.protocol.work import KEY_TEXT_UNITS


class Fixed(Kind):
    """A value of fixed size, packed in the `struct` format `layout`."""

    def packer(self, codecs: Codecs) -> Pack:
        return Layout("<" + self.layout).pack

    def unpacker(self, codecs: Codecs) -> Unpack:
        layout = Layout("<" + self.layout)
        read, size = layout.unpack_from, layout.size

        def unpack(data: bytes, i: int) -> tuple[Any, int]:
            return read(data, i)[0], i + size

        return unpack


class Int(Fixed):
    """A machine integer. A value beyond its range wraps silently, as in the reference. In JSON, 64-bit values above 2^32-1 are text."""

    default = 0

    def __init__(self, bits: int, signed: bool = False) -> None:
        self.bits, self.signed = bits, signed
        code = {8: "b", 16: "h", 32: "i", 64: "q"}[bits]
        self.layout = code if signed else code.upper()

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return json_int if self.bits == 64 else None

    def dump_source(self, codecs: Codecs, legacy: bool) -> str:
        return f"(x if (x := $value) <= {JSON_NUMBER_MAX} else str(x))" if self.bits == 64 else ""

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        bits, signed = self.bits, self.signed
        top = 1 << (bits - 1)

        def parse(value: Any) -> int:
            if type(value) is int and 0 <= value < top:
                return value
            return to_int(value, bits, signed)

        return parse


class ShareAmount(Int):
    """A signed 64-bit amount. JSON is parsed as an unsigned number, and its bits are reinterpreted as signed."""

    def __init__(self) -> None:
        super().__init__(64, signed=True)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        def parse(value: Any) -> int:
            number = to_int(value, 64, False)
            return number if number < HALF64 else number - WORD64

        return parse


class Wide(Kind):
    """An unsigned 128-bit number: the high 64 bits first, each half little-endian. Always text in JSON."""

    default = 0

    def packer(self, codecs: Codecs) -> Pack:
        pack = Layout("<QQ").pack
        return lambda value: pack(value >> 64, value & UINT64_MAX)

    def unpacker(self, codecs: Codecs) -> Unpack:
        read = Layout("<QQ").unpack_from

        def unpack(data: bytes, i: int) -> tuple[int, int]:
            high, low = read(data, i)
            return high << 64 | low, i + 16

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return str

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return to_u128


class Flag(Kind):
    """A bool. Bytes other than 0 and 1 are refused."""

    default = False

    def packer(self, codecs: Codecs) -> Pack:
        return lambda value: b"\1" if value else b"\0"

    def unpacker(self, codecs: Codecs) -> Unpack:
        return lambda data, i: (flag(data[i]), i + 1)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return to_bool


def flag(byte: int) -> bool:
    """Decode a bool. Refuses bytes other than 0 and 1."""
    if byte > 1:
        raise Refused(condition="( b & ~1 ) == 0")
    return byte == 1


class Seconds(Fixed):
    """A time in unsigned 32-bit seconds since 1970."""

    layout = "I"
    default = 0

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return time_text

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return lambda value: time_from_text(value if type(value) is str else to_text(value))


class Choice(Fixed):
    """An enumeration, packed in 8 bytes and written to JSON by name. JSON that is read can contain a name or a number in any form."""

    layout = "q"
    default = 0

    def __init__(self, title: str, *names: str) -> None:
        self.title, self.names = title, names

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        names = self.names
        return lambda value: names[value] if 0 <= value < len(names) else str(value)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        names, title = self.names, codecs.spec.spell(self.title)
        return lambda value: to_choice(value, names, title)


class Hash(Fixed):
    """A fixed number of bytes, hex in JSON. Shorter JSON values are zero-filled on the right, longer ones truncated."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.layout = f"{size}s"
        self.default = bytes(size)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return bytes.hex

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        size = self.size
        return lambda value: fixed_hex(value if type(value) is str else to_text(value), size)


class Key(Fixed):
    """A public key: a compressed point of 33 bytes. All zeros means no key."""

    layout = "33s"
    default = bytes(33)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        prefix = codecs.spec.key_prefix
        return lambda value: public_key_text(value, prefix)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        prefix = codecs.spec.key_prefix

        def parse(value: Any) -> bytes:
            # The most expensive value to parse: other strings take a tenth of the time.
            codecs.spend(KEY_TEXT_UNITS, "texts of keys")
            return public_key_from_text(value if type(value) is str else to_text(value), prefix)

        return parse


class Release(Fixed):
    """A software version: major, hardfork and release packed into one integer. For a hardfork version, `mask` removes the release."""

    layout = "I"
    default = 0

    def __init__(self, mask: int = UINT32_MAX) -> None:
        self.mask = mask

    def unpacker(self, codecs: Codecs) -> Unpack:
        read, mask, canonical = Layout("<I").unpack_from, self.mask, codecs.canonical

        def unpack(data: bytes, i: int) -> tuple[int, int]:
            number = read(data, i)[0]
            if canonical and number & ~mask:
                raise NotCanonical
            return number & mask, i + 4

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return version_text

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        mask = self.mask
        return lambda value: version_from_text(to_text(value)) & mask
