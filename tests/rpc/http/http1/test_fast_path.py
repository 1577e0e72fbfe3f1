"""The fast path answers calls in order and within the connection's task. It hands every other request to hypercorn."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from rpc.http import connection
from rpc.http.asgi_app import AsgiApp
from rpc.http.http1 import fast_path
from rpc.jsonrpc.memory import MemoryLimiter
from tests.helpers.log_capture import capture_logs
from tests.rpc.http.test_asgi_app import PING, Waiting, ask, server

WAIT = b'{"jsonrpc":"2.0","method":"a_api.wait","id":"w"}'


def call(body: bytes = PING, *headers: bytes) -> bytes:
    """Return the request for a call."""
    return b"\r\n".join([b"POST / HTTP/1.1", b"Host: x", *headers, b"Content-Length: %d" % len(body), b"", b""]) + body


class Client:
    """A client connection with the bytes received so far."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream, self._waiting = stream, b""

    async def answer(self) -> tuple[int, Any]:
        """Return the status of the next reply, and its body, decoded if it is JSON."""
        while (at := self._waiting.find(b"\r\n\r\n")) < 0:
            await self._more()
        head, self._waiting = self._waiting[:at], self._waiting[at + 4 :]
        size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        while len(self._waiting) < size:
            await self._more()
        body, self._waiting = self._waiting[:size], self._waiting[size:]
        return int(head.split()[1]), json.loads(body) if body.startswith((b"{", b"[")) else body

    async def is_ended(self) -> bool:
        """Wait for more data. Return whether the node closed the connection instead."""
        return self._waiting == b"" and await self.stream.receive_some(1) == b""

    async def _more(self) -> None:
        data = await self.stream.receive_some(1 << 16)
        assert data
        self._waiting += data


@asynccontextmanager
async def client(port: int) -> AsyncIterator[Client]:
    """Connect to the server for the duration of the context."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        with trio.fail_after(20):
            yield Client(stream)


class Spawned(trio.abc.Instrument):
    """Counts the tasks that start."""

    def __init__(self) -> None:
        self.count = 0

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        self.count += 1


async def test_immediate_replies_start_no_tasks() -> None:
    async with server() as port, client(port) as here:
        await here.stream.send_all(call())
        assert (await here.answer())[0] == 200
        spawned = Spawned()
        trio.lowlevel.add_instrument(spawned)
        for _ in range(10):
            await here.stream.send_all(call() * 2)
            assert [(await here.answer())[1]["result"] for _ in range(2)] == ["x", "x"]
        trio.lowlevel.remove_instrument(spawned)
        assert spawned.count == 0


async def test_pipelined_calls_are_answered_in_order_and_yield() -> None:
    async with server() as port, client(port) as here, trio.open_nursery() as nursery:
        bodies = [PING.replace(b":1}", b":%d}" % number) for number in range(3000)]
        done: list[str] = []

        async def another() -> None:
            assert (await ask(port))[0] == 200
            done.append("another")

        nursery.start_soon(here.stream.send_all, b"".join(call(body) for body in bodies))
        assert (await here.answer())[1]["id"] == 0
        nursery.start_soon(another)
        assert [(await here.answer())[1]["id"] for _ in bodies[1:]] == list(range(1, len(bodies)))
        done.append("all")
        with trio.fail_after(20):
            while len(done) < 2:
                await trio.sleep(0.001)


async def test_other_requests_are_handed_over_in_the_middle_of_a_connection() -> None:
    async with server() as port, client(port) as here:
        page = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        await here.stream.send_all(call() + page + call())
        answers = [await here.answer() for _ in range(3)]
        assert [status for status, _ in answers] == [200, 200, 200]
        assert ["result" in body for _, body in answers] == [True, False, True]
        await here.stream.send_all(call() + b"POST / HTTP/1.1\r\nHost : x\r\n\r\n")
        assert [(await here.answer())[0] for _ in range(2)] == [200, 400]
        assert await here.is_ended()


async def test_half_closed_client_gets_its_reply() -> None:
    async with server() as port, client(port) as here:
        await here.stream.send_all(call())
        await here.stream.send_eof()
        assert (await here.answer())[1]["result"] == "x"
        assert await here.is_ended()


async def test_call_after_a_waiting_call_is_answered_second() -> None:
    waiting = Waiting()
    async with server(waiting) as port, client(port) as here:
        await here.stream.send_all(call(WAIT))
        await waiting.begun.wait()
        await here.stream.send_all(call())
        await trio.testing.wait_all_tasks_blocked()
        waiting.go_on.set()
        assert [(await here.answer())[1]["result"] for _ in range(2)] == ["done", "x"]


async def test_slow_body_with_expect_header_is_read() -> None:
    async with server() as port, client(port) as here:
        whole = call(PING, b"Expect: 100-continue")
        await here.stream.send_all(whole[: -len(PING)])
        assert (await here.answer())[0] == 100
        for at in range(len(PING)):
            await here.stream.send_all(PING[at : at + 1])
            await trio.testing.wait_all_tasks_blocked()
        assert (await here.answer())[1]["result"] == "x"


async def test_bug_is_an_internal_error_and_ends_only_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_given: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(AsgiApp, "__call__", broken)
    with capture_logs() as lines:
        async with server() as port, client(port) as here:
            await here.stream.send_all(call()[:-1])
            assert (await here.answer()) == (500, b"")
            assert await here.is_ended()
            monkeypatch.undo()
            assert (await ask(port))[0] == 200
    assert [line["event"] for line in lines] == ["request failed"]


async def test_occasional_calls_keep_a_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rpc.http.server.IDLE_SECONDS_MAX", 0.5)
    async with server() as port, client(port) as here:
        for _ in range(12):
            await trio.sleep(0.1)
            await here.stream.send_all(call())
            assert (await here.answer())[0] == 200
        assert await here.is_ended()


async def test_shutdown_ends_idle_connections() -> None:
    stop = trio.Event()
    async with server(shutdown=stop.wait) as port, client(port) as here:
        await here.stream.send_all(call())
        assert (await here.answer())[0] == 200
        stop.set()
        assert await here.is_ended()


async def test_shutdown_waits_for_a_scheduled_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SEND_AT_ONCE_SIZE", 0)
    stop, waiting = trio.Event(), Waiting()
    async with server(waiting, shutdown=stop.wait) as port, client(port) as here:
        await here.stream.send_all(call(WAIT))
        await waiting.begun.wait()
        stop.set()
        await trio.testing.wait_all_tasks_blocked()
        waiting.go_on.set()
        assert (await here.answer())[1]["result"] == "done"
        assert await here.is_ended()


async def test_connection_is_idle_again_after_a_slow_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rpc.http.server.IDLE_SECONDS_MAX", 0.2)
    waiting = Waiting()
    async with server(waiting) as port, client(port) as here:
        await here.stream.send_all(call(WAIT))
        await waiting.begun.wait()
        await trio.sleep(0.5)
        waiting.go_on.set()
        assert (await here.answer())[1]["result"] == "done"
        assert await here.is_ended()


async def test_disconnect_before_the_wait_is_detected() -> None:
    waiting = Waiting()
    async with server(waiting) as port:
        async with client(port) as here:
            await here.stream.send_all(call(WAIT))
        with trio.fail_after(20):
            await waiting.ended.wait()
        assert waiting.cancelled


LARGE = PING.replace(b'"x"', b'"%s"' % (b"x" * 10_000))


async def test_unread_replies_count_towards_the_memory_limit() -> None:
    memory, count = MemoryLimiter(), 1600
    async with server(memory=memory) as port, client(port) as here, trio.open_nursery() as nursery:
        nursery.start_soon(here.stream.send_all, call(LARGE) * count)
        while not memory.used()["remote_bytes"][0]:
            await trio.sleep(0.01)
        for _ in range(count):
            status, reply = await here.answer()
            assert (status, len(reply["result"])) == (200, 10_000)
        while memory.used()["remote_bytes"][0]:
            await trio.sleep(0.01)


async def test_client_whose_reply_exceeds_the_memory_limit_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SEND_AT_ONCE_SIZE", 0)
    monkeypatch.setattr(fast_path, "SMALL_SIZE_MAX", 0)
    monkeypatch.setattr("rpc.jsonrpc.memory.LITTLE_SIZE", 0)
    async with server(memory=MemoryLimiter(0, 0)) as port, client(port) as here:
        await here.stream.send_all(call())
        assert await here.is_ended()
