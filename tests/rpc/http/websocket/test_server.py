"""WebSockets over real connections: how they open and close, limits on queued messages, and tiny frames, which must not delay other
clients.
"""

import gc
import json
import socket
import struct
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio

from rpc.http import connection
from rpc.http.access import AccessPolicy
from rpc.http.websocket import rpc_session
from rpc.http.websocket import server as websocket_server
from rpc.http.websocket.frames import Frames
from rpc.json import reader
from rpc.json.reader import values_size
from rpc.jsonrpc.batch import BatchRunner
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.memory import MemoryLimiter
from tests.helpers.attackers import head, upgrade, ws_frame
from tests.helpers.log_capture import capture_logs
from tests.helpers.push import pushing
from tests.rpc.http.test_asgi_app import PING, PONG, Waiting, ask, rest, server

ANSWER = json.dumps(PONG, separators=(",", ":")).encode()
CLOSED = b"\x88\x02\x03\xe8"  # 1000
WAIT = b'{"jsonrpc":"2.0","method":"a_api.wait","id":"w"}'


@asynccontextmanager
async def opened(port: int) -> AsyncIterator[trio.SocketStream]:
    """Open a WebSocket for the duration of the context; yields the raw stream."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(upgrade())
        assert (await stream.receive_some(4096)).endswith(b"\r\n\r\n")
        yield stream


async def receive(stream: trio.SocketStream, size: int) -> bytes:
    """Return the next `size` bytes."""
    data = b""
    with trio.fail_after(20):
        while len(data) < size:
            data += await stream.receive_some(size - len(data))
    return data


def framed(text: bytes) -> bytes:
    """Return the frame in which the node sends a short text."""
    return bytes([0x81, len(text)]) + text


# ------------------------------------------------------------------ beginning


async def test_handshake_can_arrive_in_chunks_after_other_requests() -> None:
    call = head("POST / HTTP/1.1", "Host: x", f"Content-Length: {len(PING)}") + PING
    async with server() as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(call)
        assert (await stream.receive_some(4096)).endswith(ANSWER)
        for piece in (upgrade()[:30], upgrade()[30:100], upgrade()[100:]):
            await stream.send_all(piece)
            await trio.sleep(0.02)
        answer = await stream.receive_some(4096)
        assert answer.startswith(b"HTTP/1.1 101 \r\n")
        assert b"sec-websocket-accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\n" in answer
        await stream.send_all(ws_frame(PING))
        assert await receive(stream, len(ANSWER) + 2) == framed(ANSWER)


async def test_pipelined_handshake_is_answered_after_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CLOSE_SECONDS_MAX", 0.2)
    call = head("POST / HTTP/1.1", "Host: x", f"Content-Length: {len(PING)}") + PING
    async with server() as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(call + upgrade())
        answer = b""
        while b"HTTP/1.1 101" not in answer:
            answer += await stream.receive_some(4096)
        assert answer.index(ANSWER) < answer.index(b"HTTP/1.1 101")
        # The WebSocket stays open, although the HTTP connection that it replaces would soon be closed.
        await trio.sleep(0.4)
        await stream.send_all(ws_frame(PING))
        assert await receive(stream, len(ANSWER) + 2) == framed(ANSWER)


async def test_compression_is_declined() -> None:
    async with server() as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(upgrade("Sec-WebSocket-Extensions: permessage-deflate"))
        assert b"sec-websocket-extensions" not in (await stream.receive_some(4096)).lower()
        await stream.send_all(b"\xc1" + ws_frame(b"x")[1:])
        assert (await rest(stream))[2:4] == (1002).to_bytes(2, "big")


async def test_page_of_a_refused_origin_gets_no_websocket() -> None:
    async with server(access=AccessPolicy(origins=())) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(upgrade("Origin: http://example.com"))
        answer = await rest(stream)
        assert answer.startswith(b"HTTP/1.1 403 \r\ncontent-length: 0\r\nconnection: close\r\n")


# ------------------------------------------------------------------ end


async def test_requests_before_the_close_are_answered() -> None:
    async with server() as port:
        async with opened(port) as stream:
            await stream.send_all(ws_frame(PING) * 3 + ws_frame(b"\x03\xe8", 8) + ws_frame(PING))
            assert await rest(stream) == framed(ANSWER) * 3 + CLOSED
        async with opened(port) as stream:
            await stream.send_all(ws_frame(PING) * 3)
            await stream.send_eof()
            assert await rest(stream) == framed(ANSWER) * 3


@pytest.mark.parametrize(
    ("broken", "code"),
    [(ws_frame(b"\xed\xa0\x80"), 1007), (b"\x81\x01x", 1002), (b"\xc1" + ws_frame(b"x")[1:], 1002), (ws_frame(b"x", 0), 1002)],
)
async def test_broken_frames_end_the_connection(broken: bytes, code: int) -> None:
    async with server() as port, opened(port) as stream:
        await stream.send_all(ws_frame(PING) + broken + ws_frame(PING))
        said = (await rest(stream)).removeprefix(framed(ANSWER))
        assert (said[:1], said[2:4], len(said)) == (b"\x88", code.to_bytes(2, "big"), 2 + said[1])


async def test_oversized_message_closes_the_websocket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "REMOTE_SIZE_MAX", 1000)
    async with server() as port, opened(port) as stream:
        with capture_logs() as lines:
            await stream.send_all(ws_frame(b" " * 500, is_last=False) + ws_frame(b" " * 501, 0))
            assert await rest(stream) == b"\x88\x02\x03\xf1"  # 1009
        assert [line["error"] for line in lines] == ["ClientEnded: a message was too large"]


async def test_a_bug_ends_the_socket_and_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: Service, *_: Any) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(Service, "answer_in_turn", broken)
    async with server() as port, opened(port) as stream:
        with capture_logs() as lines:
            await stream.send_all(ws_frame(PING))
            assert await rest(stream) == b"\x88\x02\x03\xf3"  # 1011
        assert [(line["event"], line["client"]) for line in lines] == [("request failed", "127.0.0.1")]


async def test_websockets_end_with_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rpc.http.listener.GRACE_SECONDS_MAX", 0.2)
    stop = trio.Event()
    async with server(shutdown=stop.wait) as port, opened(port) as stream:
        stop.set()
        assert await rest(stream) == b""


# ------------------------------------------------------------------ what waits


async def test_pings_are_answered_while_a_broadcast_waits() -> None:
    waiting = Waiting()
    async with server(waiting) as port, opened(port) as stream:
        await stream.send_all(ws_frame(WAIT))
        await waiting.begun.wait()
        await stream.send_all(ws_frame(b"here?", 9))
        assert await receive(stream, 7) == b"\x8a\x05here?"


async def test_waiting_broadcasts_per_websocket_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc_session, "WAITING_PER_SOCKET_MAX", 2)
    waiting = Waiting()
    async with server(waiting) as port, opened(port) as stream:
        await stream.send_all(ws_frame(WAIT) + ws_frame(PING) + ws_frame(WAIT) + ws_frame(PING))
        assert await receive(stream, len(ANSWER) + 2) == framed(ANSWER)
        with trio.move_on_after(0.2) as silent:
            await stream.receive_some(1)
        assert silent.cancelled_caught
        waiting.go_on.set()
        answers = await receive(stream, len(ANSWER) + 2 + 2 * len(framed(b'{"jsonrpc":"2.0","result":"done","id":"w"}')))
        assert answers.count(b'"done"') == 2
        assert framed(ANSWER) in answers


async def test_incomplete_messages_count_towards_the_memory_limit() -> None:
    async with server(memory=MemoryLimiter(200_000)) as port:
        async with opened(port) as stream:
            await stream.send_all(ws_frame(b"x" * 90_000, is_last=False))
            await stream.send_all(ws_frame(b"x" * 20_000, 0, is_last=False))
            said = await rest(stream)  # an address may hold half of it
            assert said[2:4] == (1013).to_bytes(2, "big")
            assert b"200000 bytes" in said
        async with opened(port) as stream:
            for _ in range(3):
                await stream.send_all(ws_frame(PING + b" " * 40_000, is_last=False) + ws_frame(b" " * 40_000, 0))
                assert await receive(stream, len(ANSWER) + 2) == framed(ANSWER)


async def test_message_is_counted_until_it_is_answered() -> None:
    waiting, memory = Waiting(), MemoryLimiter()
    async with server(waiting, memory=memory) as port, opened(port) as stream:
        with trio.fail_after(20):
            await stream.send_all(ws_frame(WAIT, is_last=False) + ws_frame(b" " * 100_000, 0))
            await waiting.begun.wait()
            # The message is counted until the next one is read, and the values of the call as long as it waits.
            while (held := memory.used()["remote_bytes"][0]) != values_size(WAIT + b" " * 100_000):
                assert held > 100_000
                await trio.sleep(0.01)
            waiting.go_on.set()
            await receive(stream, 10)
            while memory.used()["remote_bytes"][0]:
                await trio.sleep(0.01)


@pytest.mark.parametrize("is_local", [False, True])
async def test_message_size_limit_depends_on_local_rights(monkeypatch: pytest.MonkeyPatch, is_local: bool) -> None:
    monkeypatch.setattr(reader, "REMOTE_SIZE_MAX", 1000)
    async with server() as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(upgrade().replace(b"Host: x", b"Host: localhost:%d" % port) if is_local else upgrade())
        await stream.receive_some(4096)
        await stream.send_all(ws_frame(PING + b" " * 900, is_last=False) + ws_frame(b" " * 901, 0))
        assert await receive(stream, 4) == (framed(ANSWER)[:4] if is_local else b"\x88\x02\x03\xf1")  # 1009


async def test_received_data_is_freed_without_the_garbage_collector() -> None:
    seen: list[weakref.ref[Frames]] = []

    class Seen(Frames):
        def __init__(self, size_max: int) -> None:
            super().__init__(size_max)
            seen.append(weakref.ref(self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(websocket_server, "Frames", Seen)
        gc.disable()
        try:
            async with pushing() as world, await trio.open_tcp_stream("127.0.0.1", world.port) as stream:
                await stream.send_all(upgrade())
                await stream.receive_some(4096)
                await stream.send_all(ws_frame(b"x" * 1000, is_last=False))
                await stream.aclose()
                with trio.fail_after(20):
                    while seen[0]() is not None:
                        await trio.sleep(0.01)
        finally:
            gc.enable()


async def test_cancelled_batch_is_freed_without_the_garbage_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client resets the connection while the batch waits, which cancels the batch."""

    class Requests(list[Any]):
        """A list that supports weak references."""

    seen: list[weakref.ref[Requests]] = []
    batch = BatchRunner.answer

    async def spy(self: BatchRunner, requests: list[Any], caller: Any) -> bytes:
        seen.append(weakref.ref(requests := Requests(requests)))
        return await batch(self, requests, caller)

    monkeypatch.setattr(BatchRunner, "answer", spy)
    waiting = Waiting()
    gc.disable()
    try:
        async with server(waiting) as port, opened(port) as stream:
            await stream.send_all(ws_frame(b"[" + PING + b"," + WAIT + b"]"))
            await waiting.begun.wait()
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await stream.aclose()
            while seen[0]() is not None:
                await trio.sleep(0.01)
    finally:
        gc.enable()


async def test_reply_memory_is_limited() -> None:
    """An address can hold 1 MB: a reply of 400 KB fits in addition to its request. A reply of 800 KB, or the replies to a large batch,
    exceed the limit.
    """
    async with server(memory=MemoryLimiter(2_000_000)) as port:
        async with opened(port) as stream:
            await stream.send_all(ws_frame(PING.replace(b'"x"', b'"%s"' % (b"x" * 400_000))))
            assert len(await receive(stream, 400_000)) == 400_000
        async with opened(port) as stream:
            await stream.send_all(ws_frame(b"[" + b"1," * 4_999 + b"1]"))
            assert b"of 2000000 bytes" in await stream.receive_some(4096)
            await stream.send_all(ws_frame(PING.replace(b'"x"', b'"%s"' % (b"x" * 800_000))))
            assert await rest(stream) == b""


async def test_tiny_frames_do_not_delay_other_clients() -> None:
    floods = {
        "messages": ws_frame(b"x") * 100_000,
        "pongs": ws_frame(b"", 10) * 100_000,
        "fragments": ws_frame(b"", is_last=False) + ws_frame(b"", 0, is_last=False) * 100_000,
    }
    async with server() as port:
        for flood in floods.values():
            async with opened(port) as stream, trio.open_nursery() as nursery:
                nursery.start_soon(stream.send_all, flood)
                nursery.start_soon(rest_of, stream)
                for _ in range(3):
                    with trio.fail_after(20):
                        assert (await ask(port, "GET", "/health", None))[0] == 200
                nursery.cancel_scope.cancel()


async def rest_of(stream: trio.SocketStream) -> None:
    """Read and discard everything until the connection ends."""
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while await stream.receive_some(1 << 16):
            pass
