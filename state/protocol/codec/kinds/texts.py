"""Kinds of variable length: texts, texts with a maximum length, bytes. Source: wire-format.md §1.1, §1.6."""

from __future__ import annotations

from typing import Any

from state.protocol.codec.kinds.base import LENGTHS, Codecs, Dump, Kind, Pack, Parse, Unpack, pack_length, unpack_count
from state.protocol.errors import NotCanonical
from state.protocol.values.convert import to_text
from state.protocol.values.text import cut, decode, encode, hex_bytes

KNOWN_TEXTS_MAX = 50_000  # per kind, about 10 MB; the cache is cleared when it is full


class String(Kind):
    """Text of any length. Bytes that aren't valid UTF-8 are preserved as surrogate escapes."""

    default = ""

    def packer(self, codecs: Codecs) -> Pack:
        return pack_text

    def unpacker(self, codecs: Codecs) -> Unpack:
        canonical = codecs.canonical

        def unpack(data: bytes, i: int) -> tuple[str, int]:
            n, i = unpack_count(data, i, canonical)
            return decode(data[i : i + n]), i + n

        return unpack

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return text_from_json


def text_from_json(value: Any) -> str:
    """Parse a text from JSON. Other scalars are converted to text."""
    return value if type(value) is str else to_text(value)


def pack_text(value: str) -> bytes:
    """Encode a text as its length in bytes, then the bytes."""
    data = encode(value)
    n = len(data)
    return (LENGTHS[n] if n < 128 else pack_length(n)) + data


class KnownTexts(dict[bytes, str]):
    """Cache of a kind's decoded texts, by their bytes. `known[raw]` decodes a text that isn't cached yet.

    Most transactions contain the same few names. A lookup takes half the time of decoding, and returns the same object each time, so that
    its hash is cached. Bytes of a text that would be truncated raise KeyError.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def __missing__(self, raw: bytes) -> str:
        if len(raw) > self.size or b"\0" in raw:
            raise KeyError
        if len(self) >= KNOWN_TEXTS_MAX:
            self.clear()
        text = self[raw] = decode(raw)
        return text


class Bounded(String):
    """Text that is truncated to `size` bytes when read: account names (16), custom ids (32)."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.known = KnownTexts(size)

    def unpacker(self, codecs: Codecs) -> Unpack:
        size, known, canonical = self.size, self.known, codecs.canonical

        def unpack(data: bytes, i: int) -> tuple[str, int]:
            n, i = unpack_count(data, i, canonical)
            raw = data[i : i + n]
            try:
                return known[raw], i + n
            except KeyError:
                if canonical:
                    raise NotCanonical from None
                return cut(decode(raw), size), i + n

        return unpack

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        size = self.size

        def parse(value: Any) -> str:
            if type(value) is not str:
                value = to_text(value)
            return value if len(value) <= size and value.isascii() and "\0" not in value else cut(value, size)

        return parse


class Blob(Kind):
    """Bytes of any length, hex in JSON."""

    default = b""

    def packer(self, codecs: Codecs) -> Pack:
        return lambda value: pack_length(len(value)) + value

    def unpacker(self, codecs: Codecs) -> Unpack:
        canonical = codecs.canonical

        def unpack(data: bytes, i: int) -> tuple[bytes, int]:
            n, i = unpack_count(data, i, canonical)
            return data[i : i + n], i + n

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return bytes.hex

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return lambda value: hex_bytes(to_text(value))
