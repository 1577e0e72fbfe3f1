"""Targets for what a client sends: the bytes of a connection, and frames over a WebSocket, through the whole transport over a
stream in memory. Nothing but the connection may end.
"""

import logging
import socket

import trio
import trio.testing
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import LifespanState
from hypercorn.utils import wrap_app

from rpc.service.transport.asgi import Gateway, server_config
from tests.fuzz.target import Run
from tests.helpers.fakes import Results, fake_service

SECONDS_MAX = 3600  # on trio's clock, which leaps: whoever waits longer waits for ever
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SPLIT = b"\0\xff\0\xff"  # in an input: what follows arrives by itself


class FakeSocket:
    """The addresses of a connection."""

    family = socket.AF_INET

    def getpeername(self) -> tuple[str, int]:
        """The client's."""
        return "127.0.0.1", 40000

    def getsockname(self) -> tuple[str, int]:
        """The node's."""
        return "127.0.0.1", 8090


class Stream:
    """A connection whose client sends some pieces of bytes and then no more; what it is sent is counted."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.socket = FakeSocket()
        self.sent = 0
        self._pieces = pieces[::-1]
        self._closed = False

    async def receive_some(self, size: int) -> bytes:
        """The next piece; nothing at the end."""
        await trio.lowlevel.checkpoint()
        if self._closed:
            raise trio.ClosedResourceError
        return self._pieces.pop() if self._pieces else b""

    async def send_all(self, data: bytes) -> None:
        """Take everything."""
        await trio.lowlevel.checkpoint()
        if self._closed:
            raise trio.ClosedResourceError
        self.sent += len(data)

    async def send_eof(self) -> None:
        """Nothing more comes."""

    async def aclose(self) -> None:
        """Close."""
        self._closed = True


def connection(prefix: bytes) -> Run:
    """Serve a connection that begins with some bytes and goes on with an input."""
    errors: list[logging.LogRecord] = []
    log = logging.getLogger("rpc.http")
    log.addHandler(collector(errors))
    log.propagate = False
    gateway = Gateway(fake_service(Results()), {})
    config = server_config("127.0.0.1", 0)
    handle = wrap_app(gateway, config.wsgi_max_body_size, "asgi")  # type: ignore[arg-type]

    async def serve(pieces: list[bytes]) -> None:
        with trio.fail_after(SECONDS_MAX):
            await TCPServer(handle, config, WorkerContext(None), LifespanState({}), Stream(pieces))  # type: ignore[arg-type]
        assert gateway.requests_open == gateway.sockets_open == gateway.size_open == 0

    def run(data: bytes) -> None:
        pieces = [piece for piece in data.split(SPLIT) if piece]
        errors.clear()
        trio.run(serve, [prefix, *pieces] if prefix else pieces, clock=trio.testing.MockClock(autojump_threshold=0))
        # What our app or hypercorn raises beside the connection ends in this log.
        for record in errors:
            raise record.exc_info[1] if record.exc_info and record.exc_info[1] else AssertionError(record.getMessage())

    return run


def collector(errors: list[logging.LogRecord]) -> logging.Handler:
    """A handler of logs that notes errors."""

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            errors.append(record)

    return Collector(logging.ERROR)


def http() -> Run:
    """Serve a connection."""
    return connection(b"")


def http2() -> Run:
    """Serve a connection that has begun with the preface of HTTP/2."""
    return connection(PREFACE)


def websocket() -> Run:
    """Serve a connection that has asked for a WebSocket."""
    return connection(UPGRADE)
