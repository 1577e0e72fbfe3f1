"""What a kind of field is, and the lengths that several kinds begin with. No chain rule, no state.

A kind is declared once and is bound to a chain by `Codecs` (codec.py), which asks it for the four functions:

    packer(codecs)          value -> bytes
    unpacker(codecs)        bytes, position -> value, position
    dumper(codecs, legacy)  value -> JSON value, or None when the value is its own JSON form
    parser(codecs, legacy)  JSON value -> value

`legacy` is the condenser's dialect (wire-format.md §5), otherwise the NAI form. Source: wire-format.md §1.1-1.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from state.protocol.errors import OutOfRange

if TYPE_CHECKING:
    from state.protocol.codec.codecs import Codecs


Pack = Callable[[Any], bytes]
Unpack = Callable[[bytes, int], tuple[Any, int]]
Dump = Callable[[Any], Any]
Parse = Callable[[Any], Any]

LENGTHS = tuple(bytes((n,)) for n in range(128))


class NotCanonical(Exception):
    """Bytes that packing wouldn't give: reading them and packing the value again changes them (wire-format.md §1.2)."""


class Kind:
    """Base of all kinds. `layout` is a struct code for kinds of fixed size that struct reads as they are."""

    layout: str = ""
    default: Any = None

    def packer(self, codecs: Codecs) -> Pack:
        """How a value is packed."""
        raise TypeError(f"{type(self).__name__} has no binary form")

    def unpacker(self, codecs: Codecs) -> Unpack:
        """How a value is read from bytes."""
        raise TypeError(f"{type(self).__name__} has no binary form")

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        """How a value is written as JSON; None when it is its own JSON form."""
        return None

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        """How a value is read from JSON."""
        raise TypeError(f"{type(self).__name__} is only written")


def pack_length(n: int) -> bytes:
    """A varint: unsigned LEB128, low bits first."""
    if n < 128:
        return LENGTHS[n]
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def unpack_length(data: bytes, i: int, canonical: bool = False) -> tuple[int, int]:
    """A varint of at most five bytes; bits above 2^32 are lost, as in the reference."""
    start = i
    n = shift = 0
    for _ in range(5):
        byte = data[i]
        i += 1
        n |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    n &= 0xFFFFFFFF
    if canonical and i - start > 1 and pack_length(n) != data[start:i]:
        raise NotCanonical
    return n, i


def unpack_count(data: bytes, i: int, canonical: bool = False) -> tuple[int, int]:
    """The number of elements of a container, bounded by the bytes that are left."""
    n = data[i]
    i += 1
    if n > 127:
        n, i = unpack_length(data, i - 1, canonical)
    if n > len(data) - i:
        raise OutOfRange("read datastream of length ${n} over by ${m}", n=len(data), m=n - (len(data) - i))
    return n, i


def as_it_is(value: Any) -> Any:
    """The value itself."""
    return value
