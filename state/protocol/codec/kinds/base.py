"""What a kind of field is, what it may ask of the codec that it is bound to, and the lengths that several kinds begin with.

A kind is declared once, in the annotation of a field, and knows no chain. The codec of a chain asks it for four functions:

    packer(codecs)          value -> bytes
    unpacker(codecs)        bytes, position -> value, position
    dumper(codecs, legacy)  value -> JSON value, or None when the value is its own JSON form
    parser(codecs, legacy)  JSON value -> value

`legacy` is the condenser's dialect (wire-format.md §5), otherwise the NAI form. Source: wire-format.md §1.1-1.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from state.protocol.errors import NotCanonical, OutOfRange
from state.protocol.spec import ChainSpec
from state.protocol.values.integers import UINT32_MAX
from state.protocol.values.symbols import Symbols
from state.protocol.work import Spend

Pack = Callable[[Any], bytes]
Unpack = Callable[[bytes, int], tuple[Any, int]]
Dump = Callable[[Any], Any]
Parse = Callable[[Any], Any]

LENGTHS = tuple(bytes((n,)) for n in range(128))


class Codecs(Protocol):
    """The codec of a chain, as far as kinds and operations know it; `ChainCodecs` is the one that there is.

    `of` is a kind or a declared class. A kind that holds others asks here for their functions, never those others themselves:
    the codec makes each function once.
    """

    spec: ChainSpec
    symbols: Symbols
    canonical: bool
    """Whether unpackers take only the bytes that packing gives, and raise NotCanonical for others."""
    spend: Spend
    """Counts the work of reading JSON."""

    def packer(self, of: Any) -> Pack:
        """Return the function from a value to its bytes."""

    def unpacker(self, of: Any) -> Unpack:
        """Return the function from bytes and a position to a value and the position after it."""

    def dumper(self, of: Any, legacy: bool = False) -> Dump | None:
        """Return the function from a value to its JSON form, None when each value is its own JSON form."""

    def parser(self, of: Any, legacy: bool = False) -> Parse:
        """Return the function from a JSON value to a value."""

    def default(self, of: Any) -> Any:
        """Return the value of a field that is left out."""

    def pack(self, value: Any) -> bytes:
        """Return the bytes of a value of a declared class."""

    def unpack(self, of: Any, data: bytes, exact: bool = False) -> Any:
        """Return the value that bytes begin with, or with `exact` consist of; raise a ChainError when they hold none."""


class Kind:
    """Base of all kinds. `layout` is a struct code for kinds of fixed size that struct reads as they are."""

    layout: str = ""
    default: Any = None

    def packer(self, codecs: Codecs) -> Pack:
        """Return the function that packs a value, for the chain of these codecs."""
        raise TypeError(f"{type(self).__name__} has no binary form")

    def unpacker(self, codecs: Codecs) -> Unpack:
        """Return the function that reads a value from bytes."""
        raise TypeError(f"{type(self).__name__} has no binary form")

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        """Return the function that writes a value as JSON, None when each value is its own JSON form."""
        return None

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        """Return the function that reads a value from JSON."""
        raise TypeError(f"{type(self).__name__} is only written")


def pack_length(n: int) -> bytes:
    """Return a number as a varint: unsigned LEB128, low bits first."""
    if n < 128:
        return LENGTHS[n]
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def unpack_length(data: bytes, i: int, canonical: bool = False) -> tuple[int, int]:
    """Read a varint of at most five bytes, and return it with the position after it; bits from 2^32 on are lost, as in the reference."""
    low = data[i]
    if low < 128:
        return low, i + 1
    high = data[i + 1]
    if 0 < high < 128:  # two bytes, like those of nearly all long texts
        return low & 127 | high << 7, i + 2
    start = i
    n = shift = 0
    for _ in range(5):
        byte = data[i]
        i += 1
        n |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    n &= UINT32_MAX
    if canonical and i - start > 1 and pack_length(n) != data[start:i]:
        raise NotCanonical
    return n, i


def unpack_count(data: bytes, i: int, canonical: bool = False) -> tuple[int, int]:
    """Read the number of elements of a container, and return it with the position after it.

    Each element takes at least one byte, so a number greater than what is left is refused at once. Otherwise a few bytes could make
    the reader of a container ask for memory for billions of elements.
    """
    n = data[i]
    i += 1
    if n > 127:
        n, i = unpack_length(data, i - 1, canonical)
    if n > len(data) - i:
        raise OutOfRange("read datastream of length ${n} over by ${m}", n=len(data), m=n - (len(data) - i))
    return n, i


def as_it_is(value: Any) -> Any:
    """Return the value itself: stands for a dumper where a function is needed."""
    return value
