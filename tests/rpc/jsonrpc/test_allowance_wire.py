"""Clients that have used up their allowance, over each protocol: their requests are refused immediately, and other clients are not
affected.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from wsproto.events import TextMessage

from rpc.caller import Caller
from rpc.declare.errors import PushFailed
from rpc.jsonrpc.allowance import ALLOWANCE_UNITS, FORGIVEN_PER_SECOND, LEFT_UNITS_MIN, REFUSAL_UNITS, refusal_units
from rpc.jsonrpc.dispatch import UNREAD_SIZE_MIN
from state.operations.transfers import Transfer
from state.protocol.errors import Refused
from state.protocol.transaction import SignedBlock
from tests.helpers.nodes import dev_chain, make_block, transfer
from tests.helpers.push import PushClients, pushing, websocket
from tests.rpc.http.test_asgi_app import ask

ONE, OTHER = "10.0.0.1", "10.0.0.2"
METHOD = "condenser_api.broadcast_transaction"
# Sends a body from a client address to a port; returns the reply.
Send = Callable[[int, str, str], Awaitable[Any]]


async def over_http(port: int, address: str, body: str, verb: str = "POST") -> Any:
    """Send a body over HTTP: on the fast path for POST, through hypercorn for other methods."""
    return json.loads((await ask(port, verb, "/", body.encode(), {"x-forwarded-for": address}))[2])


async def over_hypercorn(port: int, address: str, body: str) -> Any:
    """Send a body with PUT, which hypercorn handles."""
    return await over_http(port, address, body, "PUT")


async def over_websocket(port: int, address: str, body: str) -> Any:
    """Send a body as a WebSocket message."""
    async with websocket(port, (b"x-forwarded-for", address.encode())) as client:
        await client.stream.send_all(client.protocol.send(TextMessage(body)))
        return await client.receive()


async def in_a_batch(port: int, address: str, body: str) -> Any:
    """Send a call as the second element of a batch, and return the reply to it."""
    answers = await over_http(port, address, f'[{{"jsonrpc":"2.0","id":0,"method":"condenser_api.get_config","params":[]}},{body}]')
    assert "result" in answers[0]
    return answers[1]


WAYS = pytest.mark.parametrize("send", [over_http, over_hypercorn, over_websocket, in_a_batch])


@asynccontextmanager
async def used_up() -> AsyncIterator[PushClients]:
    """Run a node on which the client address ONE has used up its allowance."""
    async with pushing() as world:
        world.processor.allowances.charge(Caller(ONE, "far"), ALLOWANCE_UNITS, Refused())
        yield world


def call(world: PushClients, memo: str, *, is_signed: bool = True) -> str:
    """Return the body of a call that broadcasts a transfer."""
    shown = world.chain.state.wire.transaction_to_json(transfer(world.chain, memo), legacy=True)
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": [shown if is_signed else shown | {"signatures": []}]})


@WAYS
async def test_a_used_up_allowance_refuses_only_its_client(send: Send) -> None:
    async with used_up() as world:
        spent = world.chain.state.work.spent
        error = (await send(world.port, ONE, call(world, "one")))["error"]
        assert error["data"]["retry_after_seconds"] == LEFT_UNITS_MIN / FORGIVEN_PER_SECOND
        assert "explain" not in error["data"]
        assert world.chain.state.work.spent == spent
        assert "result" in await send(world.port, OTHER, call(world, "other"))
        world.seconds += error["data"]["retry_after_seconds"]
        assert "result" in await send(world.port, ONE, call(world, "one again"))
        assert len(world.chain.pending) == 2


@pytest.mark.parametrize("send", [over_http, over_hypercorn, over_websocket])
async def test_used_up_allowance_refuses_large_bodies_unread(send: Send) -> None:
    async with used_up() as world:
        large = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "condenser_api.get_config", "params": [], "more": "x" * UNREAD_SIZE_MIN})
        error = (await send(world.port, ONE, large))["error"]
        assert "retry_after_seconds" in error["data"]
        assert "result" in await send(world.port, OTHER, large)


@WAYS
async def test_a_client_is_charged_only_for_refusals(send: Send) -> None:
    async with pushing() as world:
        allowances, one = world.processor.allowances, Caller(ONE, "far")
        assert "result" in await send(world.port, ONE, call(world, "fine"))
        assert not allowances.refused
        error = (await send(world.port, ONE, call(world, "unsigned", is_signed=False)))["error"]
        refused = {reason: units for (_, reason), units in allowances.refused.items()}
        assert refused == {"MissingActiveAuthority": error["data"]["units"]}
        unread = call(world, "x" * 10_000).replace('"to"', '"nobody"').replace("0.001 COIN", "a COIN")
        assert "error" in await send(world.port, ONE, unread)
        ((_, reason), units) = allowances.refused.most_common(1)[0]
        assert reason not in refused
        assert units > error["data"]["units"]
        allowances.charge(one, ALLOWANCE_UNITS - sum(allowances.refused.values()) - LEFT_UNITS_MIN, Refused())
        assert allowances.units_max(one) == LEFT_UNITS_MIN


@pytest.mark.parametrize("send", [over_http, over_websocket])
async def test_refused_blocks_use_up_the_allowance(send: Send) -> None:
    async with pushing() as world:
        wire, allowances = world.chain.state.wire, world.processor.allowances
        other = dev_chain()
        blocks = [wire.block_to_json(make_block(other)) for _ in range(2)]

        async def push(address: str, block: Any, **changes: Any) -> Any:
            body = {"jsonrpc": "2.0", "id": 1, "method": "chain_api.push_block", "params": {"block": block | changes}}
            return await send(world.port, address, json.dumps(body))

        assert (await push(ONE, blocks[0]))["result"] == {"success": True}
        assert not allowances.refused
        before = world.chain.state.work.spent
        assert (await push(ONE, blocks[1], witness="nobody"))["result"]["success"] is False
        ((_, units),) = allowances.refused.items()
        assert units >= REFUSAL_UNITS + world.chain.state.work.spent - before
        assert "error" in await push(ONE, blocks[1], timestamp="x")
        assert sum(allowances.refused.values()) >= units + REFUSAL_UNITS
        allowances.charge(Caller(ONE, "far"), ALLOWANCE_UNITS, Refused())
        spent = world.chain.state.work.spent
        assert "retry_after_seconds" in (await push(ONE, blocks[1]))["error"]["data"]
        assert world.chain.state.work.spent == spent
        assert (await push(OTHER, blocks[1]))["result"] == {"success": True}


async def test_refused_block_is_charged_for_reapplied_transactions() -> None:
    async with pushing() as world:
        for number in range(3):
            world.chain.push_transaction(transfer(world.chain, f"{number}"))
        work, block = world.chain.state.work, world.chain.state.wire.seal_block(SignedBlock())
        before = work.spent
        with pytest.raises(PushFailed):
            await world.processor.push_block(block, Caller(ONE, "far"))
        spent = work.spent - before
        assert spent > 3 * Transfer.UNITS
        assert sum(world.processor.allowances.refused.values()) == spent + refusal_units(block.size)


async def test_queued_transactions_share_one_allowance() -> None:
    """The work limit of a queued transaction is computed when its job starts, so a client's queued transactions share one allowance."""
    world, one = PushClients(), Caller(ONE, "far")
    bodies = [call(world, f"{number}", is_signed=False) for number in range(3)]
    replies: list[Any] = []

    async def push(body: str) -> None:
        reply = world.service.answer(body.encode(), one)
        assert not isinstance(reply, bytes)
        replies.append(json.loads(await reply)["error"]["data"])

    async with trio.open_nursery() as nursery:
        for body in bodies:
            nursery.start_soon(push, body)
        await trio.testing.wait_all_tasks_blocked()
        assert world.processor.queue_length == len(bodies)
        world.processor.allowances.charge(one, ALLOWANCE_UNITS, Refused())
        nursery.start_soon(world.processor.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert ["retry_after_seconds" in data for data in replies] == [True] * len(bodies)
