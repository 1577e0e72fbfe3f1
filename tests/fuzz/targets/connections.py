"""Targets for client input: raw connection bytes and WebSocket frames, through the whole transport over an in-memory stream. Any input may
end only the connection, within a bounded time.
"""

import socket

import trio
import trio.testing

from rpc.http.access import AccessPolicy
from rpc.http.asgi_app import AsgiApp
from rpc.http.connection import Connection, ErrorLog
from rpc.http.connection_limits import ConnectionLimiter, limits_for
from rpc.http.http1.fast_path import Http1FastPath
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.server import IDLE_SECONDS_MAX, HypercornFallback
from rpc.http.websocket.rpc_session import RpcSession
from tests.fuzz.target import Run
from tests.helpers.fake_connection import FakeConnection
from tests.helpers.fakes import Results, fake_service
from tests.helpers.log_capture import capture_logs

SECONDS_MAX = 3600  # on trio's mock clock, which jumps ahead; a longer wait counts as endless
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SPLIT = b"\0\xff\0\xff"  # separator in an input; the bytes after it arrive separately
CLIENT, SERVER = ("127.0.0.1", 40000), ("127.0.0.1", 8090)


def http() -> Run:
    """Return a target that serves a connection."""
    return connection(b"")


def http2() -> Run:
    """Return a target that serves a connection after the HTTP/2 preface."""
    return connection(PREFACE)


def websocket() -> Run:
    """Return a target that serves a connection after a WebSocket upgrade."""
    return connection(UPGRADE)


def connection(prefix: bytes) -> Run:
    """Return a target that serves a connection with a prefix before the input."""
    service = fake_service(Results())
    bounds = limits_for()
    # The socket is only a placeholder, since a FakeConnection replaces it.
    unused = socket.socket()

    async def serve(pieces: list[bytes]) -> None:
        limiter = ConnectionLimiter(bounds)
        input_scheduler = FairInputScheduler()
        asgi_app = AsgiApp(service, {}, limiter, AccessPolicy())
        outer = HypercornFallback(asgi_app, RpcSession(service, limiter, None, input_scheduler.wait), input_scheduler, is_http2=True)
        # The mock clock doesn't wait for threads, so load modules now.
        outer.load_now()
        served = Connection(
            unused.dup(), CLIENT, IDLE_SECONDS_MAX, limiter, input_scheduler, [Http1FastPath(asgi_app, input_scheduler), outer]
        )
        # The first bytes have already been read, as in the idle connections.
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
