"""Connections whose client has not sent anything yet."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import trio
import trio.testing

from rpc.http import idle_connections as module
from rpc.http.connection_limits import ConnectionLimiter, limits_for
from rpc.http.idle_connections import IdleConnection, IdleConnections
from rpc.http.input_scheduler import FairInputScheduler

SILENT_SECONDS_MAX = 3


class Hall:
    """The idle connections, their limiter, and the connections whose client has sent something, each with its first bytes."""

    def __init__(self, connections: int = 100) -> None:
        self.limiter = ConnectionLimiter(limits_for(connections))
        self.input_scheduler = FairInputScheduler(["/health"])
        self.begun: list[tuple[IdleConnection, bytes]] = []
        self.idle_connections = IdleConnections(
            self.limiter, self.input_scheduler, lambda newcomer, data: self.begun.append((newcomer, data)), SILENT_SECONDS_MAX
        )

    def connect(self, host: str = "192.0.2.1", said: bytes = b"") -> socket.socket:
        """Connect a client that has already sent `said`. Return the client's socket."""
        here, there = socket.socketpair()
        there.sendall(said)
        self.idle_connections.add(here, (host, 1))
        return there


@asynccontextmanager
async def hall(connections: int = 100) -> AsyncIterator[Hall]:
    """Run a `Hall` for the duration of the context."""
    made = Hall(connections)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.idle_connections.run)
        nursery.start_soon(made.input_scheduler.run)
        await trio.testing.wait_all_tasks_blocked()
        yield made
        nursery.cancel_scope.cancel()
    made.idle_connections.close()


def is_closed(there: socket.socket) -> bool:
    """Whether the node has closed its side of the connection."""
    there.setblocking(False)
    try:
        return there.recv(1) == b""
    except BlockingIOError:
        return False


async def test_idle_connection_starts_a_task_with_its_first_bytes() -> None:
    async with hall() as here:
        tasks = trio.lowlevel.current_statistics().tasks_living
        lines = [here.connect() for _ in range(50)]
        await trio.testing.wait_all_tasks_blocked()
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        assert (len(here.idle_connections), here.begun) == (50, [])
        lines[7].sendall(b"GET / HTTP/1.1\r\n")
        with trio.fail_after(5):
            while not here.begun:
                await trio.sleep(0.01)
        assert [data for _, data in here.begun] == [b"GET / HTTP/1.1\r\n"]
        assert len(here.idle_connections) == 49
        assert here.limiter.used()["connections"][0] == 50


async def test_closed_connection_or_one_with_data_is_not_idle() -> None:
    async with hall() as here:
        here.connect(said=b"x")
        assert [data for _, data in here.begun] == [b"x"]
        left, there = socket.socketpair()
        there.close()
        here.idle_connections.add(left, ("192.0.2.1", 1))
        assert left.fileno() == -1
        assert len(here.idle_connections) == 0
        assert here.limiter.used()["connections"][0] == 1


async def test_disconnected_idle_connection_is_removed() -> None:
    async with hall() as here:
        for line in [here.connect() for _ in range(30)]:
            line.close()
        with trio.fail_after(5):
            while len(here.idle_connections):
                await trio.sleep(0.01)
        assert here.limiter.used()["connections"][0] == 0
        assert here.begun == []


async def test_idle_connection_times_out(autojump_clock: trio.testing.MockClock) -> None:
    async with hall() as here:
        first = here.connect()
        await trio.sleep(SILENT_SECONDS_MAX - 1)
        second = here.connect()
        await trio.sleep(module.SWEEP_SECONDS + 1)
        assert is_closed(first)
        assert not is_closed(second)
        assert len(here.idle_connections) == here.limiter.used()["connections"][0] == 1


async def test_oldest_idle_connection_is_evicted() -> None:
    async with hall(connections=20) as here:
        lines = [here.connect() for _ in range(11)]
        assert [is_closed(line) for line in lines] == [True, *[False] * 10]


async def test_connection_evicted_while_queued_does_not_start() -> None:
    async with hall(connections=2) as here:
        here.input_scheduler._iteration_start -= 1
        here.connect(said=b"first")
        dropped = here.begun, here.idle_connections._connections.copy()
        here.connect(said=b"second")  # takes the place of the first, and perhaps its descriptor
        assert dropped[0] == []
        assert len(here.idle_connections) == 1
        here.input_scheduler._release(1)
        assert here.begun == []
        assert len(here.idle_connections) == 1
        here.input_scheduler._release(1)
        assert [data for _, data in here.begun] == [b"second"]


async def test_page_requests_take_precedence() -> None:
    async with hall() as here:
        here.input_scheduler._iteration_start -= 1
        for _ in range(3):
            here.connect(said=b"POST / HTTP/1.1\r\n")
        here.connect(said=b"GET /health HTTP/1.1\r\n")
        assert here.begun == []
        here.input_scheduler._release(2)
        assert [data[:4] for _, data in here.begun] == [b"GET ", b"POST"]


async def test_simultaneous_requests_start_in_batches() -> None:
    async with hall(connections=4 * module.READY_AT_ONCE_MAX) as here:
        lines = [here.connect(f"192.0.2.{i % 4}") for i in range(module.READY_AT_ONCE_MAX + 10)]
        for line in lines:
            line.sendall(b"GET /health HTTP/1.1\r\n")
        seen = [0]
        with trio.fail_after(5):
            while len(here.begun) < len(lines):
                await trio.lowlevel.checkpoint()
                seen.append(len(here.begun))
        assert max(later - earlier for earlier, later in pairwise(seen)) <= module.READY_AT_ONCE_MAX
