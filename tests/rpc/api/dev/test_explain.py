"""dev_api.explain_transaction predicts the outcome of a broadcast, and list_refused lists the latest refusals."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from rpc.explain.refused_log import REFUSED_MAX
from state.chain.digest import state_digest
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import Refusal
from tests.rpc.explain.world import PUSH, TRANSFER, World, secret, signed


@pytest.fixture
def world() -> World:
    """A dev chain with accounts, posts and orders."""
    return World()


def explain(world: World, trx: Any) -> Any:
    return world.call("dev_api.explain_transaction", trx=world.wire.transaction_to_json(trx))


def test_a_transaction_that_would_be_accepted(world: World) -> None:
    trx = signed(TRANSFER)(world)
    explained = explain(world, trx)
    assert [explained[name] for name in ("rule", "why", "what_to_do", "message")] == [None] * 4
    assert (explained["values"], explained["id"], explained["size"]) == ({}, trx.id.hex(), trx.size)
    assert explained["digest"] == world.wire.signature_digest(trx).hex()
    # Explaining doesn't broadcast the transaction, so it can still be broadcast.
    assert world.call(PUSH, world.wire.transaction_to_json(trx, legacy=True)) == {}


def test_the_explanation_equals_that_of_a_broadcast(world: World) -> None:
    trx = signed(TRANSFER, by=(("bob", "active"),))(world)
    explained, error = explain(world, trx), world.refuse(trx)
    assert {name: explained[name] for name in ("rule", "why", "what_to_do", "values")} == error["data"]["explain"]
    assert explained["message"] == error["message"]


def test_both_forms_of_a_transaction_are_accepted(world: World) -> None:
    trx = signed(TRANSFER, by=(("bob", "active"),))(world)
    legacy = world.call("dev_api.explain_transaction", trx=world.wire.transaction_to_json(trx, legacy=True))
    assert legacy == explain(world, trx)
    assert legacy["rule"] == "missing_active_authority"


@pytest.mark.parametrize("trx", [5, {"operations": [5]}, {"operations": [["transfer", {"amount": 5}]]}])
def test_an_invalid_transaction_names_the_parameter(world: World, trx: Any) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "dev_api.explain_transaction", "params": {"trx": trx}}
    assert json.loads(world.answer(json.dumps(call).encode()))["error"]["data"]["parameter"] == "trx"


@pytest.mark.parametrize("amount", [1000, 10**15])
def test_explaining_changes_nothing(world: World, amount: int) -> None:
    def standing() -> tuple[Any, ...]:
        return state_digest(world.state), len(world.chain.pending), world.state.journal.position()

    world.push(replace(TRANSFER, memo="waits"), (secret("alice"),))
    before = standing()
    explain(world, signed(replace(TRANSFER, amount=Asset(amount, COIN)))(world))
    assert standing() == before
    world.blocks(1)
    assert (
        world.call("condenser_api.get_block", world.state.props.head_block_number)["transactions"][0]["operations"][0][1]["memo"] == "waits"
    )


def test_the_fields_cover_all_bytes(world: World) -> None:
    explained = explain(world, signed(TRANSFER)(world))
    fields = explained["fields"]
    assert "".join(field["hex"] for field in fields) == explained["hex"]
    assert [field["offset"] for field in fields] == [sum(one["size"] for one in fields[:i]) for i in range(len(fields))]
    by_path = {field["path"]: field for field in fields}
    amount = by_path["operations[0].amount"]
    assert (amount["size"], amount["value"], amount["hex"]) == (16, "1.000 COIN", "e80300000000000003434f494e000000")
    assert (by_path["operations[0]"]["hex"], by_path["operations[0]"]["value"]) == ("02", "transfer")
    assert by_path["signatures[0]"]["size"] == 65


def test_the_last_refused_transactions_are_listed(world: World) -> None:
    assert world.call("dev_api.list_refused") == []
    trx = signed(TRANSFER, by=(("bob", "active"),))(world)
    first = world.refuse(trx)
    second = world.refuse({"expiration": "never"})
    listed = world.call("dev_api.list_refused", limit=10)
    assert [entry["message"] for entry in listed] == [second["message"], first["message"]]
    assert [entry["explain"] for entry in listed] == [second["data"]["explain"], first["data"]["explain"]]
    assert (listed[0]["id"], listed[0]["transaction"]) == (None, {"expiration": "never"})
    assert (listed[1]["id"], listed[1]["transaction"]) == (trx.id.hex(), world.wire.transaction_to_json(trx))
    assert listed[1]["head_block_number"] == world.state.props.head_block_number
    assert world.call("dev_api.list_refused", limit=1) == listed[:1]
    assert world.call("dev_api.list_refused", limit=0) == []


def test_the_limit_of_the_list_is_bounded(world: World) -> None:
    assert "At most 1000" in world.refused("dev_api.list_refused", limit=REFUSED_MAX + 1)[1]


@pytest.mark.parametrize("method", ["dev_api.list_refused", "dev_api.explain_transaction"])
def test_explain_and_list_are_local_only(world: World, method: str) -> None:
    with pytest.raises(Refusal, match="Could not find"):
        world.call(method, local=False)


def test_each_broadcast_method_explains(world: World) -> None:
    """Methods that wait for a block explain refusals too. A refusal because the head block is too old is explained as well."""
    trx = signed(TRANSFER, by=(("bob", "active"),))(world)
    for method in (
        PUSH,
        f"{PUSH}_synchronous",
        "network_broadcast_api.broadcast_transaction",
        "network_broadcast_api.broadcast_transaction_synchronous",
    ):
        assert world.refuse(trx, method)["data"]["explain"]["rule"] == "missing_active_authority", method
    shown = world.wire.transaction_to_json(trx)
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "call",
        "params": ["network_broadcast_api", "broadcast_transaction", {"trx": shown, "max_block_age": 0}],
    }
    world.now += 100
    assert json.loads(world.answer(json.dumps(call).encode()))["error"]["data"]["explain"]["rule"] == "head_too_old"


def test_other_calls_are_not_explained(world: World) -> None:
    trx = signed(TRANSFER, by=(("bob", "active"),))(world)
    call = {"jsonrpc": "2.0", "id": 1, "method": "database_api.verify_authority", "params": {"trx": world.wire.transaction_to_json(trx)}}
    error = json.loads(world.answer(json.dumps(call).encode()))["error"]
    assert "explain" not in error["data"]
    assert world.call("dev_api.list_refused") == []
