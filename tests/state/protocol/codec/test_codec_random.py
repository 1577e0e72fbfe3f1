"""The wire format with random values and random damage: encoded values decode to themselves, and undecodable input is refused.

The generated code must agree with the kinds of the fields. Hashing the received bytes must agree with hashing the repacked value.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import state.operations  # noqa: F401 - fills the registry
from state.protocol.authority import Authority
from state.protocol.codec.codecs import ChainCodecs, reading
from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import NotCanonical, Unpack
from state.protocol.errors import ChainError
from state.protocol.operation import OPERATIONS, SMT_TAGS
from state.protocol.transaction import BlockHeader, SignedBlock, SignedTransaction, Wire, leaf_of
from tests.helpers.values import FORMS, Form, Values
from tests.helpers.wire import VECTOR_CODECS, VECTORS

SPEC = VECTOR_CODECS.spec
WIRE = Wire(SPEC)
CODECS = WIRE.codecs
CANONICAL = ChainCodecs(SPEC, canonical=True)
NO_SMT = Wire(replace(SPEC, smt=False))
VALUES = {form: Values(CODECS, form) for form in FORMS}
NO_SMT_VALUES = {form: Values(NO_SMT.codecs, form) for form in FORMS}
PARTS = [*(field.name for field in wire_fields(SignedTransaction)), "id", "body", "size"]
# Tests with one parameter per operation use fewer examples.
FEWER = settings(max_examples=max(settings().max_examples // 8, 1))

OPERATION_CLASSES = [pytest.param(cls, id=cls.NAME) for _, cls in sorted(OPERATIONS.items())]
EXAMPLES = [v for v in VECTORS if v["group"] == "op"]
PACKED_OPERATIONS = [bytes.fromhex(v["expect"]["hex"]) for v in EXAMPLES]


def dumped(codecs: ChainCodecs, value: Any, form: Form) -> Any:
    """Return a value in a JSON format."""
    return codecs.dump(value, legacy=form == "legacy")


# ------------------------------------------------------------------ round trips


@pytest.mark.parametrize("cls", [*OPERATION_CLASSES, pytest.param(Authority, id="authority"), pytest.param(BlockHeader, id="header")])
@FEWER
@given(data=st.data())
def test_every_declared_type(cls: Any, data: st.DataObject) -> None:
    for form in FORMS:
        if form == "legacy" and getattr(cls, "TAG", -1) in SMT_TAGS:
            continue
        value = data.draw(VALUES[form].of(cls))
        if form == "bytes":
            packed = CODECS.pack(value)
            assert packed == by_fields_packed(value)
            assert CODECS.unpack(cls, packed, exact=True) == value
            assert CANONICAL.unpack(cls, packed, exact=True) == value
        else:
            assert CODECS.parser(cls, form == "legacy")(dumped(CODECS, value, form)) == value


def by_fields_packed(value: Any) -> bytes:
    """Return the packed fields of a value, each packed separately and then joined."""
    return b"".join(CODECS.packer(field.kind)(getattr(value, field.name)) for field in wire_fields(type(value)))


@FEWER
@given(data=st.data(), smt=st.booleans())
def test_transactions(data: st.DataObject, smt: bool) -> None:
    wire, values = (WIRE, VALUES) if smt else (NO_SMT, NO_SMT_VALUES)
    for form in FORMS:
        trx = wire.seal(data.draw(values[form].of(SignedTransaction)))
        packed = wire.pack_transaction(trx)
        legacy = form == "legacy"
        shown = wire.transaction_to_json(trx, legacy)
        again = wire.unpack_transaction(packed) if form == "bytes" else wire.transaction_from_json(shown, legacy)
        assert [getattr(again, name) for name in PARTS] == [getattr(trx, name) for name in PARTS]
        assert leaf_of(again) == leaf_of(trx) == sha256(packed).digest()
        assert trx.size == len(packed)


@FEWER
@given(data=st.data())
def test_blocks(data: st.DataObject) -> None:
    for form in FORMS:
        block = data.draw(VALUES[form].of(SignedBlock))
        for trx in block.transactions:
            WIRE.seal(trx)
        WIRE.seal_block(block)
        packed = WIRE.pack_block(block)
        legacy = form == "legacy"
        again = WIRE.unpack_block(packed)[0] if form == "bytes" else WIRE.block_from_json(WIRE.block_to_json(block, legacy), legacy)
        assert WIRE.pack_block(again) == packed
        assert (again.id, again.size, again.number) == (block.id, len(packed), block.number)


# ------------------------------------------------------------------ damage


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Return bytes with a few random changes: overwritten, removed, inserted or repeated bytes."""
    data = bytearray(draw(whole))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        how = draw(st.sampled_from(("overwrite", "remove", "insert", "repeat", "cut")))
        some = draw(st.binary(min_size=1, max_size=3) | st.sampled_from((b"\xff" * 5, b"\x80\x00", b"\0", b"\x7f")))
        if how == "overwrite":
            data[at : at + len(some)] = some
        elif how == "remove":
            del data[at : at + len(some)]
        elif how == "insert":
            data[at:at] = some
        elif how == "repeat":
            data[at:at] = data[at : at + draw(st.integers(1, 80))]
        else:
            del data[at:]
    return bytes(data)


def packed_transaction(operations: list[bytes]) -> bytes:
    """Return the bytes of a signed transaction that contains these packed operations."""
    return bytes(10) + bytes((len(operations),)) + b"".join(operations) + b"\0\1" + bytes(65)


BODIES = st.lists(st.sampled_from(PACKED_OPERATIONS), min_size=1, max_size=3).map(packed_transaction)


def attempted(read: Unpack, data: bytes) -> Any:
    """Return the result of decoding bytes: the value and the end position, or the class and text of the error."""
    try:
        return reading(read, data, 0)
    except ChainError as error:
        return type(error), error.text


@pytest.mark.parametrize("cls", OPERATION_CLASSES)
@FEWER
@given(data=st.data())
def test_generated_code_reads_like_the_kinds(cls: Any, data: st.DataObject) -> None:
    packed = next(packed[1:] for packed in PACKED_OPERATIONS if packed[0] == cls.TAG)
    ends = st.integers(0, len(packed)).map(lambda end: packed[:end])
    damage = data.draw(damaged(st.just(packed)) | ends | st.binary(max_size=200))

    def by_fields(given: bytes, i: int) -> tuple[Any, int]:
        values = {}
        for field in wire_fields(cls):
            values[field.name], i = CODECS.unpacker(field.kind)(given, i)
        return cls(**values), i

    assert attempted(CODECS.unpacker(cls), damage) == attempted(by_fields, damage)


@given(data=damaged(BODIES) | st.binary(max_size=300))
def test_damaged_transactions(data: bytes) -> None:
    try:
        trx = WIRE.unpack_transaction(data)
    except ChainError:
        return
    assert trx.body == WIRE.pack_body(trx)
    packed = WIRE.pack_transaction(trx)
    assert (trx.size, WIRE.unpack_transaction(packed).id) == (len(packed), trx.id)
    assert WIRE.pack_transaction(WIRE.unpack_transaction(packed)) == packed


HEAD = bytes(20 + 4) + b"\3bob" + bytes(20) + b"\0" + bytes(65)
BLOCKS = st.lists(BODIES, max_size=3).map(lambda bodies: HEAD + bytes((len(bodies),)) + b"".join(bodies))


@given(data=damaged(BLOCKS) | st.binary(max_size=300))
def test_damaged_blocks(data: bytes) -> None:
    try:
        block, end = WIRE.unpack_block(data)
    except ChainError:
        return
    packed = WIRE.pack_block(block)
    assert end <= len(data)
    assert block.size == len(packed)
    assert WIRE.pack_block(WIRE.unpack_block(packed)[0]) == packed


@given(data=damaged(BODIES))
def test_canonical_bytes_are_unchanged_by_packing(data: bytes) -> None:
    try:
        trx, end = reading(WIRE._read_canonical, data, 0)
    except (ChainError, NotCanonical):
        return
    assert WIRE.pack_transaction(WIRE.seal(trx)) == data[:end]


VOTE = b"\0\3bob\3ann\1x" + bytes(2)
HEAD_OF_REPORT = bytes(24) + b"\3bob" + bytes(20)
REPORT = b"\x10\3bob" + HEAD_OF_REPORT + b"\1\2%b" + bytes(4) + bytes(65) + HEAD_OF_REPORT + b"\0" + bytes(65)
NOT_CANONICAL = {
    "count": b"\x81\0" + VOTE + b"\0\0",
    "count of signatures": b"\1" + VOTE + b"\0\x80\0",
    "tag": b"\1\x80\0" + VOTE[1:] + b"\0\0",
    "length of a name": b"\1\0\x83\0" + VOTE[2:] + b"\0\0",
    "length of a text": b"\1" + VOTE[:-4] + b"\x81\0x\0\0\0\0",
    "name too long": b"\1\0\x11" + b"a" * 17 + VOTE[5:] + b"\0\0",
    "name with a NUL": b"\1\0\4bo\0b" + VOTE[5:] + b"\0\0",
    "set out of order": b"\1\x12\2\3bob\3ann" + bytes(3) + b"\0\0",
    "twice in a set": b"\1\x12\2\3bob\3bob" + bytes(3) + b"\0\0",
    "map out of order": b"\1\x2a\3bob\2\1b\0\1a\0\0\0\0",
    "twice in a map": b"\1\x2a\3bob\2\1a\0\1a\1x\0\0\0",
    "extension twice": b"\0\2\0\0\0",
    "tag of an extension": b"\0\1\x80\0\0",
    "release of a hardfork": b"\1" + REPORT % b"\1\0\x17\0" + b"\0\0",
}


@pytest.mark.parametrize("name", NOT_CANONICAL)
def test_bytes_that_packing_does_not_give(name: str) -> None:
    """Bytes in the non-canonical forms of wire-format.md §1.2 decode, but packing the value gives different bytes. The id is the hash of
    the latter.
    """
    data = bytes(10) + NOT_CANONICAL[name]
    with pytest.raises(NotCanonical):
        WIRE._read_canonical(data, 0)
    trx = WIRE.unpack_transaction(data)
    assert trx.body == WIRE.pack_body(trx)
    again = WIRE.pack_transaction(trx)
    assert again != data
    assert WIRE._read_canonical(again, 0)[0].id == trx.id


TEXTS = st.text(max_size=8) | st.sampled_from(("", "0", "-1", "1.000 COIN", "2020-01-01T00:00:00", "00"))
NUMBERS = st.integers(-(2**70), 2**70) | st.floats()
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all members of a JSON value."""
    inner: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@st.composite
def damaged_json(draw: st.DrawFn, legacy: bool) -> Any:
    """Return a JSON transaction with some members replaced or removed."""
    operation = draw(st.sampled_from(EXAMPLES))["input"]["legacy" if legacy else "json"]
    whole = {"expiration": "2020-01-01T00:00:00", "operations": [copy.deepcopy(operation)], "signatures": ["00" * 65]}
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(whole)[1:] or [()]))
        if not path:
            return draw(JSON)
        parent: Any = whole
        for key in path[:-1]:
            parent = parent[key]
        if draw(st.booleans()):
            parent[path[-1]] = draw(JSON)
        else:
            del parent[path[-1]]
    return whole


def is_read(read: Callable[[Any, bool], Any], value: Any, legacy: bool) -> Any:
    """Return the result of decoding JSON, or None if it is refused."""
    try:
        return read(value, legacy)
    except ChainError as error:
        words = error.message(SPEC.spell)
    assert words
    return None


@given(data=st.data(), legacy=st.booleans())
def test_damaged_json(data: st.DataObject, legacy: bool) -> None:
    trx = is_read(WIRE.transaction_from_json, data.draw(damaged_json(legacy)), legacy)
    if trx is not None:
        packed = WIRE.pack_transaction(trx)
        assert WIRE.pack_transaction(WIRE.unpack_transaction(packed)) == packed


@given(value=JSON, legacy=st.booleans())
def test_any_json(value: Any, legacy: bool) -> None:
    is_read(WIRE.transaction_from_json, value, legacy)
    is_read(WIRE.block_from_json, value, legacy)
