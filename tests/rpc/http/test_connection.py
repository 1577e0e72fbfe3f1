"""Sending on a connection: small chunks are sent at once, so that no other task runs between the head and the body of a reply."""

import socket

import pytest
import trio
import trio.testing

from rpc.http.connection import SEND_AT_ONCE_SIZE, SENT_AT_ONCE_MAX, Connection
from rpc.http.connection_limits import ConnectionLimiter, limits_for
from rpc.http.input_scheduler import FairInputScheduler


@pytest.fixture
async def pair() -> tuple[Connection, socket.socket]:
    """A connection, and the socket of its client."""
    here, there = socket.socketpair()
    there.setblocking(False)
    return Connection(here, ("192.0.2.1", 1), 75, ConnectionLimiter(limits_for()), FairInputScheduler(), ()), there


async def test_only_some_small_chunks_are_sent_without_yielding(pair: tuple[Connection, socket.socket]) -> None:
    connection, there = pair
    for _ in range(3):
        with trio.testing.assert_no_checkpoints():
            for _ in range(SENT_AT_ONCE_MAX):
                await connection.write(b"head")
        with trio.testing.assert_checkpoints():
            await connection.write(b"body")
    assert there.recv(1000) == (b"head" * SENT_AT_ONCE_MAX + b"body") * 3


async def test_large_chunk_yields(pair: tuple[Connection, socket.socket]) -> None:
    connection, there = pair
    with trio.testing.assert_checkpoints():
        await connection.write(bytes(SEND_AT_ONCE_SIZE + 1))
    assert len(there.recv(2 * SEND_AT_ONCE_SIZE)) == SEND_AT_ONCE_SIZE + 1


async def test_data_beyond_the_socket_buffer_is_sent_in_order(pair: tuple[Connection, socket.socket]) -> None:
    connection, there = pair
    pieces = [bytes([65 + i % 26]) * SEND_AT_ONCE_SIZE for i in range(400)]
    received = bytearray()

    async def read() -> None:
        while len(received) < sum(map(len, pieces)):
            try:
                received.extend(there.recv(100_000))
            except BlockingIOError:
                await trio.sleep(0.001)

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            for piece in pieces[:2]:
                await connection.write(piece)

            async def send_rest() -> None:
                for piece in pieces[2:]:
                    await connection.write(piece)

            nursery.start_soon(send_rest)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(read)
    assert bytes(received) == b"".join(pieces)
