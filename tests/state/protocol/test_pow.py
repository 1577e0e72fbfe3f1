"""Proofs of work: the vectors of the group `pow`, and proofs from the public chain. test_mining_refusals.py tests the refusals."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.protocol import pow as proofs
from state.protocol.errors import ChainError
from state.protocol.keys.keys import public_key_from_text
from tests.conftest import MAINNET, read_json_lines
from tests.helpers.wire import vector, vectors

EQUIHASH = vector("equihash.0")


def packed_input(value: dict[str, Any]) -> bytes:
    """Return a packed `pow2_input`."""
    name: bytes = value["worker_account"].encode()
    return bytes((len(name),)) + name + bytes.fromhex(value["prev_block"]) + struct.pack("<Q", int(value["nonce"]))


# ------------------------------------------------------------------ pow


def test_works_of_the_public_chain() -> None:
    checked = 0
    for block in read_json_lines(MAINNET / "blocks-1000000-1000999.jsonl.gz"):
        for operation in (operation for transaction in block["transactions"] for operation in transaction["operations"]):
            if operation["type"] == "pow_operation":
                value, work = operation["value"], operation["value"]["work"]
                digest, signature, result = (bytes.fromhex(work[name]) for name in ("input", "signature", "work"))
                proofs.require_pow_input(bytes.fromhex(value["block_id"]), int(value["nonce"]), digest)
                proofs.require_pow(public_key_from_text(work["worker"], "STM"), digest, signature, result)
                checked += 1
    assert checked


@given(st.binary(min_size=33, max_size=33), st.binary(min_size=32, max_size=32), st.binary(max_size=66), st.binary(max_size=32))
def test_garbage_instead_of_pow(worker: bytes, digest: bytes, signature: bytes, work: bytes) -> None:
    with pytest.raises(ChainError):
        proofs.require_pow(worker, digest, signature, work)


# ------------------------------------------------------------------ pow2


@pytest.mark.parametrize("example", [p for p in vectors("pow") if str(p.id).startswith("pow2.")])
def test_pow2_vectors(example: Any) -> None:
    packed, summary = packed_input(example["input"]), example["expect"]["pow_summary"]
    assert proofs.pow2_summary(packed) == summary
    proofs.require_pow2(packed, summary)


@given(st.binary(max_size=60))
def test_pow2_summary_of_anything(packed: bytes) -> None:
    summary = proofs.pow2_summary(packed)
    assert 0 <= summary < 1 << 32
    proofs.require_pow2(packed, summary)


# ------------------------------------------------------------------ equihash


def equihash_words(key: bytes, item: int) -> list[int]:
    """Return the seven 20-bit words of an Equihash input."""
    words = proofs._equihash_hash(key, item)
    return [words >> 32 * i + 12 & 0xFFFFF for i in range(proofs.EQUIHASH_WORDS)]


def test_equihash_vector() -> None:
    expect = EQUIHASH["expect"]
    seed = bytes.fromhex(expect["seed"])
    assert packed_input(EQUIHASH["input"]).hex() == expect["packed_input"]
    assert proofs.equihash_key(seed).hex() == expect["key"]
    assert equihash_words(proofs.equihash_key(seed), 1) == expect["words_of_1"]
    for inputs, valid in expect["valid"]:
        assert proofs.is_equihash_solution(seed, inputs) is valid
    assert proofs.equihash_summary([1, 1]) == expect["pow_summary_of_1_1"]
    proofs.require_equihash(packed_input(EQUIHASH["input"]), 140, 6, seed, [1, 1], expect["pow_summary_of_1_1"])


@given(st.binary(min_size=32, max_size=32), st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20))
def test_inputs_that_come_twice_cancel_out(seed: bytes, inputs: list[int]) -> None:
    assert proofs.is_equihash_solution(seed, inputs + inputs[::-1])


@given(st.binary(min_size=32, max_size=32), st.lists(st.integers(0, 2**32 - 1), max_size=10))
def test_a_solution_cancels_each_word(seed: bytes, inputs: list[int]) -> None:
    sums = [0] * 7
    for item in inputs:
        sums = [a ^ b for a, b in zip(sums, equihash_words(proofs.equihash_key(seed), item), strict=True)]
    assert proofs.is_equihash_solution(seed, inputs) is (bool(inputs) and not any(sums))


# ------------------------------------------------------------------ logarithm


@pytest.mark.parametrize(
    ("value", "logarithm"),
    [
        (0, 0x00000000),
        (1, 0x00000000),
        (2, 0x01000000),
        (3, 0x01800000),
        (5, 0x02400000),
        (1 << 24, 0x18000000),
        ((1 << 24) + 1, 0x18000001),
        ((1 << 26) + 3, 0x1A000000),
        (1 << 255, 0xFF000000),
        ((1 << 256) - 1, 0xFFFFFFFF),
    ],
)
def test_log32(value: int, logarithm: int) -> None:
    assert proofs.log32(value.to_bytes(32, "big")) == logarithm


@given(st.integers(0, 2**256 - 1), st.integers(0, 2**256 - 1))
def test_log32_keeps_order(a: int, b: int) -> None:
    low, high = sorted((a, b))
    assert proofs.log32(low.to_bytes(32, "big")) <= proofs.log32(high.to_bytes(32, "big"))
