"""HTTP server of the JSON-RPC service: an ASGI app that passes pages to quart-trio, and all other requests to the service, to block
streams, or to the files of the explorer.

Quart is loaded in a thread after the node has started to accept connections, since calls don't need it. Source: rpc-api.md §1.1, §1.13.
"""

import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, cast

import trio
from msgspec import Struct

from rpc.caller import Caller
from rpc.explorer.files import PREFIX, answer, read_files
from rpc.http import connection
from rpc.http.access import AccessPolicy, Headers
from rpc.http.block_stream import PATH, show_stream
from rpc.http.connection import Connection
from rpc.http.connection_limits import ClientResource, ClientUsage, ConnectionLimiter, ConnectionLimits, limits_for
from rpc.http.http1.fast_path import Http1FastPath
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.lazy_import import LazyValue
from rpc.http.listener import Listener, OpenAcceptor, listen
from rpc.http.tasks import LogLimit, frames_cleared
from rpc.http.websocket.rpc_session import NOTICES, RpcSession, Turn
from rpc.json.reader import BODY_SIZE_MAX, size_max
from rpc.jsonrpc.batch import Reply
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.memory import MemoryReservation, Overloaded
from rpc.push.hub import Hub
from state.protocol.errors import fill

if TYPE_CHECKING:
    from rpc.http.hypercorn_server import HypercornServer

DRAIN_SIZE_MAX = 4 * BODY_SIZE_MAX
# A body may take BODY_SECONDS_FREE, and longer, up to BODY_SECONDS_MAX, while BODY_RATE_MIN bytes per second arrive.
BODY_SECONDS_MAX = 120
BODY_SECONDS_FREE = 10
BODY_RATE_MIN = 10_000
REST_SECONDS_MAX = 5
# A page is cached for this multiple of the time it took to build, so that page requests use at most a twentieth of the CPU time.
PAGE_KEPT_TIMES = 20
PAGE_KEPT_SECONDS_MAX = 1.0
LOADED_SECONDS = 1
IDLE_SECONDS_MAX = 75

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PAGE_VERBS = ("GET", "HEAD")
_JSON = (b"content-type", b"application/json")
_TEXT = (b"content-type", b"text/plain; charset=utf-8")
_BODY = frozenset({b"content-length", b"transfer-encoding"})
_TOO_MANY = b"too many requests are open\n"
_NOT_LET_IN = b"this origin is not allowed; see the node's option --cors\n"


class PageReply(Struct, frozen=True):
    """Reply of a page: the body, the status and the content type."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


Page = Callable[[], PageReply] | Callable[[], Awaitable[PageReply]]
Pages = Mapping[str, Page]


class TooLarge(Exception):
    """The body of a request is too large for its sender."""


async def serve(
    service: Service,
    host: str,
    port: int,
    *,
    pages: Pages,
    push: Hub | None = None,
    access: AccessPolicy | None = None,
    is_http2: bool = False,
    has_lanes: bool = True,
    bounds: ConnectionLimits | None = None,
    limiter: ConnectionLimiter | None = None,
    acceptor: OpenAcceptor = Listener,
    shutdown: Callable[[], Awaitable[object]] = trio.sleep_forever,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve on one address until cancelled, or until `shutdown` returns; then open requests have GRACE_SECONDS_MAX to end.

    `pages` are the functions of GET by path, `push` supplies notices and block streams, `limiter` (by default one with `bounds`) limits
    clients, and `acceptor` opens the listening sockets. Without `has_lanes`, for tests, hypercorn serves everything.
    Reports the addresses ("http://...") once connections are accepted; port 0 means any port.
    """
    limiter = limiter or ConnectionLimiter(bounds or limits_for())
    input_scheduler = FairInputScheduler(pages)
    access = access or AccessPolicy(host)
    asgi_app = AsgiApp(service, pages, limiter, access, push, input_scheduler.wait)
    rpc_session = RpcSession(service, limiter, push, input_scheduler.wait)
    outer = HypercornFallback(asgi_app, rpc_session, input_scheduler, is_http2=is_http2)

    async def end() -> None:
        await shutdown()
        if push is not None:
            push.close()
        await outer.end()

    calls = Http1FastPath(asgi_app, input_scheduler)
    lanes = (calls, outer) if has_lanes else (outer,)
    start = partial(listen, acceptor(host, port), lanes, limiter, input_scheduler, IDLE_SECONDS_MAX, shutdown=end)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(input_scheduler.run)
        nursery.start_soon(calls.run)
        addresses: list[str] = await nursery.start(_until_done, start, nursery.cancel_scope)
        task_status.started(addresses)
        # In threads, since each import takes a tenth of a second; before they are needed, since a busy node takes longer; but after the
        # first requests have been answered.
        await trio.sleep(LOADED_SECONDS)
        await outer.load()
        await asgi_app.load_pages()


async def _until_done(start: Callable[..., Awaitable[None]], scope: trio.CancelScope, *, task_status: trio.TaskStatus[list[str]]) -> None:
    await start(task_status=task_status)
    scope.cancel()


class HypercornFallback:
    """Passes connections to hypercorn, which is loaded at the first connection."""

    def __init__(self, asgi_app: "AsgiApp", rpc_session: RpcSession, input_scheduler: FairInputScheduler, *, is_http2: bool) -> None:
        self._asgi_app, self._rpc_session, self._input_scheduler, self._is_http2 = asgi_app, rpc_session, input_scheduler, is_http2
        self._speaker = LazyValue(self._make)
        self.load, self.load_now = self._speaker.get, self._speaker.make

    def _make(self) -> "HypercornServer":
        from rpc.http.hypercorn_server import HypercornServer, server_config

        asgi_app = self._asgi_app
        config = server_config(IDLE_SECONDS_MAX)
        return HypercornServer(
            asgi_app, self._rpc_session, asgi_app.access, asgi_app.limiter, self._input_scheduler, config, is_http2=self._is_http2
        )

    async def __call__(self, accepted: Connection, usage: ClientUsage, data: bytes, bugs: LogLimit) -> None:
        """Serve a connection, see `ProtocolHandler`."""
        hypercorn_server = self._speaker.value or await self.load()
        await hypercorn_server.serve(accepted, usage, data, bugs)

    async def end(self) -> None:
        """Accept no further requests on connections with an open request."""
        if self._speaker.value is not None:
            await self._speaker.value.end()


class AsgiApp:
    """The ASGI app, which routes pages to Quart, and everything else to the service, block streams and the explorer's files."""

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
        self._turn = turn or _at_once
        self.push = push
        self.pages = pages
        self.limiter = limiter
        self.access = access
        self._page_app = LazyValue(partial(page_app, pages))
        self._files = LazyValue(read_files)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        try:
            if scope["type"] == "http":
                await self._http(scope, receive, send)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client has gone

    async def load_pages(self) -> None:
        """Load Quart and the files of the explorer, before they are requested."""
        await self._page_app.get()
        if self.access.has_pages:
            await self._files.get()

    def _is_page(self, scope: Scope) -> bool:
        return scope["method"] in PAGE_VERBS and (scope["path"] in self.pages or self._is_file(scope))

    def _is_file(self, scope: Scope) -> bool:
        """Whether a GET or HEAD request is for the explorer: for one of its files, or, from a browser, for HTML."""
        if not self.access.has_pages or scope["path"] == PATH:
            return False
        return scope["path"].startswith(PREFIX) or any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])

    # -------------------------------------------------------------- HTTP

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        usage: ClientUsage = scope["state"]["guest"]
        headers = self.access.cors(scope)
        if headers is None:
            await _reject(usage, receive, send, 403, _NOT_LET_IN)
        elif self._is_page(scope) and scope["http_version"] < "2" and not any(name in _BODY for name, _ in scope["headers"]):
            # Pages have no request limit, since they show the state of an overloaded node.
            await self._show(scope, send, headers)
        elif self.push is not None and scope["path"] == PATH and scope["method"] == "GET":
            await self._stream(self.push, scope, receive, send, headers)
        elif not self.limiter.acquire(usage, ClientResource.REQUESTS):
            await _reject(usage, receive, send, 503, _TOO_MANY, headers)
        else:
            try:
                await self._acquire(scope, receive, send, headers)
            except Overloaded as error:
                await _reject(usage, receive, send, 503, _line(error), headers)
            finally:
                self.limiter.release(usage, ClientResource.REQUESTS)

    async def _stream(self, push: Hub, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        """Send a block stream. It counts as a stream instead of a request, since it stays open."""
        usage: ClientUsage = scope["state"]["guest"]
        if not self.limiter.acquire(usage, ClientResource.STREAMS):
            await _reject(usage, receive, send, 503, b"too many streams are open\n", headers)
            return
        usage.working += 1
        try:
            turn = partial(self._turn, usage.address + NOTICES)
            refusal = await show_stream(self.service, push, usage, turn, scope, receive, send, headers)
            if refusal:
                await _reject(usage, receive, send, 400, refusal.encode() + b"\n", headers)
        finally:
            usage.working -= 1
            self.limiter.release(usage, ClientResource.STREAMS)

    async def _acquire(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        """Receive the body of a request, and reply."""
        usage: ClientUsage = scope["state"]["guest"]
        caller = self.access.caller(scope)
        most = size_max(caller.is_local)
        body: bytes | None = None
        with self.service.memory.reserve(caller, usage) as reservation:
            try:
                with trio.CancelScope() as patience:
                    body = await read_body(receive, reservation, patience, most)
            except TooLarge:
                said = b"" if caller.is_local else b", unless it comes from a program on the machine of the node"
                await _reject(usage, receive, send, 413, b"a request may have at most %d bytes%b\n" % (most, said), headers)
                return
            if patience.cancelled_caught:
                await _reject(usage, receive, send, 408, b"the request took too long to arrive\n", headers)
            elif body is None:
                return
            elif self._is_page(scope):
                await self._show(scope, send, headers)
            else:
                self.limiter.touch(usage)
                await self._call(body, caller, scope, receive, send, headers, reservation)

    async def _call(
        self, body: bytes, caller: Caller, scope: Scope, receive: Receive, send: Send, headers: Headers, reservation: MemoryReservation
    ) -> None:
        usage: ClientUsage = scope["state"]["guest"]
        usage.working += 1
        try:
            reply = await self.service.answer_in_turn(body, caller)
        finally:
            usage.working -= 1
        await self._reply(reply, scope, receive, send, headers, reservation)

    async def finish(self, reply: Reply, size: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a reply, possibly an awaitable, of the fast path to a request of `size` bytes."""
        usage: ClientUsage = scope["state"]["guest"]
        headers = self.access.cors(scope)
        if not self.limiter.acquire(usage, ClientResource.REQUESTS):
            await _reject(usage, receive, send, 503, _TOO_MANY, headers)
            return
        try:
            with self.service.memory.reserve(self.access.caller(scope), usage) as reservation:
                reservation.add(size)
                await self._reply(reply, scope, receive, send, headers or [], reservation)
        except Overloaded as error:
            await _reject(usage, receive, send, 503, _line(error), headers)
        finally:
            self.limiter.release(usage, ClientResource.REQUESTS)
            if isinstance(reply, Coroutine):
                reply.close()  # unless it has run

    async def _reply(
        self, reply: Reply, scope: Scope, receive: Receive, send: Send, headers: Headers, reservation: MemoryReservation
    ) -> None:
        """Wait for a reply and send it, unless the client has disconnected."""
        usage: ClientUsage = scope["state"]["guest"]
        if not isinstance(reply, bytes):
            usage.working += 1
            try:
                answered = await _unless_gone(receive, reply)
            finally:
                usage.working -= 1
            if answered is None:
                return
            reply = answered
        # Hypercorn copies what it sends over HTTP/2.
        reservation.add(len(reply) if scope["http_version"] < "2" else 2 * len(reply))
        await _respond(usage, send, 200, [_JSON, *headers], reply)
        self.limiter.touch(usage)

    async def _show(self, scope: Scope, send: Send, headers: Headers) -> None:
        """Send a page, or a file of the explorer."""
        usage: ClientUsage = scope["state"]["guest"]
        if scope["path"] not in self.pages:
            files = self._files.value or await self._files.get()
            shown = answer(files, scope["path"], scope["headers"], has_body=scope["method"] != "HEAD")
            await _in_time(usage, len(shown.body), partial(_send, send, shown.status, [*shown.headers, *headers], shown.body))
            return

        async def send_with_headers(event: dict[str, Any]) -> None:
            if event["type"] == "http.response.start":
                event = {**event, "headers": [*event["headers"], *headers]}
            await send(event)

        app = self._page_app.value or await self._page_app.get()
        await _in_time(usage, 0, partial(app, scope, _nothing_to_read(), send_with_headers))


async def read_body(receive: Receive, reservation: MemoryReservation, patience: trio.CancelScope, most: int) -> bytes | None:
    """Receive the body of a request. Return None if the client disconnected.

    A body that is too large is still received, up to DRAIN_SIZE_MAX, and dropped, since clients read the reply only after they have sent
    everything. The deadline of `patience` is extended as bytes arrive. Raises: TooLarge for more than `most` bytes.
    """
    begun = trio.current_time()
    patience.deadline = begun + min(BODY_SECONDS_FREE, BODY_SECONDS_MAX)
    body, size = bytearray(), 0
    while True:
        event = await receive()
        if event["type"] != "http.request":
            return None
        chunk = event.get("body", b"")
        size += len(chunk)
        if size <= most:
            reservation.add(len(chunk))
            body += chunk
        elif body:
            body = bytearray()
            reservation.release()
        if not event.get("more_body", False) or size > DRAIN_SIZE_MAX:
            if size > most:
                raise TooLarge
            return bytes(body)
        patience.deadline = begun + min(BODY_SECONDS_MAX, BODY_SECONDS_FREE + size / BODY_RATE_MIN)
        del event, chunk  # not needed while waiting for the next event


class CachedPage:
    """A cached page. Its lifetime is PAGE_KEPT_TIMES the CPU time it took to build, at most PAGE_KEPT_SECONDS_MAX."""

    def __init__(self, page: Callable[[], PageReply]) -> None:
        self._page = page
        self._reply: PageReply | None = None
        self._until = 0.0

    def __call__(self) -> PageReply:
        """Return the page's reply, from the cache if it is fresh."""
        if self._reply is None or time.perf_counter() >= self._until:
            begun = time.thread_time()
            self._reply = self._page()
            seconds = PAGE_KEPT_TIMES * (time.thread_time() - begun)
            self._until = time.perf_counter() + min(PAGE_KEPT_SECONDS_MAX, seconds)
        return self._reply


def page_app(pages: Pages) -> App:
    """Return the quart-trio app of the pages, which sends the reply of each path's function."""
    from quart import Response
    from quart_trio import QuartTrio

    app = QuartTrio(__name__, static_folder=None)

    def show(page: Page) -> Callable[[], Awaitable[Response]]:
        # Quart runs plain functions in threads, where the state must not be read.
        kept = page if iscoroutinefunction(page) else CachedPage(cast(Callable[[], PageReply], page))

        async def view() -> Response:
            found = kept()
            shown = found if isinstance(found, PageReply) else await found
            return Response(shown.body, shown.status, content_type=shown.content_type)

        return view

    for path, page in pages.items():
        app.add_url_rule(path, endpoint=path.strip("/"), view_func=show(page), methods=list(PAGE_VERBS))
    return cast(App, app)


async def _at_once(_address: str) -> None:
    """Return at once."""


async def _unless_gone(receive: Receive, reply: Awaitable[bytes]) -> bytes | None:
    """Wait for a reply and return it, or None if the client disconnects first."""
    answered: bytes | None = None

    async def watch(scope: trio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch, nursery.cancel_scope)
        with frames_cleared():
            answered = await reply
        nursery.cancel_scope.cancel()
    return answered


def _line(error: Overloaded) -> bytes:
    """Return the text of a refusal as the body of a reply."""
    return fill(error.text, error.values).encode() + b"\n"


async def _in_time(usage: ClientUsage, size: int, sending: Callable[[], Awaitable[None]]) -> None:
    """Run `sending`, which sends `size` bytes. Disconnect a client that doesn't take them in time."""
    seconds = connection.SEND_SECONDS_MAX + size / connection.SEND_RATE_MIN
    with trio.move_on_after(seconds) as patience:
        await sending()
    if patience.cancelled_caught:
        usage.abort()


async def _respond(usage: ClientUsage, send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send a whole HTTP response."""
    sized = [*headers, (b"content-length", b"%d" % len(body))]
    await _in_time(usage, len(body), partial(_send, send, status, sized, body))


async def _send(send: Send, status: int, headers: Headers, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _reject(usage: ClientUsage, receive: Receive, send: Send, status: int, text: bytes, headers: Headers | None = None) -> None:
    """Reply to a request that may still be arriving, and receive the rest meanwhile, without which hypercorn can't end it."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_drain, receive)
        await _respond(usage, send, status, [_TEXT, *(headers or [])], text)


async def _drain(receive: Receive) -> None:
    with trio.move_on_after(REST_SECONDS_MAX):
        while (await receive())["type"] != "http.disconnect":
            pass


def _nothing_to_read() -> Receive:
    """Return the `receive` for pages: an empty body, and never a disconnect, which would stop Quart while it closes the request."""
    waiting = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        return await trio.sleep_forever()

    return receive
