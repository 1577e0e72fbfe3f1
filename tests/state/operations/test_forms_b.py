"""Escrow, proposals, custom operations, mining, rewards, SMTs and the virtual operations: their forms, who must sign, whom
they touch, and what the reference made of them in the recordings of tests/conformance/cases.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from node.specs import load_spec
from state.operations import custom, escrow, mining, proposals, rewards
from state.operations.custom import CustomBinary, CustomJson
from state.operations.smt import settings as smt_settings
from state.operations.smt import tokens as smt
from state.protocol import virtual
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.kinds import CoinFee
from state.protocol.errors import ChainError
from state.protocol.keys.authority import Authority
from state.protocol.operation import OPERATIONS, Needed, Operation, wire_tag
from state.protocol.values.asset import COIN, SBD, Asset
from tests.conftest import CASES
from tests.helpers.wire import ANY, CODECS, TESTNET, VECTOR_CODECS, VECTORS, refusal, vectors

WITH_BROADCASTS = sorted(path.parent.name for path in CASES.glob("*/broadcasts.jsonl.gz"))
MODULES = (custom, escrow, mining, proposals, rewards, smt, smt_settings, virtual)
MINE = {tag: cls for tag, cls in OPERATIONS.items() if cls.__module__ in {module.__name__ for module in MODULES}}
TAGS = {14, 15, 16, 18, *range(27, 32), 35, 39, *range(44, 73)}


def test_all_tags_are_declared() -> None:
    assert set(MINE) == TAGS


# ------------------------------------------------------------------ vectors


@pytest.mark.parametrize("example", vectors("op", TAGS))
def test_forms(example: Any) -> None:
    """NAI JSON and condenser JSON both read as one object; it packs to the example's bytes and prints both again."""
    given, legacy, packed = example["input"]["json"], example["input"]["legacy"], bytes.fromhex(example["expect"]["hex"])
    operation = VECTOR_CODECS.parser(ANY)(given)
    assert operation.TAG == wire_tag(operation.TAG, smt=True) == example["expect"]["which"]
    assert VECTOR_CODECS.packer(ANY)(operation) == packed
    assert VECTOR_CODECS.unpacker(ANY)(packed, 0) == (operation, len(packed))
    assert (VECTOR_CODECS.dumper(ANY) or repr)(operation) == given
    if legacy is not None:
        assert VECTOR_CODECS.parser(ANY, True)(legacy) == operation
        added: dict[str, Any] = {"extensions": []} if operation.NAME == "create_proposal" else {}
        assert (VECTOR_CODECS.dumper(ANY, True) or repr)(operation) == [legacy[0], legacy[1] | added]
    else:
        assert operation.TAG in range(47, 54)


@pytest.mark.parametrize("example", vectors("op", TAGS))
def test_authorities_and_outcome(example: Any) -> None:
    operation, expect = VECTOR_CODECS.parser(ANY)(example["input"]["json"]), example["expect"]
    needed = Needed.by((operation,))
    assert sorted(needed.active) == expect["active"]
    assert sorted(needed.owner) == expect["owner"]
    assert sorted(needed.posting) == expect["posting"]
    assert [VECTOR_CODECS.dump(authority) for authority in needed.other] == expect["other"]
    refused = refusal(operation, VECTOR_CODECS)
    assert bool(refused) == (expect["validate"] == "error"), refused
    if operation.VIRTUAL:
        assert refused == "This is a virtual operation"


@pytest.mark.parametrize("example", [p for p in vectors("op", TAGS) if p.values[0]["expect"]["which"] in range(54, 73)])
def test_without_smt_virtual_operations_move_down(example: Any) -> None:
    codecs = ChainCodecs(replace(VECTOR_CODECS.spec, smt=False))
    packed = bytes.fromhex(example["expect"]["hex"])
    moved = bytes((packed[0] - 7,)) + packed[1:]
    operation = VECTOR_CODECS.unpacker(ANY)(packed, 0)[0]
    assert codecs.packer(ANY)(operation) == moved
    assert codecs.unpacker(ANY)(moved, 0) == (operation, len(moved))


def test_the_condenser_keeps_the_extensions_of_proposals() -> None:
    """Unlike the reference's, which drops those of create_proposal: a signature would not verify (rpc-api.md §4.3)."""
    given = {"creator": "alice", "extensions": [[0, {}]]}
    assert len(VECTOR_CODECS.parser(ANY, True)(["create_proposal", given]).extensions) == 1
    assert len(VECTOR_CODECS.parser(ANY, True)(["remove_proposal", given]).extensions) == 1


# ------------------------------------------------------------------ who must sign, who is touched


def test_custom_json_asks_for_both_roles() -> None:
    needed = Needed.by((CustomJson(required_auths=("alice",), required_posting_auths=("bob", "carol"), json="1"),))
    assert (needed.active, needed.posting, needed.owner) == ({"alice"}, {"bob", "carol"}, set())


def test_custom_binary_asks_for_everything() -> None:
    authority = Authority(1)
    needed = Needed.by((CustomBinary(("own",), ("act",), ("post",), (authority,)),))
    assert needed == Needed({"post"}, {"act"}, {"own"}, [authority])


IMPACTED = [
    ("op.14", {"admin"}),
    ("op.15", {"alice", "bob"}),
    ("op.16", set()),
    ("op.18", {"alice"}),
    ("op.27", {"alice", "bob", "charlie"}),
    ("op.28", {"alice", "bob", "charlie"}),
    ("op.29", {"alice", "bob", "charlie"}),
    ("op.30", {"alice"}),
    ("op.31", {"alice", "bob", "charlie"}),
    ("op.35", {"alice"}),
    ("op.39", {"alice"}),
    ("op.44", {"alice", "bob"}),
    ("op.45", {"alice"}),
    ("op.46", {"alice"}),
    *((f"op.{tag}", {"alice"}) for tag in range(47, 54)),
    ("op.57", set()),
    ("op.64", {"initminer"}),
    ("op.65", set()),
    ("op.69", set()),
    ("op.70", {"coin.dao"}),
    ("op.71", {"coin.dao"}),
    ("op.72", {"alice", "community321"}),
]


@pytest.mark.parametrize(("name", "accounts"), IMPACTED, ids=[name for name, _ in IMPACTED])
def test_impacted(name: str, accounts: set[str]) -> None:
    example = next(v for v in VECTORS if v["id"].startswith(f"{name}."))
    assert VECTOR_CODECS.parser(ANY)(example["input"]["json"]).impacted() == accounts


@pytest.mark.parametrize(
    ("operation", "accounts"),
    [
        (virtual.FillConvertRequest(owner="ann"), {"ann"}),
        (virtual.AuthorReward(author="ann"), {"ann"}),
        (virtual.CurationReward(curator="ann", comment_author="bob"), {"ann"}),
        (virtual.LiquidityReward(owner="ann"), {"ann"}),
        (virtual.Interest(owner="ann"), {"ann"}),
        (virtual.FillVestingWithdraw(from_account="ann", to_account="bob"), {"ann", "bob"}),
        (virtual.FillOrder(current_owner="ann", open_owner="bob"), {"ann", "bob"}),
        (virtual.ShutdownWitness(owner="ann"), {"ann"}),
        (virtual.FillTransferFromSavings(from_="ann", to="bob"), {"ann", "bob"}),
        (virtual.ReturnVestingDelegation(account="ann"), {"ann"}),
        (virtual.CommentBenefactorReward(benefactor="ann", author="bob"), {"ann", "bob"}),
        (virtual.ProducerReward(producer="ann"), {"ann"}),
        (virtual.ProposalPay(receiver="ann"), {"ann", "coin.dao"}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Operation) else "",
)
def test_impacted_by_virtual_operations(operation: Operation, accounts: set[str]) -> None:
    assert operation.impacted() == accounts


def test_missing_fields_have_the_references_defaults() -> None:
    read = VECTOR_CODECS.parser(ANY)
    transfer = read({"type": "escrow_transfer_operation", "value": {}})
    assert (transfer.escrow_id, transfer.sbd_amount, transfer.coin_amount) == (30, Asset(0, SBD), Asset(0, COIN))
    assert read({"type": "escrow_approve_operation", "value": {}}).approve is True
    assert read({"type": "smt_setup_operation", "value": {}}).max_supply == 10**15
    assert read({"type": "interest_operation", "value": {}}).interest == Asset(0, SBD)
    for tag, cls in MINE.items():
        default = read({"type": f"{cls.NAME}_operation", "value": {}})
        assert type(default) is cls
        unpacked = VECTOR_CODECS.unpack(cls, VECTOR_CODECS.pack(default))
        assert default == unpacked
        if tag not in (14, 30):
            assert default == cls()


@pytest.mark.parametrize(("chain", "fee"), [("steem-testnet", 0), ("steem-mainnet", 1)])
@pytest.mark.parametrize("name", ["pow_operation", "pow2_operation"])
def test_missing_fee_is_the_lowest_of_the_build(chain: str, fee: int, name: str) -> None:
    read = ChainCodecs(load_spec(chain)).parser(ANY)
    bodies: tuple[dict[str, Any], ...] = ({}, {"props": {}})
    for body in bodies:
        assert read({"type": name, "value": body}).props.account_creation_fee == CoinFee(fee)


# ------------------------------------------------------------------ recordings

# Where the reference's checks without state stand; the other places need a chain, or are about reading.
STATIC_FILES = {"steem_operations.cpp", "steem_operations.hpp", "smt_operations.cpp", "sps_operations.cpp", "validation.hpp"}
NAMES = {TESTNET.spell(f"{cls.NAME}_operation") for cls in MINE.values()}


def recorded(case: str) -> Iterator[tuple[list[dict[str, Any]], dict[str, Any] | None]]:
    """The operations of each recorded transaction that holds only operations of this file, and the error that it got."""
    with gzip.open(CASES / case / "broadcasts.jsonl.gz", "rt") as lines:
        for line in lines:
            record = json.loads(line)
            operations = record["trx"].get("operations") if isinstance(record["trx"], dict) else None
            error = record.get("error")
            if error and error["data"]["stack"][0]["context"]["method"] == "check_string_depth":
                continue  # too many brackets in the request: refused before anything is read
            if operations and all(isinstance(o, dict) and o.get("type") in NAMES for o in operations):
                yield operations, error


def outcome(operations: list[dict[str, Any]]) -> tuple[str, ChainError | None]:
    """What becomes of operations before any state is looked at: the step that refuses, and its error."""
    step, read = "read", CODECS.parser(ANY)
    try:
        parsed = [read(operation) for operation in operations]
        step = "validate"
        for operation in parsed:
            operation.validate(CODECS)
    except ChainError as error:
        return step, error
    return "", None


@pytest.mark.parametrize("case", WITH_BROADCASTS)
def test_recorded_outcomes(case: str) -> None:
    """What the reference took is taken; what it refused without looking at its state is refused in the same words."""
    for operations, error in recorded(case):
        step, refused = outcome(operations)
        if error is None:
            assert refused is None, (refused, operations)
        elif step == "validate":
            assert refused is not None
            assert refused.message(TESTNET.spell) == error["message"], operations
        elif step == "read":
            assert error["data"]["stack"][0]["context"]["method"] != "validate", (refused, error["message"])
        else:
            assert error["data"]["stack"][0]["context"]["file"] not in STATIC_FILES, (error["message"], operations)


def test_recordings_hold_refusals() -> None:
    """The recordings do reach the checks above, operation by operation."""
    refused = {
        operations[0]["type"].removesuffix("_operation")
        for case in WITH_BROADCASTS
        for operations, error in recorded(case)
        if error is not None and outcome(operations)[0] == "validate"
    }
    assert len(refused) >= 17, sorted(refused)
