"""What operations of escrow refuse without state, each by one change of an accepted operation."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from state.operations.escrow import EscrowApprove, EscrowDispute, EscrowRelease, EscrowTransfer
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from tests.helpers.refused import (
    BAD_JSON,
    NOT_UTF8,
    invalid,
    table_ids,
)
from tests.helpers.wire import refusal

TRANSFER = EscrowTransfer("alice", "bob", Asset(1000, SBD), Asset(), 30, "carol", Asset(100, SBD), "{}", 10, 20)
APPROVE = EscrowApprove("alice", "bob", "carol", "bob")
DISPUTE = EscrowDispute("alice", "bob", "carol", "alice")
RELEASE = EscrowRelease("alice", "bob", "carol", "alice", "bob", 30, Asset(1000, SBD), Asset())

REFUSALS: list[tuple[Operation, dict[str, Any], str]] = [
    (TRANSFER, {"from_": "A"}, invalid("A")),
    (TRANSFER, {"to": "B"}, invalid("B")),
    (TRANSFER, {"agent": ""}, invalid("")),
    (TRANSFER, {"fee": Asset(-1, SBD)}, "fee cannot be negative"),
    (TRANSFER, {"sbd_amount": Asset(-1, SBD)}, "sbd amount cannot be negative"),
    (TRANSFER, {"coin_amount": Asset(-1)}, "coin amount cannot be negative"),
    (TRANSFER, {"sbd_amount": Asset(0, SBD)}, "escrow must transfer a non-zero amount"),
    (TRANSFER, {"agent": "alice"}, "agent must be a third party"),
    (TRANSFER, {"agent": "bob"}, "agent must be a third party"),
    (TRANSFER, {"fee": Asset(1, VESTS)}, "fee must be COIN or SBD"),
    (TRANSFER, {"sbd_amount": Asset(1, COIN)}, "sbd amount must contain SBD"),
    (TRANSFER, {"coin_amount": Asset(1, SBD)}, "coin amount must contain COIN"),
    (TRANSFER, {"escrow_expiration": 10}, "ratification deadline must be before escrow expiration"),
    (TRANSFER, {"json_meta": NOT_UTF8}, "JSON Metadata not formatted in UTF8"),
    (TRANSFER, {"json_meta": "{} "}, BAD_JSON),
    (APPROVE, {"from_": "A"}, invalid("A")),
    (APPROVE, {"to": "B"}, invalid("B")),
    (APPROVE, {"agent": "C"}, invalid("C")),
    (APPROVE, {"who": "D"}, invalid("D")),
    (APPROVE, {"who": "alice"}, "to or agent must approve escrow"),
    (DISPUTE, {"from_": "A"}, invalid("A")),
    (DISPUTE, {"to": "B"}, invalid("B")),
    (DISPUTE, {"agent": "C"}, invalid("C")),
    (DISPUTE, {"who": "D"}, invalid("D")),
    (DISPUTE, {"who": "carol"}, "who must be from or to"),
    (RELEASE, {"from_": "A"}, invalid("A")),
    (RELEASE, {"to": "B"}, invalid("B")),
    (RELEASE, {"agent": "C"}, invalid("C")),
    (RELEASE, {"who": "D"}, invalid("D")),
    (RELEASE, {"receiver": "E"}, invalid("E")),
    (RELEASE, {"who": "dave"}, "who must be from or to or agent"),
    (RELEASE, {"receiver": "carol"}, "receiver must be from or to"),
    (RELEASE, {"sbd_amount": Asset(-1, SBD)}, "sbd amount cannot be negative"),
    (RELEASE, {"coin_amount": Asset(-1)}, "coin amount cannot be negative"),
    (RELEASE, {"sbd_amount": Asset(0, SBD)}, "escrow must release a non-zero amount"),
    (RELEASE, {"sbd_amount": Asset(1, COIN)}, "sbd amount must contain SBD"),
    (RELEASE, {"coin_amount": Asset(1, SBD)}, "coin amount must contain COIN"),
]


@pytest.mark.parametrize(("operation", "change", "text"), REFUSALS, ids=table_ids(REFUSALS))
def test_refusal(operation: Operation, change: dict[str, Any], text: str) -> None:
    assert refusal(operation) == ""
    assert refusal(replace(operation, **change)) == text


ACCEPTED: list[tuple[Operation, dict[str, Any]]] = [
    (TRANSFER, {"json_meta": ""}),
    (TRANSFER, {"sbd_amount": Asset(0, SBD), "coin_amount": Asset(1)}),
    (TRANSFER, {"from_": "bob"}),
    (APPROVE, {"who": "carol"}),
    (DISPUTE, {"who": "bob"}),
    (RELEASE, {"who": "carol", "receiver": "alice"}),
]


@pytest.mark.parametrize(("operation", "change"), ACCEPTED, ids=table_ids(ACCEPTED))
def test_accepted(operation: Operation, change: dict[str, Any]) -> None:
    assert refusal(replace(operation, **change)) == ""
