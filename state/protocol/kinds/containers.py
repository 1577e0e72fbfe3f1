"""Kinds that hold others: lists, sets, maps, optional values. Source: wire-format.md §1.1, §1.4."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from state.protocol.convert import to_array
from state.protocol.errors import Refused
from state.protocol.kinds.base import Dump, Kind, Pack, Parse, Unpack, as_it_is, pack_length, unpack_count
from state.protocol.kinds.scalars import flag
from state.protocol.kinds.variants import untagged
from state.protocol.text import encode

if TYPE_CHECKING:
    from state.protocol.codec import Codecs


class Many(Kind):
    """A container of one kind of element; `ascending` makes it a set, which is sorted and loses duplicates when read.

    `strict` sets (proposal ids) must already be in order in JSON; in bytes they are sorted like any other.
    """

    default = ()

    def __init__(self, element: Any, ascending: bool = False, strict: bool = False) -> None:
        self.element, self.ascending, self.strict = element, ascending, strict

    def packer(self, codecs: Codecs) -> Pack:
        pack = codecs.packer(self.element)
        return lambda values: pack_length(len(values)) + b"".join([pack(value) for value in values])

    def unpacker(self, codecs: Codecs) -> Unpack:
        read, ascending = codecs.unpacker(self.element), self.ascending

        def unpack(data: bytes, i: int) -> tuple[tuple[Any, ...], int]:
            n, i = unpack_count(data, i)
            values = []
            for _ in range(n):
                value, i = read(data, i)
                values.append(value)
            return (ordered(values) if ascending and n > 1 else tuple(values)), i

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        dump = codecs.dumper(self.element, legacy)
        return list if dump is None else lambda values: [dump(value) for value in values]

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        read, ascending, strict = codecs.parser(self.element, legacy), self.ascending, self.strict

        def parse(value: Any) -> tuple[Any, ...]:
            values = [read(item) for item in to_array(value)]
            if strict and any(a >= b for a, b in pairwise(values)):
                raise Refused("Items should be unique and sorted", condition="tmp > last")
            return ordered(values) if ascending and len(values) > 1 else tuple(values)

        return parse


def ordered(values: list[Any]) -> tuple[Any, ...]:
    """Ascending and unique; of variants that have the same tag the first stays. Text sorts by its bytes."""
    out: dict[Any, Any] = {}
    for value in values:
        out.setdefault(sort_key(value), value)
    return tuple(out[key] for key in sorted(out))


def sort_key(value: Any) -> Any:
    """What a member of a set is sorted by."""
    if type(value) is str:
        return encode(value)
    if isinstance(value, Struct):
        return untagged(value)[0]
    return value


class Pairs(Kind):
    """A map, kept as a tuple of pairs in ascending order of their keys; the first of equal keys wins."""

    default = ()

    def __init__(self, key: Any, value: Any) -> None:
        self.key, self.value = key, value

    def packer(self, codecs: Codecs) -> Pack:
        key, value = codecs.packer(self.key), codecs.packer(self.value)
        return lambda pairs: pack_length(len(pairs)) + b"".join([key(k) + value(v) for k, v in pairs])

    def unpacker(self, codecs: Codecs) -> Unpack:
        key, value = codecs.unpacker(self.key), codecs.unpacker(self.value)

        def unpack(data: bytes, i: int) -> tuple[tuple[Any, ...], int]:
            n, i = unpack_count(data, i)
            pairs = []
            for _ in range(n):
                k, i = key(data, i)
                v, i = value(data, i)
                pairs.append((k, v))
            return (ordered_pairs(pairs) if n > 1 else tuple(pairs)), i

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        key, value = codecs.dumper(self.key, legacy) or as_it_is, codecs.dumper(self.value, legacy) or as_it_is
        return lambda pairs: [[key(k), value(v)] for k, v in pairs]

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        kinds = (self.key, self.value)
        readers = [codecs.parser(kind, legacy) for kind in kinds]
        defaults = [codecs.default(kind) for kind in kinds]

        def parse(value: Any) -> tuple[Any, ...]:
            pairs = []
            for item in to_array(value):
                given = to_array(item)
                pairs.append(tuple(readers[j](given[j]) if j < len(given) else defaults[j] for j in (0, 1)))
            return ordered_pairs(pairs)

        return parse


def ordered_pairs(pairs: list[Any]) -> tuple[Any, ...]:
    """Pairs by ascending key; the first of equal keys stays."""
    out: dict[Any, Any] = {}
    for pair in pairs:
        out.setdefault(sort_key(pair[0]), pair)
    return tuple(out[key] for key in sorted(out))


class Maybe(Kind):
    """An optional value: left out of JSON when unset; `null` is unset too."""

    def __init__(self, element: Any) -> None:
        self.element = element

    def packer(self, codecs: Codecs) -> Pack:
        pack = codecs.packer(self.element)
        return lambda value: b"\0" if value is None else b"\1" + pack(value)

    def unpacker(self, codecs: Codecs) -> Unpack:
        read = codecs.unpacker(self.element)
        return lambda data, i: read(data, i + 1) if flag(data[i]) else (None, i + 1)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return codecs.dumper(self.element, legacy)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        read = codecs.parser(self.element, legacy)
        return lambda value: None if value is None else read(value)
