"""dev_api.subscribe and unsubscribe: the kinds of notices, filters, and refusals. They require a WebSocket and local rights."""

import json
from typing import Any

import pytest

from rpc.caller import Caller
from tests.helpers.golden import same_as_golden
from tests.helpers.push import PushClients, notices


@pytest.fixture
def world() -> PushClients:
    """A chain with one block."""
    made = PushClients()
    made.make(1)
    return made


async def test_a_subscription_begins_and_ends(world: PushClients) -> None:
    session = world.session()
    kinds = ["blocks", "irreversible_blocks", "operations", "transactions", "refusals"]
    for number, kind in enumerate(kinds, 1):
        assert world.call(session, "dev_api.subscribe", {"kind": kind})["result"] == {"subscription": number}
    assert world.call(session, "dev_api.subscribe", ["operations", ["alice"], ["transfer"]])["result"] == {"subscription": 6}
    for number in (1, 3):
        assert world.call(session, "dev_api.unsubscribe", {"subscription": number})["result"] == {}
    assert world.hub.count == 4


async def test_operation_names_are_accepted_in_both_forms(world: PushClients) -> None:
    session = world.session()
    for name in ("producer_reward", "producer_reward_operation"):
        assert "result" in world.call(session, "dev_api.subscribe", {"kind": "operations", "operations": [name]})
    world.make(1)
    assert [notice["subscription"] for notice in await notices(session, 2)] == [1, 2]
    assert session.size == 0


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"kind": "headers"},
        {"kind": "blocks", "accounts": ["alice"]},
        {"kind": "operations", "operations": ["transfers"]},
        {"kind": "operations", "accounts": ["alice"] * 101},
    ],
)
async def test_invalid_subscriptions_are_refused(world: PushClients, params: dict[str, Any]) -> None:
    session = world.session()
    same_as_golden(world.call(session, "dev_api.subscribe", params)["error"]["message"])
    same_as_golden(world.call(session, "dev_api.unsubscribe", {"subscription": 7})["error"]["message"])
    assert world.hub.count == 0


def test_subscribing_needs_a_websocket(world: PushClients) -> None:
    error = world.call(None, "dev_api.subscribe", {"kind": "blocks"})["error"]
    assert (error["message"].endswith("Could not find method subscribe"), error["data"]["hint"]) == (True, "this needs a WebSocket")


async def test_subscribing_needs_local_rights(world: PushClients) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"dev_api.subscribe","params":{"kind":"blocks"}}'
    reply = world.service.answer(body, Caller("", "this is for programs on the machine of the node only", world.session()))
    assert isinstance(reply, bytes)
    assert json.loads(reply)["error"]["data"]["hint"] == "this is for programs on the machine of the node only"
