"""Refusals of mining operations and reports that don't depend on the state. Each test changes one field of a valid operation."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from msgspec.structs import replace

from state.operations.mining import EquihashPow, EquihashProof, Pow, Pow2, Pow2Input, Pow2Work, ReportOverProduction, SignedHeader
from state.protocol.codec.kinds import CoinFee
from state.protocol.keys.keys import secret_from_seed
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.operation import Needed, Operation
from state.protocol.pow import equihash_summary
from tests.helpers.wire import ANY, CODECS, TESTNET, VECTOR_CODECS, invalid, refusal, table_ids, vector


def pow_input(example: Any) -> Pow2Input:
    """Return the input of a proof-of-work example."""
    given = example["input"]
    return Pow2Input(given["worker_account"], bytes.fromhex(given["prev_block"]), given["nonce"])


def equihash(inputs: tuple[int, ...]) -> EquihashPow:
    """Return a proof with the seed of the example and these inputs. Its summary matches them."""
    example = vector("equihash.0")
    proof = EquihashProof(140, 6, bytes.fromhex(example["expect"]["seed"]), inputs)
    return EquihashPow(pow_input(example), proof, bytes(20), equihash_summary(inputs))


POW: Pow = VECTOR_CODECS.parser(ANY)(vector("op.14.pow")["input"]["json"])
POW2 = Pow2(
    work=Pow2Work(pow_input(vector("pow2.0")), vector("pow2.0")["expect"]["pow_summary"]),
    props=VECTOR_CODECS.parser(ANY)(vector("op.30.pow2")["input"]["json"]).props,
)
MINER = equihash((1, 1))


def signed(seed: str, **fields: Any) -> SignedHeader:
    """Return a header signed with the key derived from a seed."""
    header = (
        SignedHeader(timestamp=TESTNET.constants.COIN_GENESIS_TIME, witness="alice", **fields)
        if "witness" not in fields
        else SignedHeader(**fields)
    )
    digest = sha256(CODECS.pack(header)[:-65]).digest()
    return replace(header, witness_signature=sign(secret_from_seed(seed), digest, Canonical.bip_0062))


REPORT = ReportOverProduction("bob", signed("a"), signed("a", transaction_merkle_root=b"\1" * 20))


def props(**fields: Any) -> dict[str, Any]:
    """Return the change that sets these fields in the chain properties of a pow operation."""
    return {"props": replace(POW.props, **fields)}


REFUSALS: list[tuple[Operation, dict[str, Any], str]] = [
    (POW, props(account_creation_fee=CoinFee(100000, b"\x01COIN\0\0\0")), "account_creation_fee.symbol.is_canon()"),
    (POW, props(account_creation_fee=CoinFee(-1)), "account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE"),
    (POW, props(maximum_block_size=65535), "maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT"),
    (POW, {"worker_account": "A"}, invalid("A")),
    (POW, {"nonce": 83}, "Determninistic input does not match recorded input"),
    (POW, {"block_id": bytes(20)}, "Determninistic input does not match recorded input"),
    (POW, {"work": replace(POW.work, work=bytes(32))}, "work != fc::sha256()"),
    (POW, {"work": replace(POW.work, work=b"\1" * 32)}, "work == fc::sha256::hash(recover)"),
    (
        POW,
        {"work": replace(POW.work, worker=b"\2" * 33)},
        "public_key_type(fc::ecc::public_key( signature, input, fc::ecc::non_canonical ) ) == worker",
    ),
    (POW2, {"work": replace(POW2.work, input=replace(POW2.work.input, worker_account="A"))}, invalid("A")),
    (POW2, {"work": replace(POW2.work, pow_summary=1)}, "reported work does not match calculated work"),
    (POW2, {"props": replace(POW2.props, maximum_block_size=65535)}, "maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT"),
    (POW2, {"work": replace(MINER, input=replace(MINER.input, worker_account="A"))}, invalid("A")),
    (POW2, {"work": replace(MINER, proof=replace(MINER.proof, n=141))}, "proof of work 'n' value is incorrect"),
    (POW2, {"work": replace(MINER, proof=replace(MINER.proof, k=7))}, "proof of work 'k' value is incorrect"),
    (POW2, {"work": replace(MINER, proof=replace(MINER.proof, seed=bytes(32)))}, "proof of work seed does not match expected seed"),
    (POW2, {"work": replace(MINER, proof=replace(MINER.proof, inputs=(1, 2)))}, "proof of work is not a solution"),
    (POW2, {"work": replace(MINER, pow_summary=1)}, "pow_summary == fc::sha256::hash( proof.inputs ).approx_log_32()"),
    (REPORT, {"reporter": "A"}, invalid("A")),
    (REPORT, {"first_block": signed("a", witness="B")}, invalid("B")),
    (REPORT, {"first_block": signed("a", witness="carol")}, "first_block.witness == second_block.witness"),
    (REPORT, {"first_block": signed("a", witness="alice", timestamp=1)}, "first_block.timestamp == second_block.timestamp"),
    (REPORT, {"first_block": signed("b")}, "first_block.signee() == second_block.signee()"),
    (REPORT, {"second_block": REPORT.first_block}, "first_block.id() != second_block.id()"),
]


@pytest.mark.parametrize(("operation", "change", "text"), REFUSALS, ids=table_ids(REFUSALS))
def test_refusal(operation: Operation, change: dict[str, Any], text: str) -> None:
    assert refusal(operation) == ""
    assert refusal(replace(operation, **change)) == text


ACCEPTED: list[tuple[Operation, dict[str, Any]]] = [
    (POW2, {"work": MINER, "new_owner_key": b"\2" * 33}),
]


@pytest.mark.parametrize(("operation", "change"), ACCEPTED, ids=table_ids(ACCEPTED))
def test_accepted(operation: Operation, change: dict[str, Any]) -> None:
    assert refusal(replace(operation, **change)) == ""


def test_pow2_without_a_new_key_requires_the_worker() -> None:
    needed = Needed.by((POW2,))
    assert (needed.active, needed.other) == ({"alice"}, [])
