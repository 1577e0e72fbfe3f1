"""The network between clients and the node. It delivers requests as ASGI events that can arrive in chunks, late, incomplete, or be
cancelled.
"""

import random
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

import msgspec
import trio
from msgspec import Struct

from rpc.http.access import AccessPolicy
from rpc.http.asgi_app import AsgiApp
from rpc.http.connection_limits import ConnectionLimiter, ConnectionLimits, limits_for
from rpc.http.pages import Pages
from rpc.jsonrpc.dispatch import Service

HOST = "127.0.0.1"
PORT = 8090
CLIENT_HOSTS = (HOST, "192.0.2.1", "192.0.2.2", "2001:db8::1")
PARTS_MAX = 5
GRACE_SECONDS = 3


class Unreachable(Exception):
    """No node answers at the address, or the connection ended before the response."""


class Manner(Struct, frozen=True):
    """The behaviour of a client on a connection: the seconds and chunks in which its request arrives, the seconds after which it
    disconnects without waiting, the seconds it takes to read the response, and whether it sends only half of the request.
    """

    delay: float = 0.0
    parts: int = 1
    patience: float = 600.0
    reading: float = 0.0
    is_half: bool = False
    is_local: bool = False  # a client on the node's machine, which is allowed to send blocks


class Reply(Struct, frozen=True):
    """An HTTP reply."""

    status: int
    body: bytes


class Network:
    """Connects clients with the running node, if there is one. `on_up` is called when a node starts to answer, and `on_error` with an error
    of its ASGI app.
    """

    def __init__(self, draw: random.Random, on_up: Callable[[], None], on_error: Callable[[Exception], None]) -> None:
        self.asgi_app: AsgiApp | None = None
        self.limiter: ConnectionLimiter | None = None
        self.requests = 0
        self._draw = draw
        self._on_up = on_up
        self._on_error = on_error
        self._nursery: trio.Nursery | None = None

    async def transport(
        self,
        service: Service,
        host: str,
        _port: int,
        *,
        pages: Pages,
        access: AccessPolicy | None = None,
        bounds: ConnectionLimits | None = None,
        guests: ConnectionLimiter | None = None,
        shutdown: Callable[[], Awaitable[object]],
        task_status: trio.TaskStatus[list[str]],
        **_options: Any,
    ) -> None:
        """Replacement for `rpc.http.server.serve` in a node. Requests run in the node's nursery, so that they end with it."""
        async with trio.open_nursery() as nursery:
            self.limiter = guests or ConnectionLimiter(bounds or limits_for())
            self.asgi_app, self._nursery = AsgiApp(service, pages, self.limiter, access or AccessPolicy(host)), nursery
            self._on_up()
            task_status.started([f"http://{HOST}:{PORT}"])
            try:
                await shutdown()
            finally:
                self.asgi_app = self._nursery = None
            with trio.move_on_after(GRACE_SECONDS):
                while nursery.child_tasks:
                    await trio.sleep(0.1)
            nursery.cancel_scope.cancel()

    async def request(self, body: bytes, manner: Manner, *, method: str = "POST", path: str = "/") -> Reply:
        """Send a request and return the reply; raises Unreachable if there is none."""
        await trio.sleep(manner.delay * self._draw.random())
        if self.asgi_app is None or self._nursery is None:
            raise Unreachable
        self.requests += 1
        exchange = Exchange(self._parts(body, manner), manner)
        self._nursery.start_soon(self._serve, self.asgi_app, exchange, manner, method, path)
        try:
            with trio.move_on_after(manner.patience):
                await exchange.over.wait()
        finally:
            # A cancelled client also disconnects.
            exchange.disconnected.set()
        if not exchange.is_whole:
            raise Unreachable
        return Reply(exchange.status, b"".join(exchange.answer))

    async def _serve(self, gateway: AsgiApp, exchange: "Exchange", manner: Manner, method: str, path: str) -> None:
        host = HOST if manner.is_local else self._draw.choice(CLIENT_HOSTS)
        assert self.limiter is not None
        limiter, scope_of_request = self.limiter, trio.CancelScope()
        usage = limiter.register(host, scope_of_request.cancel)
        if usage is None:
            exchange.over.set()
            return
        headers = [(b"host", f"{HOST}:{PORT}".encode()), (b"content-type", b"application/json")]
        scope = {
            "type": "http",
            "http_version": "1.1",
            "asgi": {"version": "3.0"},
            "scheme": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": headers,
            "client": (host, 40_000 + self.requests % 20_000),
            "state": {"usage": usage},
            "server": (HOST, PORT),
            "extensions": {},
        }
        try:
            with scope_of_request:
                await gateway(scope, exchange.receive, exchange.send)
        except Exception as error:
            self._on_error(error)
        finally:
            limiter.unregister(usage)
            exchange.over.set()

    def _parts(self, body: bytes, manner: Manner) -> list[bytes]:
        """Split a body into chunks at random positions. If the request is to be incomplete, leave out the last chunk."""
        places = sorted(self._draw.randrange(len(body) + 1) for _ in range(manner.parts - 1 + manner.is_half))
        return [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]


class Exchange:
    """A request and its response, with the two ASGI callables `receive` and `send`."""

    def __init__(self, parts: list[bytes], manner: Manner) -> None:
        self.over, self.disconnected = trio.Event(), trio.Event()
        self.status = 0
        self.answer: list[bytes] = []
        self.is_whole = False
        self._manner = manner
        self._parts = parts[:-1] if manner.is_half else parts
        self._is_first = True

    async def receive(self) -> dict[str, Any]:
        """Return the next chunk of the request or, after the client has disconnected, the disconnect event."""
        if not self._is_first:
            with trio.move_on_after(self._manner.delay if self._parts else inf):
                await self.disconnected.wait()
        self._is_first = False
        if self.disconnected.is_set() or not self._parts:
            return {"type": "http.disconnect"}
        part = self._parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(self._parts) or self._manner.is_half}

    async def send(self, event: dict[str, Any]) -> None:
        """Accept a chunk of the response at the client's reading speed."""
        if self._manner.reading:
            with trio.move_on_after(self._manner.reading):
                await self.disconnected.wait()
        if event["type"] == "http.response.start":
            self.status = event["status"]
        else:
            self.answer.append(event.get("body", b""))
            self.is_whole = not event.get("more_body", False)


def encoded_call(method: str, params: Any, number: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": number}


def encoded(call: Any) -> bytes:
    """Encode a call or a batch."""
    return msgspec.json.encode(call)
