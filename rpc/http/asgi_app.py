"""The ASGI app: answers the calls that the fast path doesn't handle, passes all other requests to the Quart app, and enforces client
limits.

Source: rpc-api.md §1.1, §1.13.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import trio

from rpc.explorer.files import PREFIX, read_files
from rpc.http import connection
from rpc.http.access import AccessPolicy, Headers
from rpc.http.block_stream import PATH
from rpc.http.connection_limits import ClientResource, ClientUsage, ConnectionLimiter
from rpc.http.lazy_import import LazyValue
from rpc.http.pages import PAGE_VERBS, Pages
from rpc.http.tasks import frames_cleared
from rpc.http.websocket.rpc_session import Turn
from rpc.json.reader import BODY_SIZE_MAX, size_max
from rpc.jsonrpc.batch import Reply
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.memory import MemoryReservation, Overloaded
from rpc.push.hub import Hub
from state.protocol.errors import fill

DRAIN_SIZE_MAX = 4 * BODY_SIZE_MAX
# A body must arrive within BODY_SECONDS_FREE, or within BODY_SECONDS_MAX if it arrives at BODY_RATE_MIN bytes per second or faster.
BODY_SECONDS_MAX = 120
BODY_SECONDS_FREE = 10
BODY_RATE_MIN = 10_000
REST_SECONDS_MAX = 5

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_JSON = (b"content-type", b"application/json")
_TEXT = (b"content-type", b"text/plain; charset=utf-8")
_BODY = frozenset({b"content-length", b"transfer-encoding"})
_TOO_MANY = b"too many requests are open\n"
_ORIGIN_REFUSED = b"this origin is not allowed; see the node's option --cors\n"


class TooLarge(Exception):
    """Raised if the body of a request is too large for its sender."""


class AsgiApp:
    """The ASGI app. Requests for pages, the explorer's files and block streams go to Quart. All other requests are calls."""

    def __init__(
        self,
        service: Service,
        pages: Pages,
        limiter: ConnectionLimiter,
        access: AccessPolicy,
        push: Hub | None = None,
        turn: Turn | None = None,
    ) -> None:
        self.service = service
        self.limiter = limiter
        self.access = access
        self._has_streams, self._pages = push is not None, pages
        self._files = LazyValue(read_files)
        self._web_app: LazyValue[Any] = LazyValue(partial(self._new_web_app, push, turn or _no_wait))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an ASGI scope."""
        try:
            if scope["type"] == "http":
                await self._http(scope, receive, send)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client has disconnected

    def _new_web_app(self, push: Hub | None, turn: Turn) -> Any:
        from rpc.http.web_app import web_app

        return web_app(self.service, self._pages, self._files, push, turn)

    async def load(self) -> None:
        """Load Quart and the explorer's files before the first request for them."""
        await self._web_app.get()
        if self.access.has_pages:
            await self._files.get()

    def _is_page(self, scope: Scope) -> bool:
        return scope["method"] in PAGE_VERBS and (scope["path"] in self._pages or self._is_file(scope))

    def _is_file(self, scope: Scope) -> bool:
        """Whether a GET or HEAD request is for one of the explorer's files or for its HTML page."""
        if not self.access.has_pages or scope["path"] == PATH:
            return False
        return scope["path"].startswith(PREFIX) or any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])

    # -------------------------------------------------------------- HTTP

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        usage: ClientUsage = scope["state"]["usage"]
        headers = self.access.cors(scope)
        send = _with_headers(usage, send, headers or [])
        if headers is None:
            await _reject(receive, send, 403, _ORIGIN_REFUSED)
        elif self._is_page(scope) and scope["http_version"] < "2" and not any(name in _BODY for name, _ in scope["headers"]):
            # Pages don't count towards the limit on requests, since they must be available on an overloaded node.
            await self._serve_with_quart(scope, send)
        elif self._has_streams and scope["path"] == PATH and scope["method"] == "GET":
            await self._stream(scope, receive, send)
        elif not self.limiter.acquire(usage, ClientResource.REQUESTS):
            await _reject(receive, send, 503, _TOO_MANY)
        else:
            try:
                await self._receive_and_reply(scope, receive, send)
            except Overloaded as error:
                await _reject(receive, send, 503, _refusal_text(error))
            finally:
                self.limiter.release(usage, ClientResource.REQUESTS)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a block stream. Since a stream stays open, it counts towards the limit on streams instead of the limit on requests."""
        usage: ClientUsage = scope["state"]["usage"]
        if not self.limiter.acquire(usage, ClientResource.STREAMS):
            await _reject(receive, send, 503, b"too many streams are open\n")
            return
        usage.requests_in_progress += 1
        try:
            await self._serve_with_quart(scope, send, partial(_wait_disconnect, receive))
        finally:
            usage.requests_in_progress -= 1
            self.limiter.release(usage, ClientResource.STREAMS)

    async def _receive_and_reply(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Receive the body of a request, and send the reply."""
        usage: ClientUsage = scope["state"]["usage"]
        caller = self.access.caller(scope)
        body_size_max = size_max(caller.is_local)
        body: bytes | None = None
        with self.service.memory.reserve(caller, usage) as reservation:
            try:
                with trio.CancelScope() as patience:
                    body = await read_body(receive, reservation, patience, body_size_max)
            except TooLarge:
                hint = b"" if caller.is_local else b", unless it comes from a program on the machine of the node"
                await _reject(receive, send, 413, b"a request may have at most %d bytes%b\n" % (body_size_max, hint))
                return
            if patience.cancelled_caught:
                await _reject(receive, send, 408, b"the request took too long to arrive\n")
            elif body is None:
                return
            elif self._is_page(scope):
                await self._serve_with_quart(scope, send)
            else:
                self.limiter.touch(usage)
                usage.requests_in_progress += 1
                try:
                    reply = await self.service.answer_in_turn(body, caller)
                finally:
                    usage.requests_in_progress -= 1
                await self._reply(reply, scope, receive, send, reservation)

    async def finish(self, reply: Reply, size: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the reply of the fast path to a request of `size` bytes. If the reply is an awaitable, wait for it first."""
        usage: ClientUsage = scope["state"]["usage"]
        send = _with_headers(usage, send, self.access.cors(scope) or [])
        if not self.limiter.acquire(usage, ClientResource.REQUESTS):
            await _reject(receive, send, 503, _TOO_MANY)
            return
        try:
            with self.service.memory.reserve(self.access.caller(scope), usage) as reservation:
                reservation.add(size)
                await self._reply(reply, scope, receive, send, reservation)
        except Overloaded as error:
            await _reject(receive, send, 503, _refusal_text(error))
        finally:
            self.limiter.release(usage, ClientResource.REQUESTS)
            if isinstance(reply, Coroutine):
                reply.close()  # no effect if it has finished

    async def _reply(self, reply: Reply, scope: Scope, receive: Receive, send: Send, reservation: MemoryReservation) -> None:
        """Wait for a reply and send it. If the client disconnects first, stop waiting."""
        usage: ClientUsage = scope["state"]["usage"]
        if not isinstance(reply, bytes):
            usage.requests_in_progress += 1
            try:
                received = await _reply_unless_disconnected(receive, reply)
            finally:
                usage.requests_in_progress -= 1
            if received is None:
                return
            reply = received
        # Over HTTP/2 hypercorn copies the bytes to send.
        reservation.add(len(reply) if scope["http_version"] < "2" else 2 * len(reply))
        await _respond(send, 200, _JSON, reply)
        self.limiter.touch(usage)

    async def _serve_with_quart(
        self, scope: Scope, send: Send, wait_disconnect: Callable[[], Awaitable[object]] = trio.sleep_forever
    ) -> None:
        """Serve a request with Quart. Cancel the request when `wait_disconnect` returns. By default, a request isn't cancelled at the end
        of the client's input.
        """
        # Quart fails on a Host header that isn't a host name. No reply depends on the header.
        headers = [(name, b"localhost" if name == b"host" else value) for name, value in scope["headers"]]
        is_known = scope["path"] in self._pages or scope["path"] == PATH or scope["path"].startswith(PREFIX)
        scope = {**scope, "headers": headers, "path": scope["path"] if is_known else "/"}  # the explorer's HTML page is served at "/"
        app = self._web_app.value or await self._web_app.get()
        is_sent = False

        async def send_noted(event: dict[str, Any]) -> None:
            nonlocal is_sent
            is_sent = event["type"] == "http.response.body" and not event.get("more_body", False)
            await send(event)

        async def wait_client() -> None:
            await wait_disconnect()
            if is_sent:
                # Hypercorn signals the end of the reply in the same way as a disconnect, and must not be cancelled while it ends the
                # request.
                await trio.sleep_forever()

        await app(scope, _without_body(wait_client), send_noted)


async def read_body(receive: Receive, reservation: MemoryReservation, patience: trio.CancelScope, body_size_max: int) -> bytes | None:
    """Receive the body of a request. Return None if the client disconnects. Raises TooLarge for more than `body_size_max` bytes.

    The rest of a body that is too large is received and discarded, up to DRAIN_SIZE_MAX, since clients read the reply only after sending
    everything. The deadline of `patience` is extended as bytes arrive.
    """
    start = trio.current_time()
    patience.deadline = start + min(BODY_SECONDS_FREE, BODY_SECONDS_MAX)
    body, size = bytearray(), 0
    while True:
        event = await receive()
        if event["type"] != "http.request":
            return None
        chunk = event.get("body", b"")
        size += len(chunk)
        if size <= body_size_max:
            reservation.add(len(chunk))
            body += chunk
        elif body:
            body = bytearray()
            reservation.release()
        if not event.get("more_body", False) or size > DRAIN_SIZE_MAX:
            if size > body_size_max:
                raise TooLarge
            return bytes(body)
        patience.deadline = start + min(BODY_SECONDS_MAX, BODY_SECONDS_FREE + size / BODY_RATE_MIN)
        del event, chunk  # frees the memory while waiting for the next event


async def _no_wait(_address: str) -> None:
    """Return without waiting. This is the default of `turn`."""


async def _reply_unless_disconnected(receive: Receive, reply: Awaitable[bytes]) -> bytes | None:
    """Wait for a reply and return it. Return None if the client disconnects first."""
    received: bytes | None = None

    async def watch(scope: trio.CancelScope) -> None:
        await _wait_disconnect(receive)
        scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch, nursery.cancel_scope)
        with frames_cleared():
            received = await reply
        nursery.cancel_scope.cancel()
    return received


def _refusal_text(error: Overloaded) -> bytes:
    """Return the message of a refusal as the body of a response."""
    return fill(error.text, error.values).encode() + b"\n"


def _with_headers(usage: ClientUsage, send: Send, headers: Headers) -> Send:
    """Return a `send` function that adds headers to the response, and disconnects a client that receives too slowly."""

    async def send_in_time(event: dict[str, Any]) -> None:
        if event["type"] == "http.response.start":
            event = {**event, "headers": [*headers, *event["headers"]]}
        with trio.move_on_after(connection.SEND_SECONDS_MAX + len(event.get("body", b"")) / connection.SEND_RATE_MIN) as patience:
            await send(event)
        if patience.cancelled_caught:
            usage.abort()
            await trio.lowlevel.checkpoint()

    return send_in_time


async def _respond(send: Send, status: int, content_type: tuple[bytes, bytes], body: bytes) -> None:
    """Send a complete HTTP response."""
    await send({"type": "http.response.start", "status": status, "headers": [content_type, (b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


async def _reject(receive: Receive, send: Send, status: int, text: bytes) -> None:
    """Reject a request whose body may still be arriving. Receive the rest of the body, since hypercorn can't end the request otherwise."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_drain, receive)
        await _respond(send, status, _TEXT, text)


async def _drain(receive: Receive) -> None:
    with trio.move_on_after(REST_SECONDS_MAX):
        await _wait_disconnect(receive)


async def _wait_disconnect(receive: Receive) -> None:
    """Discard the client's input until it disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _without_body(wait_disconnect: Callable[[], Awaitable[object]]) -> Receive:
    """Return a `receive` function for Quart. It first returns an empty body, then, after `wait_disconnect`, a disconnect event."""
    waiting = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await wait_disconnect()
        return {"type": "http.disconnect"}

    return receive
