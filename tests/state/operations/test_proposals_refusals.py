"""What operations of proposals refuse without state, each by one change of an accepted operation."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from state.operations.proposals import CreateProposal, RemoveProposal, UpdateProposalVotes
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, Asset
from tests.helpers.refused import (
    NOT_UTF8,
    invalid,
    table_ids,
)
from tests.helpers.wire import refusal

OVERLONG = "x" * 300
PROPOSAL = CreateProposal("alice", "bob", 10, 20, Asset(1, SBD), "subject", "permlink")
VOTES = UpdateProposalVotes("alice", (1, 2))
REMOVE = RemoveProposal("alice", (1, 2))

REFUSALS: list[tuple[Operation, dict[str, Any], str]] = [
    (PROPOSAL, {"creator": "A"}, invalid("A")),
    (PROPOSAL, {"receiver": "B"}, invalid("B")),
    (PROPOSAL, {"end_date": 10}, "end date must be greater than start date"),
    (PROPOSAL, {"daily_pay": Asset(-1, SBD)}, "Daily pay can't be negative value"),
    (PROPOSAL, {"daily_pay": Asset(1, COIN)}, "Daily pay should be expressed in SBD"),
    (PROPOSAL, {"subject": ""}, "subject is required"),
    (PROPOSAL, {"subject": "ä" * 40 + "x"}, "Subject is too long"),
    (PROPOSAL, {"subject": NOT_UTF8}, "Subject is not valid UTF8"),
    (PROPOSAL, {"permlink": ""}, "permlink is required"),
    (PROPOSAL, {"permlink": OVERLONG}, "permlink is too long"),
    (PROPOSAL, {"permlink": NOT_UTF8}, "permlink not formatted in UTF8"),
    (VOTES, {"voter": "A"}, invalid("A")),
    (VOTES, {"proposal_ids": ()}, "proposal_ids.empty() == false"),
    (VOTES, {"proposal_ids": (1, 2, 3, 4, 5, 6)}, "proposal_ids.size() <= COIN_PROPOSAL_MAX_IDS_NUMBER"),
    (REMOVE, {"proposal_owner": "A"}, invalid("A")),
    (REMOVE, {"proposal_ids": ()}, "proposal_ids.empty() == false"),
    (REMOVE, {"proposal_ids": (1, 2, 3, 4, 5, 6)}, "proposal_ids.size() <= COIN_PROPOSAL_MAX_IDS_NUMBER"),
]


@pytest.mark.parametrize(("operation", "change", "text"), REFUSALS, ids=table_ids(REFUSALS))
def test_refusal(operation: Operation, change: dict[str, Any], text: str) -> None:
    assert refusal(operation) == ""
    assert refusal(replace(operation, **change)) == text


ACCEPTED: list[tuple[Operation, dict[str, Any]]] = [
    (PROPOSAL, {"subject": "ä" * 40, "permlink": "x" * 255, "daily_pay": Asset(0, SBD)}),
    (VOTES, {"proposal_ids": (-1, 0, 1, 2, 3)}),
]


@pytest.mark.parametrize(("operation", "change"), ACCEPTED, ids=table_ids(ACCEPTED))
def test_accepted(operation: Operation, change: dict[str, Any]) -> None:
    assert refusal(replace(operation, **change)) == ""
