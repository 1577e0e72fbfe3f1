"""Container kinds: lists, sets, maps, optional values. Source: wire-format.md §1.1, §1.4."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from msgspec import Struct

from state.protocol.codec.kinds.base import Codecs, Dump, Kind, Pack, Parse, Unpack, as_it_is, pack_length, unpack_count
from state.protocol.codec.kinds.scalars import flag
from state.protocol.codec.kinds.variants import split_tag
from state.protocol.errors import NotCanonical, require
from state.protocol.values.convert import to_array
from state.protocol.values.text import encode


class Many(Kind):
    """A container of elements of one kind. With `ascending` it is a set: reading sorts the elements and drops duplicates.

    A `strict` set (proposal ids) must already be sorted in JSON; in bytes it is sorted like any other set.
    """

    default = ()

    def __init__(self, element: Any, ascending: bool = False, strict: bool = False) -> None:
        self.element, self.ascending, self.strict = element, ascending, strict

    def packer(self, codecs: Codecs) -> Pack:
        pack = codecs.packer(self.element)
        return lambda values: pack_length(len(values)) + b"".join([pack(value) for value in values]) if values else b"\0"

    def unpacker(self, codecs: Codecs) -> Unpack:
        read, ascending, canonical = codecs.unpacker(self.element), self.ascending, codecs.canonical

        def unpack(data: bytes, i: int) -> tuple[tuple[Any, ...], int]:
            n = data[i]
            if n == 1 and i + 1 < len(data):  # the most frequent case
                value, i = read(data, i + 1)
                return (value,), i
            n, i = unpack_count(data, i, canonical)
            values = []
            for _ in range(n):
                value, i = read(data, i)
                values.append(value)
            if ascending:
                return (require_canonical_order if canonical else sorted_unique)(values, sort_key), i
            return tuple(values), i

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        dump = codecs.dumper(self.element, legacy)
        return list if dump is None else lambda values: [dump(value) for value in values]

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        read, ascending, strict = codecs.parser(self.element, legacy), self.ascending, self.strict

        def parse(value: Any) -> tuple[Any, ...]:
            given = to_array(value)
            values = list(require_ascending(map(read, given))) if strict else [read(item) for item in given]
            return sorted_unique(values, sort_key) if ascending and len(values) > 1 else tuple(values)

        return parse


def require_ascending(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the values, and refuse the first one that isn't greater than its predecessor."""
    last = None
    for value in values:
        require(last is None or value > last, "Items should be unique and sorted", condition="tmp > last")
        yield value
        last = value


def sorted_unique(values: list[Any], key_of: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Sort the values by their keys. Of several values with equal keys, only the first is retained."""
    out: dict[Any, Any] = {}
    for value in values:
        out.setdefault(key_of(value), value)
    return tuple([out[key] for key in sorted(out)])


def require_canonical_order(values: list[Any], key_of: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return the values unchanged. Raises NotCanonical unless their keys are strictly ascending."""
    keys = [key_of(value) for value in values]
    if any(a >= b for a, b in pairwise(keys)):
        raise NotCanonical
    return tuple(values)


def sort_key(value: Any) -> Any:
    """Return the sort key of a set's member: the bytes of a text, the tag of a variant, otherwise the value."""
    if type(value) is str:
        return encode(value)
    if isinstance(value, Struct):
        return split_tag(value)[0]
    return value


class Pairs(Kind):
    """A map as a tuple of pairs in ascending order of keys. Of several pairs with equal keys, only the first is retained."""

    default = ()

    def __init__(self, key: Any, value: Any) -> None:
        self.key, self.value = key, value

    def packer(self, codecs: Codecs) -> Pack:
        key, value = codecs.packer(self.key), codecs.packer(self.value)
        return lambda pairs: pack_length(len(pairs)) + b"".join([key(k) + value(v) for k, v in pairs])

    def unpacker(self, codecs: Codecs) -> Unpack:
        key, value, canonical = codecs.unpacker(self.key), codecs.unpacker(self.value), codecs.canonical

        def unpack(data: bytes, i: int) -> tuple[tuple[Any, ...], int]:
            n, i = unpack_count(data, i, canonical)
            pairs = []
            for _ in range(n):
                k, i = key(data, i)
                v, i = value(data, i)
                pairs.append((k, v))
            if n > 1:
                return (require_canonical_order if canonical else sorted_unique)(pairs, pair_key), i
            return tuple(pairs), i

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
            return sorted_unique(pairs, pair_key)

        return parse


def pair_key(pair: tuple[Any, Any]) -> Any:
    """Return the sort key of a map's entry."""
    return sort_key(pair[0])


class Maybe(Kind):
    """An optional value. JSON omits an unset value; `null` is read as unset."""

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
