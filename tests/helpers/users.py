"""Actions of users over a connection to any process of a node, with checks of the replies. `owner` is the node that makes the blocks."""

from contextlib import AsyncExitStack
from typing import Any

import trio

from tests.helpers.ways import WAYS, InProcessNode, Socket, Transport, call, http1, result

ASYNC, SYNC = "broadcast_transaction", "broadcast_transaction_synchronous"


def request(method: str, params: Any, request_id: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


async def uses_each_way(owner: InProcessNode, port: int, processes: int) -> None:
    """Run all checks below over each transport, and receive a block notice. Connections to `port` go to its `processes` in turn."""
    async with AsyncExitStack() as stack:
        ways = [await stack.enter_async_context(open_(port)) for open_ in WAYS for _ in range(processes)]
        subscribed = [way for way in ways if isinstance(way, Socket)]
        for listening in subscribed:
            await result(listening, "dev_api.subscribe", {"kind": "blocks"})
        for way in ways:
            await broadcasts(owner, way)
            await waits(owner, way)
            await sends_a_batch(owner, way)
        for listening in subscribed:
            assert (await listening.notice())["kind"] == "blocks"


async def broadcasts(owner: InProcessNode, way: Transport) -> None:
    """The node forwards a broadcast to the owner. If the owner refuses the transaction, the reply contains the owner's explanation."""
    trx_id, trx = owner.transfer()
    assert await result(way, f"condenser_api.{ASYNC}", [trx]) == {}
    await owner.pending(trx_id)
    error = (await call(way, f"network_broadcast_api.{ASYNC}", {"trx": trx_of(owner, trx_id), "max_block_age": 100}))["error"]
    assert (error["code"], error["data"]["explain"]["rule"]) == (-32000, "duplicate_transaction")


def trx_of(owner: InProcessNode, trx_id: str) -> Any:
    """Return a pending transaction in the JSON format of network_broadcast_api."""
    [trx] = [trx for trx in owner.chain.pending if trx.id.hex() == trx_id]
    return owner.chain.state.wire.transaction_to_json(trx)


async def waits(owner: InProcessNode, way: Transport) -> None:
    """A client whose call waited for a block then reads the changes that the block made."""
    already = len(owner.chain.pending)
    trx_id, trx = owner.transfer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mine, owner, trx_id)
        found = await result(way, "call", ["condenser_api", SYNC, [trx]])
    head = owner.chain.state.props.head_block_number
    assert found == {"id": trx_id, "block_num": head, "trx_num": already, "expired": False}
    assert await balance(way) == owner.chain.state.account("bob").balance
    block = await result(way, "condenser_api.get_block", [head])
    assert block["transaction_ids"][already] == trx_id


async def mine(owner: InProcessNode, trx_id: str) -> None:
    """Make a block once a transaction is pending."""
    await owner.pending(trx_id)
    async with http1(owner.port) as way:
        await result(way, "dev_api.mine", {})


async def balance(way: Transport) -> int:
    [bob] = await result(way, "condenser_api.get_accounts", [["bob"]])
    return thousandths(bob["balance"])


def thousandths(amount: str) -> int:
    """Return an amount in thousandths."""
    return int(amount.split()[0].replace(".", ""))


async def sends_a_batch(owner: InProcessNode, way: Transport) -> None:
    """The calls of a batch are answered in order, even if some of them wait for a block."""
    (_, first), (two, second) = owner.transfer(), owner.transfer()
    batch = [
        request(f"condenser_api.{ASYNC}", [first], 1),
        request(f"condenser_api.{ASYNC}", [first], 2),
        request(f"condenser_api.{SYNC}", [second], 3),
        request("condenser_api.get_accounts", [["bob"]], 4),
    ]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mine, owner, two)
        answers = await way.post(batch)
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4]
    assert [list(answer)[1] for answer in answers] == ["result", "error", "result", "result"]
    assert answers[2]["result"]["id"] == two
    assert thousandths(answers[3]["result"][0]["balance"]) == await balance(way) == owner.chain.state.account("bob").balance
