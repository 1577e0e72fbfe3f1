"""`GET /stream/blocks`, and notices over WebSockets, on real sockets: order, shutdown, slow readers, floods, and HTTP/2."""

import json
import socket as sockets
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest
import trio
from wsproto.events import CloseConnection, TextMessage

from rpc.http import block_stream, connection
from rpc.http.block_stream import BadQuery, read_query
from rpc.http.connection_limits import ConnectionLimits
from rpc.http.websocket.rpc_session import TRY_AGAIN_LATER
from rpc.push import session as session_module
from rpc.push.hub import STOPPING
from rpc.push.session import TOO_SLOW, SharedNotice, Topic
from state.protocol.values.integers import UINT32_MAX
from tests.helpers.attackers import h2_request, h2_start
from tests.helpers.golden import fails
from tests.helpers.nodes import transfer
from tests.helpers.push import Client, Lines, PushClients, lines, pushing, websocket
from tests.rpc.http.test_asgi_app import ask


async def health(port: int) -> float:
    """Return the response time of /health in seconds."""
    begun = trio.current_time()
    assert (await ask(port, "GET", "/health", None))[0] == 200
    return trio.current_time() - begun


# ------------------------------------------------------------------ streams


@pytest.mark.parametrize(
    ("query", "read"),
    [
        (b"", (None, False, False)),
        (b"from=1", (1, False, False)),
        (b"from=4294967295&irreversible=true", (UINT32_MAX, True, False)),
        (b"from=7&form=packed", (7, False, True)),
        (b"form=json", (None, False, False)),
        (b"irreversible=false", (None, False, False)),
    ],
)
def test_queries(query: bytes, read: tuple[int | None, bool, bool]) -> None:
    assert read_query(query) == read


@pytest.mark.parametrize(
    "query",
    [
        *(b"from=0", b"from=4294967296", b"from=", b"from=-1", b"from=%C2%B2", b"from=" + b"1" * 300),
        *(b"irreversible=yes", b"form=xml", b"until=3"),
    ],
)
async def test_bad_queries_are_refused(query: bytes) -> None:
    with fails(BadQuery) as caught:
        read_query(query)
    async with pushing() as world:
        status, _, body = await ask(world.port, "GET", f"/stream/blocks?{query.decode()}", None)
        assert (status, str(caught.value).encode() in body) == (400, True)


async def test_a_connection_is_kept_after_a_refused_stream() -> None:
    async with pushing() as world:
        stream = await trio.open_tcp_stream("127.0.0.1", world.port)
        async with stream:
            for _ in range(30):
                await stream.send_all(b"GET /stream/blocks?from=0 HTTP/1.1\r\nHost: x\r\n\r\n")
                reply = b""
                while b"from must be" not in reply:
                    reply += await stream.receive_some()


async def test_stream_starts_in_the_past_and_continues() -> None:
    async with pushing() as world:
        world.make(40)
        async with lines(world.port, "?from=3") as stream:
            assert b"application/x-ndjson" in stream.head
            told = await stream.some(38)
            assert [line["block_num"] for line in told] == list(range(3, 41))
            shown = world.call(None, "block_api.get_block", {"block_num": 40})["result"]["block"]
            assert told[-1] == {"block_num": 40, **shown}
            for block in world.make(3):
                assert (await stream.next())["block_id"] == block.id.hex()


async def test_stream_without_a_number_starts_with_the_next_block() -> None:
    async with pushing() as world:
        world.make(5)
        async with lines(world.port) as stream:
            world.make(1)
            assert (await stream.next())["block_num"] == 6


async def test_undone_blocks_are_announced_in_the_stream() -> None:
    async with pushing() as world:
        world.make(30)
        async with lines(world.port, "?from=29") as stream:
            await stream.some(2)
            branch = world.switch(behind=1)
            told = await stream.some(3)
            assert told[0] == {"undone": {"first": 30, "last": 30}}
            assert [line["block_id"] for line in told[1:]] == [block.id.hex() for block in branch]


async def test_irreversible_blocks_only() -> None:
    async with pushing() as world:
        world.make(40)
        last = world.chain.irreversible
        async with lines(world.port, "?from=1&irreversible=true") as stream:
            assert (await stream.some(last))[-1]["block_num"] == last
            world.make(1)
            assert world.chain.irreversible == last + 1
            assert (await stream.next())["block_num"] == last + 1


async def test_large_blocks_have_the_same_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    async with pushing() as world:
        world.make(5)
        async with lines(world.port, "?from=1") as stream:
            whole = await stream.some(5)
        monkeypatch.setattr("rpc.push.hub.LARGE_SIZE", 0)
        async with lines(world.port, "?from=1") as stream:
            assert await stream.some(5) == whole
            [block] = world.make(1)
            assert (await stream.next())["block_id"] == block.id.hex()


async def test_stream_announces_the_shutdown() -> None:
    stop = trio.Event()
    async with pushing(shutdown=stop.wait) as world:
        world.make(1)
        async with lines(world.port, "?from=1") as stream:
            await stream.some(1)
            stop.set()
            assert await stream.next() == {"error": STOPPING}
            assert await stream.next() is None


async def test_stream_ends_when_its_client_disconnects() -> None:
    async with pushing() as world:
        before = len(world.chain.on_head_change)
        async with lines(world.port):
            assert len(world.chain.on_head_change) == before + 1
        while len(world.chain.on_head_change) > before:
            await trio.sleep(0.01)


async def test_streams_are_limited_separately_from_requests() -> None:
    async with pushing(bounds=ConnectionLimits(100, 2, 100, streams=4)) as world, AsyncExitStack() as stack:
        for _ in range(2):  # half of all, for one address
            await stack.enter_async_context(lines(world.port))
        status, _, body = await ask(world.port, "GET", "/stream/blocks", None)
        assert (status, body) == (503, b"too many streams are open\n")
        assert (await ask(world.port))[0] == 200


async def test_other_verbs_are_calls() -> None:
    async with pushing() as world:
        assert json.loads((await ask(world.port, "POST", "/stream/blocks"))[2])["id"] == 1


async def test_streams_over_http2() -> None:
    async with pushing(is_http2=True) as world, await trio.open_tcp_stream("127.0.0.1", world.port) as stream:
        world.make(2)
        asked = [h2_request(each, method=b"GET", path=b"/stream/blocks?from=1") for each in (1, 3)]
        await stream.send_all(h2_start() + b"".join(asked))
        answer = b""
        for number in (2, 3, 4):
            while answer.count(b'"block_num":%d,' % number) < 2:
                answer += await stream.receive_some(65536)
            world.make(1)


async def test_slow_stream_reader_gets_a_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_stream, "PIECE_SECONDS_MAX", 0.2)
    async with pushing() as world:
        fill(world)
        async with slow_reader(world.port) as stream:
            await stream.stream.send_all(b"GET /stream/blocks?from=1 HTTP/1.1\r\nHost: x\r\n\r\n")
            await trio.sleep(0.5)
            assert await health(world.port) < 1
            await stream.begin_reading()
            last = None
            while (line := await stream.next()) is not None:
                last = line
            assert last == {"error": block_stream.TOO_SLOW}


async def test_stalled_stream_reader_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SEND_SECONDS_MAX", 0.2)
    async with pushing() as world:
        fill(world)
        before = len(world.chain.on_head_change)
        async with slow_reader(world.port) as stream:
            await stream.stream.send_all(b"GET /stream/blocks?from=1 HTTP/1.1\r\nHost: x\r\n\r\n")
            while len(world.chain.on_head_change) == before:
                await trio.sleep(0.01)
            while len(world.chain.on_head_change) > before:
                await trio.sleep(0.01)


# ------------------------------------------------------------------ WebSockets


async def test_reply_precedes_notices() -> None:
    async with pushing() as world, websocket(world.port) as client:
        for number in (1, 2, 3):
            await client.send("dev_api.subscribe", {"kind": "blocks"}, request_id=number)
            world.make(1)
        seen: list[Any] = []
        # Read until each request has a reply and each subscription a notice, since the node may handle the requests slowly.
        while {message.get("params", {}).get("subscription") for message in seen if "id" not in message} != {1, 2, 3}:
            world.make(1)
            seen.append(await client.receive())
        answered = [message["id"] for message in seen if "id" in message]
        assert answered == [1, 2, 3]
        for number in answered:
            first = next(i for i, message in enumerate(seen) if message.get("params", {}).get("subscription") == number)
            assert first > next(i for i, message in enumerate(seen) if message.get("id") == number)


async def test_notices_and_replies_share_a_connection() -> None:
    async with pushing() as world, websocket(world.port) as client:
        assert (await client.call("dev_api.subscribe", {"kind": "transactions"}))["result"] == {"subscription": 1}
        assert (await client.call("call", ["database_api", "set_block_applied_callback", [9]]))["result"] is None
        world.chain.push_transaction(transfer(world.chain))
        assert (await client.receive())["params"]["transaction"]["operations"][0]["type"] == "transfer_operation"
        world.make(1)
        notice = await client.receive()
        assert (set(notice), notice["method"], notice["params"][0]) == ({"method", "params"}, "notice", 9)
        answer = await client.call("database_api.get_dynamic_global_properties", {})
        assert answer["result"]["head_block_number"] == 1


async def test_a_batch_can_subscribe() -> None:
    batch = [{"jsonrpc": "2.0", "id": i, "method": "dev_api.subscribe", "params": ["blocks"]} for i in (1, 2)]
    async with pushing() as world, websocket(world.port) as client:
        await client.send_event(TextMessage(json.dumps(batch)))
        assert [reply["result"]["subscription"] for reply in await client.receive()] == [1, 2]


async def test_subscriptions_end_with_their_connection() -> None:
    async with pushing() as world:
        before = len(world.chain.on_head_change)
        async with websocket(world.port) as client:
            await client.call("dev_api.subscribe", {"kind": "operations"})
            assert world.hub.count == 1
        while world.hub.count:
            await trio.sleep(0.01)
        assert len(world.chain.on_head_change) == before


async def test_subscriptions_of_an_address_are_limited() -> None:
    async with pushing(bounds=ConnectionLimits(100, 100, 100, subscriptions=6)) as world, websocket(world.port) as client:
        replies = [await client.call("dev_api.subscribe", {"kind": "blocks"}) for _ in range(4)]
        assert ["result" in reply for reply in replies] == [True, True, True, False]
        assert "too many subscriptions are open" in replies[3]["error"]["message"]
        await client.call("dev_api.unsubscribe", [1])
        assert "result" in await client.call("dev_api.subscribe", {"kind": "blocks"})


async def test_slow_notice_reader_is_disconnected_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "QUEUED_SIZE_MAX", 200_000)
    async with pushing() as world, websocket(world.port) as quick, websocket(world.port) as slow:
        for client in (quick, slow):
            shrink(client)
            await client.call("dev_api.subscribe", {"kind": "blocks"})
        made = 0
        while world.hub.count == 2 and not any(session.reason for session in sessions(world)):
            world.make(10)
            made += 10
            with trio.fail_after(20):
                for _ in range(10):
                    assert (await quick.receive())["params"]["kind"] == "blocks"
            assert world.hub.held_size <= 300_000
            assert made < 30_000
        assert await health(world.port) < 1
        end = await slow.until_closed()
        assert (end.code, end.reason) == (TRY_AGAIN_LATER, TOO_SLOW)
        world.make(1)
        assert (await quick.receive())["params"]["block"]["block_num"] == made + 1


async def test_stalled_notice_reader_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "QUEUED_SIZE_MAX", 100_000)
    monkeypatch.setattr(session_module, "DISCONNECT_SECONDS_MAX", 0.2)
    async with pushing() as world, websocket(world.port) as slow:
        shrink(slow)
        await slow.call("dev_api.subscribe", {"kind": "blocks"})
        with trio.fail_after(30):
            while world.hub.count:
                world.make(10)
                await trio.sleep(0.001)
        with suppress(trio.BrokenResourceError, AssertionError):
            assert not isinstance(await slow.until_closed(), CloseConnection)


async def test_stalled_readers_share_one_text() -> None:
    text = b'"%s"' % b"x".ljust(2_000_000, b"x")
    async with pushing() as world, websocket(world.port) as quick, AsyncExitStack() as stack:
        for _ in range(20):
            client = await stack.enter_async_context(websocket(world.port))
            shrink(client)
            await client.call("explorer_api.subscribe_blocks", {})
        await quick.call("explorer_api.subscribe_blocks", {})
        tracemalloc.start()
        world.hub._give(world.hub._subscriptions[Topic.blocks], SharedNotice(b"block", text))
        assert (await quick.receive())["params"]["block"].startswith("x")
        while not all(session._is_sending for session in sessions(world)[:-1]):
            await trio.sleep(0.001)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 6 * len(text)  # of the notice, and of the one who reads


async def test_replies_are_sent_between_large_notices() -> None:
    async with pushing() as world, websocket(world.port) as client:
        await client.call("rpc.discover", {})  # made in slices the first time, while others are answered
        await client.call("explorer_api.subscribe_blocks", {})
        for _ in range(20):
            world.hub._give(world.hub._subscriptions[Topic.blocks], SharedNotice(b"block", b'"%s"' % b"x".ljust(300_000, b"x")))
        for number in range(10, 30):
            await client.send("dev_api.get_info" if number % 2 else "rpc.discover", {}, request_id=number)
        seen = [await client.receive() for _ in range(40)]
        # The document is built in slices, and other calls are answered between the slices.
        assert sorted(message["id"] for message in seen if "id" in message) == list(range(10, 30))
        assert {len(message["params"]["block"]) for message in seen if "id" not in message} == {300_000}


async def test_health_stays_fast_during_many_notices() -> None:
    async with pushing() as world, AsyncExitStack() as stack, trio.open_nursery() as nursery:
        clients = [await stack.enter_async_context(websocket(world.port)) for _ in range(40)]
        for client in clients:
            await client.call("dev_api.subscribe", {"kind": "blocks"})
        seen = [0] * len(clients)

        async def read(number: int) -> None:
            while seen[number] < 200:
                assert (await clients[number].receive())["params"]["block"]["block_num"] == seen[number] + 1
                seen[number] += 1

        for number in range(len(clients)):
            nursery.start_soon(read, number)
        waits = []
        for _ in range(20):
            world.make(10)
            waits.append(await health(world.port))
        assert sorted(waits)[len(waits) // 2] < 1


# ------------------------------------------------------------------ slow readers


def fill(world: PushClients) -> None:
    """Make blocks with several megabytes of transactions."""
    for number in range(150):
        for each in range(8):
            world.chain.push_transaction(transfer(world.chain, f"{number} {each} ".ljust(2000, "x")))
        world.make(1)


def shrink(client: Client) -> None:
    """Shrink the client's receive buffer, so that the operating system accepts little data while the client doesn't read."""
    client.stream.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)


def sessions(world: PushClients) -> list[Any]:
    """Return the sessions that have subscriptions."""
    return [subscription.session for each in world.hub._subscriptions.values() for subscription in each]


class SlowLines(Lines):
    """A block stream that the client doesn't read until `begin_reading`."""

    async def begin_reading(self) -> None:
        """Receive the head of the response."""
        while b"\r\n\r\n" not in self._data:
            self._data += await self._more()
        self.head, _, self._data = self._data.partition(b"\r\n\r\n")


@asynccontextmanager
async def slow_reader(port: int) -> AsyncIterator[SlowLines]:
    """Open a connection with a small receive buffer, which the client doesn't read until `begin_reading`."""
    line = trio.socket.socket()
    line.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    await line.connect(("127.0.0.1", port))
    async with trio.SocketStream(line) as stream:
        yield SlowLines(stream)
