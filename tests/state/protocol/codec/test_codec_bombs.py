"""Small inputs that claim a huge size, huge inputs, and deeply nested inputs are decoded or refused in time proportional to their size."""

from __future__ import annotations

import time
from typing import Any

import pytest

import state.operations  # noqa: F401 - fills the registry
from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import Bounded, Many, Pairs, String, pack_length
from state.protocol.errors import ChainError, OutOfRange
from state.protocol.operation import OPERATIONS
from state.protocol.transaction import Wire
from tests.helpers.wire import VECTOR_CODECS, VECTORS

WIRE = Wire(VECTOR_CODECS.spec)
CODECS = WIRE.codecs
HEAD = bytes(10)
MEGABYTE = 1_000_000
SECONDS_MAX = 5.0
DEPTH = 10_000

JSON_BY_NAME = {v["input"]["json"]["type"]: v["input"]["json"]["value"] for v in VECTORS if v["group"] == "op"}


def refused_in_time(read: Any, value: Any) -> ChainError | None:
    """Return the error with which a decoder refuses an input, or None. Assert that decoding takes no longer than the time limit."""
    start = time.process_time()
    error: ChainError | None = None
    try:
        read(value)
    except ChainError as caught:
        error = caught
        caught.message()
    assert time.process_time() - start < SECONDS_MAX
    return error


# ------------------------------------------------------------------ bytes


@pytest.mark.parametrize("count", [2, 127, 128, 65536, 2**31, 2**32 - 1])
def test_counts_beyond_the_data(count: int) -> None:
    for packed in (HEAD + pack_length(count), HEAD + b"\0" + pack_length(count), HEAD + b"\0\0" + pack_length(count)):
        assert isinstance(refused_in_time(WIRE.unpack_transaction, packed), OutOfRange)
    assert isinstance(refused_in_time(WIRE.unpack_block, bytes(45) + b"\0" + bytes(65) + pack_length(count)), OutOfRange)


@pytest.mark.parametrize("cls", [pytest.param(cls, id=cls.NAME) for cls in OPERATIONS.values()])
def test_counts_inside_operations(cls: Any) -> None:
    """One text or container of an operation after another declares a length of 2^32 - 1."""
    default, head = CODECS.default(cls), b""
    for field in wire_fields(cls):
        if isinstance(field.kind, (Many, Pairs, String, Bounded)):
            error = refused_in_time(lambda data: CODECS.unpack(cls, data), head + pack_length(2**32 - 1) + bytes(40))
            assert isinstance(error, OutOfRange)
        head += CODECS.packer(field.kind)(getattr(default, field.name))


def test_a_megabyte_of_operations() -> None:
    vote = b"\0" * 6
    packed = HEAD + pack_length(MEGABYTE // len(vote)) + vote * (MEGABYTE // len(vote)) + b"\0\0"
    assert refused_in_time(WIRE.unpack_transaction, packed) is None


def test_a_megabyte_of_names_in_a_wrong_order() -> None:
    names = [b"\4" + n.to_bytes(4, "big") for n in range(MEGABYTE // 5, 0, -1)]
    packed = HEAD + b"\1\x0f" + pack_length(len(names)) + b"".join(names) + bytes(3) + b"\0\0"
    assert refused_in_time(WIRE.unpack_transaction, packed) is None


def test_a_megabyte_of_one_extension() -> None:
    packed = HEAD + b"\0" + pack_length(MEGABYTE // 2) + bytes(MEGABYTE // 2) + b"\0"
    assert refused_in_time(WIRE.unpack_transaction, packed) is None


# ------------------------------------------------------------------ JSON


def nested(depth: int, key: str | None) -> Any:
    """Return nested arrays, or nested objects if `key` is given."""
    value: Any = {} if key else []
    for _ in range(depth):
        value = {key: value} if key else [value]
    return value


@pytest.mark.parametrize("key", [None, "type", "value", "operations", "extensions"])
@pytest.mark.parametrize("legacy", [False, True])
def test_deep_json(key: str | None, legacy: bool) -> None:
    deep = nested(DEPTH, key)
    operation = ["vote", deep] if legacy else {"type": "vote_operation", "value": deep}
    for value in (deep, {"operations": deep}, {"operations": [deep]}, {"operations": [operation]}, {"extensions": [deep]}):
        refused_in_time(lambda given: WIRE.transaction_from_json(given, legacy), value)
        refused_in_time(lambda given: WIRE.block_from_json(given, legacy), {"transactions": [value], "extensions": deep})


LONG = [
    *("9" * MEGABYTE, "-" + "0" * MEGABYTE, "+" * MEGABYTE, "0x" + "f" * MEGABYTE, "@@" + "0" * MEGABYTE, "1.2." + "3" * MEGABYTE),
    *("1" * MEGABYTE + ".000 COIN", "1." + "0" * MEGABYTE + " COIN", " " * MEGABYTE + "1.000 COIN", "1.000" + " " * MEGABYTE + "COIN"),
    *("STM" + "1" * MEGABYTE, "STM" + "z" * MEGABYTE, "ab" * MEGABYTE, "2020-01-01T" + "0" * MEGABYTE),
    *("-" * MEGABYTE, "é" * MEGABYTE, "\0" * MEGABYTE),
]


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
@pytest.mark.parametrize("legacy", [False, True])
def test_long_texts(text: str, legacy: bool) -> None:
    """A long text replaces one field after another. Together, these operations have fields of every kind."""
    for name in ("transfer", "pow", "pow2", "witness_update", "smt_set_runtime_parameters", "update_proposal_votes", "custom_binary"):
        for key, value in JSON_BY_NAME[f"{name}_operation"].items():
            given = JSON_BY_NAME[f"{name}_operation"] | {key: [text] if isinstance(value, list) else text}
            operation = [name, given] if legacy else {"type": f"{name}_operation", "value": given}
            refused_in_time(lambda given: WIRE.transaction_from_json(given, legacy), {"operations": [operation]})
    for asset in ({"amount": text, "precision": 3, "nai": "@@000000021"}, {"amount": "1", "precision": 3, "nai": text}):
        refused_in_time(WIRE.transaction_from_json, {"operations": [{"type": "transfer_operation", "value": {"amount": asset}}]})
