"""What operations of claiming rewards refuse without state, each by one change of an accepted operation."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from state.operations.rewards import ClaimRewardBalance, ClaimRewardBalance2
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from tests.helpers.refused import (
    LIQUID_3,
    invalid,
    table_ids,
)
from tests.helpers.wire import refusal

CLAIM = ClaimRewardBalance("alice", Asset(1, COIN), Asset(0, SBD), Asset(0, VESTS))
CLAIM_2 = ClaimRewardBalance2("alice", (), (Asset(1, SBD), Asset(0, COIN), Asset(0, VESTS), Asset(1, LIQUID_3)))

REFUSALS: list[tuple[Operation, dict[str, Any], str]] = [
    (CLAIM, {"account": "A"}, invalid("A")),
    (CLAIM, {"reward_coin": Asset(1, SBD)}, "Reward Coin must be COIN"),
    (CLAIM, {"reward_sbd": Asset(1, COIN)}, "Reward Coin must be SBD"),
    (CLAIM, {"reward_vests": Asset(1, COIN)}, "Reward Coin must be VESTS"),
    (CLAIM, {"reward_coin": Asset(-1, COIN)}, "Cannot claim a negative amount"),
    (CLAIM, {"reward_sbd": Asset(-1, SBD)}, "Cannot claim a negative amount"),
    (CLAIM, {"reward_vests": Asset(-1, VESTS)}, "Cannot claim a negative amount"),
    (CLAIM, {"reward_coin": Asset(0, COIN)}, "Must claim something."),
    (CLAIM_2, {"account": "A"}, invalid("A")),
    (CLAIM_2, {"reward_tokens": ()}, "Must claim something."),
    (CLAIM_2, {"reward_tokens": (Asset(0, SBD), Asset(0, COIN))}, "Must claim something."),
    (CLAIM_2, {"reward_tokens": (Asset(-1, SBD), Asset(1, COIN))}, "Cannot claim a negative amount"),
    (CLAIM_2, {"reward_tokens": (Asset(1, SBD), Asset(-1, COIN))}, "Cannot claim a negative amount"),
    (CLAIM_2, {"reward_tokens": (Asset(1, COIN), Asset(1, SBD))}, "Reward tokens have not been inserted in ascending order."),
    (CLAIM_2, {"reward_tokens": (Asset(1, COIN), Asset(-1, SBD))}, "Reward tokens have not been inserted in ascending order."),
    (
        CLAIM_2,
        {"reward_tokens": (Asset(1, COIN), Asset(1, COIN))},
        'Duplicate symbol {"nai":"@@000000021","decimals":3} inserted into claim reward operation container.',
    ),
]


@pytest.mark.parametrize(("operation", "change", "text"), REFUSALS, ids=table_ids(REFUSALS))
def test_refusal(operation: Operation, change: dict[str, Any], text: str) -> None:
    assert refusal(operation) == ""
    assert refusal(replace(operation, **change)) == text
