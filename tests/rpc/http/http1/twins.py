"""Sends the same bytes over two connections, one with the fast path and one with only hypercorn, and compares the replies and whether the
connections stay open.
"""

import re
import socket

import trio
import trio.testing
from msgspec import Struct

from rpc.declare.arguments import Text
from rpc.declare.method import Method, method
from rpc.http.access import AccessPolicy
from rpc.http.asgi_app import AsgiApp
from rpc.http.connection import Connection, ErrorLog, ProtocolHandler
from rpc.http.connection_limits import ConnectionLimiter, limits_for
from rpc.http.http1.fast_path import Http1FastPath
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.pages import PageReply
from rpc.http.server import IDLE_SECONDS_MAX, HypercornFallback
from rpc.http.websocket.rpc_session import RpcSession
from rpc.jsonrpc.dispatch import Service
from tests.helpers.fake_connection import FakeConnection
from tests.helpers.fakes import fake_wire

CLIENT, SERVER = ("127.0.0.1", 40000), ("127.0.0.1", 8090)
SECONDS_MAX = 20
_DATE = re.compile(rb"date: [^\r]+")


class Outcome(Struct, frozen=True):
    """The bytes that a client received before it closed its side, whether the connection was still open then, and the bytes that it
    received afterwards.
    """

    sent: bytes
    is_open: bool
    sent_in_the_end: bytes


class Twins:
    """A server that handles a connection on the fast path or with hypercorn."""

    def __init__(self, access: AccessPolicy) -> None:
        self._limiter = ConnectionLimiter(limits_for())
        self._input_scheduler = FairInputScheduler()
        service = _service()
        self._asgi_app = AsgiApp(service, {"/health": lambda: PageReply(b"{}")}, self._limiter, access)
        self._hypercorn = HypercornFallback(
            self._asgi_app, RpcSession(service, self._limiter, None, self._input_scheduler.wait), self._input_scheduler, is_http2=False
        )
        # Loading in a thread would delay the next chunk.
        self._hypercorn.load_now()
        self._fast_path = Http1FastPath(self._asgi_app, self._input_scheduler)
        self._error_log = ErrorLog()
        self._unused = socket.socket()

    async def run(self) -> None:
        """Run the background tasks of the server."""
        with self._unused:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._input_scheduler.run)
                nursery.start_soon(self._fast_path.run)

    async def outcome(self, pieces: list[bytes], *, has_fast_path: bool, is_slow: bool = False) -> Outcome:
        """Send chunks over a new connection and return the outcome. If `is_slow`, send each chunk only after the server has handled the
        previous one.
        """
        handlers: list[ProtocolHandler] = [self._fast_path, self._hypercorn] if has_fast_path else [self._hypercorn]
        connection = Connection(self._unused.dup(), CLIENT, IDLE_SECONDS_MAX, self._limiter, self._input_scheduler, handlers)
        line = FakeConnection(pieces[1:], SERVER, is_patient=True, is_slow=is_slow)
        line.plug(connection)
        usage = self._limiter.register(CLIENT[0], connection.abort)
        assert usage is not None
        with trio.fail_after(SECONDS_MAX):
            async with trio.open_nursery() as nursery:

                async def serve() -> None:
                    await connection.run(usage, pieces[0], self._error_log)

                nursery.start_soon(serve)
                await trio.testing.wait_all_tasks_blocked()
                sent, is_open = bytes(line.sent), not line.is_closed
                line.leave()
        assert all(now == 0 for kind, (now, _) in self._limiter.used().items()), self._limiter.used()
        return Outcome(_dateless(sent), is_open, _dateless(bytes(line.sent[len(sent) :])))


def _dateless(data: bytes) -> bytes:
    return _DATE.sub(b"date: X", data)


def _service() -> Service:
    registry: dict[str, Method] = {}

    @method("a_api.echo", registry=registry)
    def echo(state: None, text: Text) -> str:
        """Return the argument."""
        return text

    @method("a_api.long", registry=registry)
    def long(state: None) -> str:
        """Return a long text."""
        return "x" * 100_000

    @method("debug_node_api.local", loopback_only=True, registry=registry)
    def local(state: None) -> bool:
        """Return True. Only local clients can call this."""
        return True

    @method("a_api.wait", registry=registry)
    async def wait(processor: None) -> str:
        """Wait inside a nursery and a timeout, then return a text."""
        with trio.fail_after(SECONDS_MAX):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.lowlevel.checkpoint)
                await trio.lowlevel.checkpoint()
        return "done"

    return Service(registry.values(), wire=fake_wire(), state=None, processor=None, clock=lambda: 0)
