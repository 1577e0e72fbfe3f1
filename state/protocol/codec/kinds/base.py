"""`Kind`, the base of field kinds, the codec interface that kinds use, and the encoding of lengths.

A kind is declared in the annotation of a field, independent of any chain. It supplies four functions to the codec of a chain:

    packer(codecs)          value -> bytes
    unpacker(codecs)        bytes, position -> value, position
    dumper(codecs, legacy)  value -> JSON value, or None if values are used as JSON unchanged
    parser(codecs, legacy)  JSON value -> value

`legacy` selects the condenser's dialect (wire-format.md §5) instead of the NAI form. Source: wire-format.md §1.1-1.3.
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
    """Interface of a chain's codec for kinds and operations. `ChainCodecs` implements it.

    The parameter `of` is a kind or a declared class. A kind with element kinds gets their functions from the codec and not from the element
    kinds, because the codec creates each function only once.
    """

    spec: ChainSpec
    symbols: Symbols
    canonical: bool
    """Whether unpackers accept only bytes that packing would produce, and raise NotCanonical for others."""
    spend: Spend
    """Counts the work of parsing JSON."""

    def packer(self, of: Any) -> Pack:
        """Return the function that converts a value to its bytes."""

    def unpacker(self, of: Any) -> Unpack:
        """Return the function that converts bytes and a position to a value and the position after the value."""

    def dumper(self, of: Any, legacy: bool = False) -> Dump | None:
        """Return the function that converts a value to its JSON form, or None if values are used as JSON unchanged."""

    def parser(self, of: Any, legacy: bool = False) -> Parse:
        """Return the function that converts a JSON value to a value."""

    def default(self, of: Any) -> Any:
        """Return the default value of a missing field of this type."""

    def pack(self, value: Any) -> bytes:
        """Encode an instance of a declared class."""

    def unpack(self, of: Any, data: bytes, exact: bool = False) -> Any:
        """Decode the value at the start of `data`. With `exact`, `data` must end after the value. Raises ChainError."""


class Kind:
    """Base of all kinds. If a kind has a fixed size and needs no conversion, `layout` is its format character for `struct`."""

    layout: str = ""
    default: Any = None

    def packer(self, codecs: Codecs) -> Pack:
        """Return the function that packs a value."""
        raise TypeError(f"{type(self).__name__} has no binary form")

    def unpacker(self, codecs: Codecs) -> Unpack:
        """Return the function that unpacks a value."""
        raise TypeError(f"{type(self).__name__} has no binary form")

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        """Return the function that writes a value as JSON, or None if values are used as JSON unchanged."""
        return None

    def dump_source(self, codecs: Codecs, legacy: bool) -> str:
        """Return a Python expression with the same result as `dumper`, for generated code that would otherwise call a function.

        In it, `$value` stands for the value, which may occur once, and `$dump` for the dumper. "" means that there is no such expression. A
        class that replaces the `dumper` of its base must replace this, too.
        """
        return ""

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        """Return the function that reads a value from JSON."""
        raise TypeError(f"{type(self).__name__} can't be parsed")


def pack_length(n: int) -> bytes:
    """Encode a number as a varint: unsigned LEB128, low bits first."""
    if n < 128:
        return LENGTHS[n]
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def unpack_length(data: bytes, i: int, canonical: bool = False) -> tuple[int, int]:
    """Read a varint of at most five bytes. Return its value, which wraps at 2^32 as in the reference, and the position after it."""
    low = data[i]
    if low < 128:
        return low, i + 1
    high = data[i + 1]
    if 0 < high < 128:  # two bytes, as for nearly all long texts
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

    Each element takes at least one byte, so a number greater than the number of remaining bytes is refused. Otherwise a few bytes could
    cause an allocation for billions of elements.
    """
    n = data[i]
    i += 1
    if n > 127:
        n, i = unpack_length(data, i - 1, canonical)
    if n > len(data) - i:
        raise OutOfRange("read datastream of length ${n} over by ${m}", n=len(data), m=n - (len(data) - i))
    return n, i


def as_it_is(value: Any) -> Any:
    """Return the value unchanged. Used where a dumper is required, for types that don't need a dumper."""
    return value
