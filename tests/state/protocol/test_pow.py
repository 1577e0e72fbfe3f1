"""Proofs of work: the vectors of group `pow`, the samples of the operations, works of the public chain, and refusals."""

import gzip
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.protocol import pow as proofs
from state.protocol.errors import ChainError, Refused
from state.protocol.keys.keys import public_key_from_text
from tests.conftest import CASES, MAINNET
from tests.conftest import VECTORS as VECTORS_FOLDER

VECTORS = {vector["id"]: vector for vector in json.loads((VECTORS_FOLDER / "wire.json").read_text())["vectors"]}
POW_VECTORS = {name: vector for name, vector in VECTORS.items() if vector["group"] == "pow"}
EQUIHASH = VECTORS["equihash.0"]
SAMPLE = VECTORS["op.14.pow"]["input"]["json"]["value"]


def packed_input(value: dict[str, Any]) -> bytes:
    """A `pow2_input` as it is packed."""
    name: bytes = value["worker_account"].encode()
    return bytes((len(name),)) + name + bytes.fromhex(value["prev_block"]) + struct.pack("<Q", int(value["nonce"]))


def check_pow(value: dict[str, Any], prefix: str = "STM", **changes: str) -> None:
    """Both checks of a `pow` operation, its work changed as asked."""
    work = value["work"] | changes
    proofs.require_pow_input(bytes.fromhex(value["block_id"]), int(value["nonce"]), bytes.fromhex(work["input"]))
    worker = public_key_from_text(work["worker"], prefix)
    proofs.require_pow(worker, bytes.fromhex(work["input"]), bytes.fromhex(work["signature"]), bytes.fromhex(work["work"]))


def refusal(*args: Any, check: Any) -> str:
    with pytest.raises(Refused) as caught:
        check(*args)
    return str(caught.value)


# ------------------------------------------------------------------ pow


def test_pow_sample() -> None:
    check_pow(SAMPLE)


def test_works_of_the_public_chain() -> None:
    checked = 0
    with gzip.open(MAINNET / "blocks-1000000-1000999.jsonl.gz", "rt") as lines:
        for line in lines:
            for transaction in json.loads(line)["transactions"]:
                for operation in transaction["operations"]:
                    if operation["type"] == "pow_operation":
                        check_pow(operation["value"])
                        checked += 1
    assert checked == 49


def test_pow_with_another_nonce() -> None:
    text = refusal(SAMPLE | {"nonce": SAMPLE["nonce"] + 1}, check=check_pow)
    assert text == "Assert Exception:work_input() == work.input: Determninistic input does not match recorded input"


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"work": "00" * 32}, "work != fc::sha256()"),
        (
            {"worker": "STM8GC13uCZbP44HzMLV6zPZGwVQ8Nt4Kji8PapsPiNq1BK153XTX"},
            "public_key_type(fc::ecc::public_key( signature, input, fc::ecc::non_canonical ) ) == worker",
        ),
        ({"work": "01" + SAMPLE["work"]["work"][2:]}, "work == fc::sha256::hash(recover)"),
    ],
)
def test_bad_pow(changes: dict[str, str], condition: str) -> None:
    with pytest.raises(Refused) as caught:
        check_pow(SAMPLE, **changes)
    assert str(caught.value) == f"Assert Exception:{condition}: "


def test_pow_refusal_as_recorded() -> None:
    with gzip.open(CASES / "witness_properties" / "broadcasts.jsonl.gz", "rt") as lines:
        broadcasts = [json.loads(line) for line in lines]
    recorded = [
        (trx["trx"]["operations"][0]["value"], trx["error"]["message"])
        for trx in broadcasts
        if trx.get("error") and trx["trx"]["operations"] and trx["trx"]["operations"][0]["type"] == "pow_operation"
    ]
    own_texts = [(value, message) for value, message in recorded if "non_canonical" in message or "Determninistic" in message]
    assert own_texts
    for value, message in own_texts:
        assert refusal(value, "TST", check=check_pow) == message


@given(st.binary(min_size=33, max_size=33), st.binary(min_size=32, max_size=32), st.binary(max_size=66), st.binary(max_size=32))
def test_garbage_instead_of_pow(worker: bytes, digest: bytes, signature: bytes, work: bytes) -> None:
    with pytest.raises(ChainError):
        proofs.require_pow(worker, digest, signature, work)


# ------------------------------------------------------------------ pow2


@pytest.mark.parametrize("name", [name for name in POW_VECTORS if name.startswith("pow2.")])
def test_pow2_vectors(name: str) -> None:
    packed, summary = packed_input(POW_VECTORS[name]["input"]), POW_VECTORS[name]["expect"]["pow_summary"]
    assert proofs.pow2_summary(packed) == summary
    proofs.require_pow2(packed, summary)


def test_pow2_sample_is_refused() -> None:
    vector = VECTORS["op.30.pow2"]
    work = vector["input"]["json"]["value"]["work"]["value"]
    assert vector["expect"]["validate"] == "error"
    text = refusal(packed_input(work["input"]), work["pow_summary"], check=proofs.require_pow2)
    assert text == "Assert Exception:pow_summary == tmp.pow_summary: reported work does not match calculated work"


@given(st.binary(max_size=60))
def test_pow2_summary_of_anything(packed: bytes) -> None:
    summary = proofs.pow2_summary(packed)
    assert 0 <= summary < 1 << 32
    proofs.require_pow2(packed, summary)


# ------------------------------------------------------------------ equihash


def equihash_words(key: bytes, item: int) -> list[int]:
    """The seven words of 20 bits that an input stands for."""
    words = proofs._equihash_hash(key, item)
    return [words >> 32 * i + 12 & 0xFFFFF for i in range(proofs.EQUIHASH_WORDS)]


def test_every_pow_vector_is_used() -> None:
    assert {name for name in POW_VECTORS if not name.startswith("pow2.")} == {"equihash.0"}


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


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"n": 141}, "proof.n == COIN_EQUIHASH_N: proof of work 'n' value is incorrect"),
        ({"k": 5}, "proof.k == COIN_EQUIHASH_K: proof of work 'k' value is incorrect"),
        ({"seed": bytes(32)}, "proof.seed == seed: proof of work seed does not match expected seed"),
        ({"inputs": [1, 2]}, "proof.is_valid(): proof of work is not a solution"),
        ({"inputs": []}, "proof.is_valid(): proof of work is not a solution"),
        ({"pow_summary": 1}, "pow_summary == fc::sha256::hash( proof.inputs ).approx_log_32(): "),
    ],
)
def test_bad_equihash(changes: dict[str, Any], text: str) -> None:
    values: dict[str, Any] = {
        "n": 140,
        "k": 6,
        "seed": bytes.fromhex(EQUIHASH["expect"]["seed"]),
        "inputs": [1, 1],
        "pow_summary": EQUIHASH["expect"]["pow_summary_of_1_1"],
    }
    with pytest.raises(Refused) as caught:
        proofs.require_equihash(packed_input(EQUIHASH["input"]), **(values | changes))
    assert str(caught.value) == "Assert Exception:" + text


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
