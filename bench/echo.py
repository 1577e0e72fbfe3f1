"""Measures the lower bound of a request's time over one connection. The server ignores the request and sends constant bytes.

Run: .venv/bin/python -m bench.echo

The server uses blocking sockets, then trio. Client and reply size are those of `bench.marks`. The measured time is that of the path through
the kernel, and of waking up server and client. A node can't be faster.
"""

import os
import socket
import statistics
import time
from collections.abc import Callable

import trio

from bench.clients import HttpClient
from bench.recovery import recovery_seconds
from bench.requests import QUERY

CALLS, ROUNDS = 4_000, 5
RECEIVE_SIZE = 1 << 16
REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n" + b"x" * 900


def blocking(line: socket.socket) -> None:
    """Answer requests on a blocking socket until the client disconnects."""
    while line.recv(RECEIVE_SIZE):
        line.sendall(REPLY)


def with_trio(line: socket.socket) -> None:
    """Answer requests in a trio task until the client disconnects."""
    trio.run(_answer, line)


async def _answer(line: socket.socket) -> None:
    line.setblocking(False)
    while True:
        await trio.lowlevel.wait_readable(line)
        if not line.recv(RECEIVE_SIZE):
            return
        line.sendall(REPLY)


def seconds_each(serve: Callable[[socket.socket], None]) -> float:
    """Return the seconds that one request with its reply takes. The server `serve` runs in a separate process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        if not os.fork():
            serve(listener.accept()[0])
            os._exit(0)
    client = HttpClient(port)
    for _ in range(CALLS // 4):
        client.ask(QUERY)
    start = time.perf_counter()
    for _ in range(CALLS):
        client.ask(QUERY)
    seconds = (time.perf_counter() - start) / CALLS
    del client  # the server ends when the client disconnects
    os.wait()
    return seconds


def main() -> None:
    """Measure both servers, and print the medians."""
    for serve in (blocking, with_trio):
        recoveries, each = [], []
        for _ in range(ROUNDS):
            recovery = recovery_seconds()
            seconds = seconds_each(serve)
            each.append(seconds)
            recoveries.append(seconds / recovery)
        print(f"{serve.__name__:10} {statistics.median(each) * 1e6:6.1f} µs = {statistics.median(recoveries):.2f} recoveries")


if __name__ == "__main__":
    main()
