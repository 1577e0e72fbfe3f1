"""Variant kinds: a value of one of several types. Source: wire-format.md §1.13, §5."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from state.protocol.codec.kinds.base import Codecs, Dump, Kind, Pack, Parse, Unpack, as_it_is, pack_length, unpack_length
from state.protocol.errors import Refused, require
from state.protocol.values.convert import to_array, to_int, to_text

NO_SUCH_TYPE = "w < count() && w >= 0"
"""The reference's condition for the tag of a variant, shown when there is no such member."""


class Tagged(Struct, frozen=True):
    """A value of a variant together with its tag, for members whose class doesn't determine the tag."""

    tag: int
    value: Any


class Variant(Kind):
    """A value of one of several types: a tag and the value.

    `members` are pairs of type name and kind. If a member is a class with a TAG, its values are recognised by their type; the values of
    other members are wrapped in `Tagged`. JSON is `{"type": name, "value": ...}`, or `[tag, value]` in the condenser's dialect with
    `legacy_pairs`.
    """

    def __init__(self, *members: tuple[str, Any], legacy_pairs: bool = False) -> None:
        self.members, self.legacy_pairs = members, legacy_pairs
        first = members[0][1]
        self.default = first() if isinstance(first, type) else Tagged(0, first.default)

    def packer(self, codecs: Codecs) -> Pack:
        packers = [codecs.packer(kind) for _, kind in self.members]

        def pack(value: Any) -> bytes:
            tag, inner = split_tag(value)
            return pack_length(tag) + packers[tag](inner)

        return pack

    def unpacker(self, codecs: Codecs) -> Unpack:
        readers, canonical = [codecs.unpacker(kind) for _, kind in self.members], codecs.canonical

        def unpack(data: bytes, i: int) -> tuple[Any, int]:
            tag, i = unpack_length(data, i, canonical)
            require(tag < len(readers), condition=NO_SUCH_TYPE)
            value, i = readers[tag](data, i)
            return self.tagged(tag, value), i

        return unpack

    def tagged(self, tag: int, value: Any) -> Any:
        """Wrap a member's value in `Tagged`, unless its class determines the tag."""
        return value if isinstance(self.members[tag][1], type) else Tagged(tag, value)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        pairs = legacy and self.legacy_pairs
        dumpers = [codecs.dumper(kind, legacy and self.legacy_pairs) or as_it_is for _, kind in self.members]
        names = [codecs.spec.spell(name) for name, _ in self.members]

        def dump(value: Any) -> Any:
            tag, inner = split_tag(value)
            body = dumpers[tag](inner)
            return [tag, body] if pairs else {"type": names[tag], "value": body}

        return dump

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        readers = [codecs.parser(kind, legacy and self.legacy_pairs) for _, kind in self.members]
        tags = {codecs.spec.spell(name): tag for tag, (name, _) in enumerate(self.members)}
        defaults = [codecs.default(kind) for _, kind in self.members]

        def parse(value: Any) -> Any:
            if legacy and self.legacy_pairs and type(value) is not dict:
                pair = to_array(value)
                if len(pair) < 2:
                    return self.tagged(0, defaults[0])
                tag, body = to_int(pair[0], 64, False), pair[1]
            else:
                name, body = type_and_value(value)
                tag = variant_tag(name, tags)
            require(tag < len(readers), condition=NO_SUCH_TYPE)
            return self.tagged(tag, readers[tag](body))

        return parse


class ChainVariant(Kind):
    """A variant whose members depend on the chain."""

    def variant(self, codecs: Codecs) -> Variant:
        """Return the variant with the members of this chain."""
        raise TypeError(f"{type(self).__name__} has no members")

    def packer(self, codecs: Codecs) -> Pack:
        return self.variant(codecs).packer(codecs)

    def unpacker(self, codecs: Codecs) -> Unpack:
        return self.variant(codecs).unpacker(codecs)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return self.variant(codecs).dumper(codecs, legacy)

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return self.variant(codecs).parser(codecs, legacy)


def split_tag(value: Any) -> tuple[int, Any]:
    """Return the tag and content of a variant's value."""
    return (value.tag, value.value) if type(value) is Tagged else (type(value).TAG, value)


def type_and_value(value: Any) -> tuple[Any, Any]:
    """Return `type` and `value` of a variant's JSON object. Refuse a value without them."""
    if type(value) is dict and "type" in value and "value" in value:
        return value["type"], value["value"]
    require(isinstance(value, dict), "Input data have to treated as object.", condition="v.is_object()")
    require("type" in value, "Type field doesn't exist.", condition='v_object.contains( "type" )')
    raise Refused("Value field doesn't exist.", condition='v_object.contains( "value" )')


def variant_tag(name: Any, tags: dict[str, int]) -> int:
    """Return the tag of a type name. An integer or bool is the tag itself; other scalars are converted to a name."""
    if isinstance(name, int):
        return to_int(name, 64, False)
    text = to_text(name)
    require(text in tags, "Invalid object name: ${n}", condition="itr != to_tag.end()", n=text)
    return tags[text]


class Void(Struct, frozen=True):
    """The type of a variant's member without content. Any object is parsed as its value."""

    TAG = 0
