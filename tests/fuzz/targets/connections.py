"""Targets for what a client sends: the bytes of a connection, and frames over a WebSocket, through the whole transport over a stream in
memory. Whatever comes, only the connection may end, in bounded time.
"""

import socket

import trio
import trio.testing

from rpc.http.access import AccessPolicy
from rpc.http.asgi_app import IDLE_SECONDS_MAX, AsgiApp, HypercornFallback
from rpc.http.connection import Connection, ErrorLog
from rpc.http.connection_limits import ConnectionLimiter, limits_for
from rpc.http.http1.fast_path import Http1FastPath
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.websocket.rpc_session import RpcSession
from tests.fuzz.target import Run
from tests.helpers.fake_connection import FakeConnection
from tests.helpers.fakes import Results, fake_service
from tests.helpers.log_capture import capture_logs

SECONDS_MAX = 3600  # on trio's clock, which leaps: whoever waits longer waits for ever
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SPLIT = b"\0\xff\0\xff"  # in an input: what follows arrives by itself
CLIENT, SERVER = ("127.0.0.1", 40000), ("127.0.0.1", 8090)


def http() -> Run:
    """Serve a connection."""
    return connection(b"")


def http2() -> Run:
    """Serve a connection that has begun with the preface of HTTP/2."""
    return connection(PREFACE)


def websocket() -> Run:
    """Serve a connection that has asked for a WebSocket."""
    return connection(UPGRADE)


def connection(prefix: bytes) -> Run:
    """Serve a connection that begins with some bytes and goes on with an input."""
    service = fake_service(Results())
    bounds = limits_for()
    # Only the place of a socket is needed: the bytes go through a Line.
    unused = socket.socket()

    async def serve(pieces: list[bytes]) -> None:
        limiter = ConnectionLimiter(bounds)
        input_scheduler = FairInputScheduler()
        asgi_app = AsgiApp(service, {}, limiter, AccessPolicy())
        outer = HypercornFallback(asgi_app, RpcSession(service, limiter, None, input_scheduler.wait), input_scheduler, is_http2=True)
        # The clock of this run doesn't wait for threads.
        outer.load_now()
        served = Connection(
            unused.dup(), CLIENT, IDLE_SECONDS_MAX, limiter, input_scheduler, [Http1FastPath(asgi_app, input_scheduler), outer]
        )
        # The first bytes have been read in the lobby.
        FakeConnection(pieces[1:], SERVER).plug(served)
        usage = limiter.register(CLIENT[0], served.abort)
        assert usage is not None
        with trio.fail_after(SECONDS_MAX):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(input_scheduler.run)
                await served.run(usage, pieces[0], ErrorLog())
                nursery.cancel_scope.cancel()

    def run(data: bytes) -> None:
        pieces = [piece for piece in data.split(SPLIT) if piece]
        if not prefix and not pieces:
            return
        with capture_logs() as logs:
            trio.run(serve, [prefix, *pieces] if prefix else pieces, clock=trio.testing.MockClock(autojump_threshold=0))
        for entry in logs:
            if entry["log_level"] == "error":
                raise entry["exc_info"]

    return run
