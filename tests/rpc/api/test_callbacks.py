"""Callbacks in the way clients of older nodes set them: by the name or number of an API, after a login, and only over a WebSocket."""

from typing import Any

import pytest

from rpc.api.callbacks import APIS, OTHER, OTHER_APIS
from tests.helpers.push import PushClients, notices

CALLBACKS = ("set_block_applied_callback", "set_pending_transaction_callback")


@pytest.fixture
def world() -> PushClients:
    """A chain with one block."""
    made = PushClients()
    made.make(1)
    return made


@pytest.mark.parametrize("group", ["condenser_api", "database_api"])
async def test_callbacks_are_set_and_ended(world: PushClients, group: str) -> None:
    session = world.session()
    for callback, name in enumerate(CALLBACKS, 10):
        assert world.call(session, f"{group}.{name}", [callback]) == {"jsonrpc": "2.0", "result": None, "id": 1}
    block = world.make(1)[0]
    received: Any = await notices(session, 1)
    assert (received[0][0], received[0][1][0]["previous"]) == (10, block.previous.hex())
    assert world.call(session, f"{group}.cancel_all_subscriptions", [])["result"] is None
    assert world.hub.count == 0


async def test_a_session_of_a_graphene_client(world: PushClients) -> None:
    session = world.session()

    def call(*params: Any) -> Any:
        return world.call(session, "call", list(params))["result"]

    assert call(1, "login", ["", ""]) is True
    database = call(1, "get_api_by_name", ["database_api"])
    assert database == 0
    assert call(database, "get_accounts", [["alice"]])[0]["name"] == "alice"
    assert call(call(1, "get_api_by_name", ["network_broadcast_api"]), "get_block", [1])["witness"] == "initminer"
    assert call(database, "set_block_applied_callback", [3]) is None
    assert call("database_api", "set_block_applied_callback", [4]) is None
    world.make(1)
    received: Any = await notices(session, 1)
    assert received[0][0] == 4
    assert session.size == 0


def test_every_older_api_has_a_number(world: PushClients) -> None:
    session = world.session()
    for name in (*APIS, *OTHER_APIS):
        assert world.call(session, "login_api.get_api_by_name", {"api": name})["result"] == APIS.get(name, OTHER)
    assert "there is no API x_api" in world.call(session, "login_api.get_api_by_name", {"api": "x_api"})["error"]["message"]
    assert world.call(session, "login_api.login", {"user": "a", "password": "b"})["result"] is True


def test_over_http_callbacks_are_refused_as_by_the_reference(world: PushClients) -> None:
    for name in CALLBACKS:
        error = world.call(None, f"condenser_api.{name}", [1])["error"]
        assert error["message"] == f"Assert Exception:method_itr != api_itr->second.end(): Could not find method {name}"
        assert error["data"]["hint"] == "this needs a WebSocket"
    for params in (["login_api", "login", ["", ""]], [1, "login", ["", ""]], [0, "get_accounts", [["alice"]]]):
        assert "Could not find API" in world.call(None, "call", params)["error"]["message"]


async def test_callbacks_need_a_number(world: PushClients) -> None:
    given: list[list[Any]] = [[], ["header"], [[]]]
    for params in given:
        assert "error" in world.call(world.session(), "condenser_api.set_block_applied_callback", params)
    assert world.hub.count == 0
