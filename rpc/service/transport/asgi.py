"""HTTP and WebSocket around the JSON-RPC service: a quart-trio app for pages, wrapped so that every other request goes
straight to the service. It must not know any method.

Quart is loaded when the first page is asked for: the node answers calls without it. Source: rpc-api.md §1.1, §1.2, §1.13.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import trio
from hypercorn.config import Config
from msgspec import Struct

from rpc.service.envelope import Service
from rpc.service.reading import BODY_SIZE_MAX
from rpc.service.transport.listening import CONNECTIONS_MAX, listen

DRAIN_SIZE_MAX = 4 * BODY_SIZE_MAX
BODY_SECONDS_MAX = 120
REST_SECONDS_MAX = 5
REQUESTS_MAX = 1000
# Of all bodies and replies that are on their way.
OPEN_SIZE_MAX = 1_000_000_000
SOCKETS_MAX = 1000
WAITING_PER_SOCKET_MAX = 64
BACKLOG_MAX = 1024
IDLE_SECONDS_MAX = 75
GRACE_SECONDS_MAX = 3
REQUESTS_PER_CONNECTION_MAX = 1_000_000_000

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Hold = Callable[[int], None]

PAGE_VERBS = ("GET", "HEAD")
NO_TEXT = "error: string payload expected"
_CORS = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"POST, GET, OPTIONS"),
    (b"access-control-allow-headers", b"*"),
    (b"access-control-max-age", b"86400"),
]
_JSON = [(b"content-type", b"application/json"), *_CORS]
_TEXT = [(b"content-type", b"text/plain; charset=utf-8"), *_CORS]


class PageReply(Struct, frozen=True):
    """What a page shows: the body of the response, its status and its type."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


Page = Callable[[], PageReply]
Pages = Mapping[str, Page]


class Overloaded(Exception):
    """All requests together hold as many bytes as they may."""


async def serve(
    service: Service,
    host: str,
    port: int,
    *,
    pages: Pages,
    shutdown: Callable[[], Awaitable[object]] = trio.sleep_forever,
    connections_max: int = CONNECTIONS_MAX,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve on one address until cancelled, or until `shutdown` returns: then open requests have GRACE_SECONDS_MAX to end.

    `pages` supplies what GET shows at each path. Reports the addresses ("http://...") once connections are taken; port 0 is any.
    """
    gateway = Gateway(service, pages)
    config = server_config(host, port)
    await listen(gateway, config, shutdown=shutdown, connections_max=connections_max, task_status=task_status)  # type: ignore[arg-type]


def server_config(host: str, port: int) -> Config:
    """Return hypercorn's configuration: bounded, quiet, its messages in the log `rpc.http`."""
    config = Config()
    config.bind = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}"]
    config.backlog = BACKLOG_MAX
    config.keep_alive_timeout = IDLE_SECONDS_MAX
    config.graceful_timeout = GRACE_SECONDS_MAX
    config.keep_alive_max_requests = REQUESTS_PER_CONNECTION_MAX
    config.websocket_max_message_size = BODY_SIZE_MAX
    config.include_server_header = False
    config.accesslog = None
    config.errorlog = logging.getLogger("rpc.http")
    return config


class Gateway:
    """The ASGI app: pages to Quart, everything else to the JSON-RPC service."""

    def __init__(self, service: Service, pages: Pages) -> None:
        self.service = service
        self.pages = pages
        self.requests_open = 0
        self.sockets_open = 0
        self.size_open = 0
        self._page_app: App | None = None
        self._page_lock = trio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)

    async def _load_pages(self) -> App:
        """Return the Quart app; it is loaded in a thread, since importing it takes a tenth of a second."""
        async with self._page_lock:
            if self._page_app is None:
                self._page_app = await trio.to_thread.run_sync(page_app, self.pages)
        return self._page_app

    # -------------------------------------------------------------- HTTP

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.requests_open >= REQUESTS_MAX:
            await _turn_away(receive, send, 503, b"too many requests are open\n")
            return
        self.requests_open += 1
        held = 0

        def hold(size: int) -> None:
            nonlocal held
            if self.size_open + size > OPEN_SIZE_MAX:
                raise Overloaded
            self.size_open += size
            held += size

        try:
            await self._take(scope, receive, send, hold)
        except Overloaded:
            await _turn_away(receive, send, 503, b"requests and replies hold too many bytes\n")
        finally:
            self.requests_open -= 1
            self.size_open -= held

    async def _take(self, scope: Scope, receive: Receive, send: Send, hold: Hold) -> None:
        body: bytes | None = None
        with trio.move_on_after(BODY_SECONDS_MAX) as patience:
            body = await read_body(receive, hold)
        if patience.cancelled_caught:
            await _turn_away(receive, send, 408, b"the request took too long to arrive\n")
        elif body is None:
            return
        elif len(body) > BODY_SIZE_MAX:
            await _turn_away(receive, send, 413, b"a request may have at most %d bytes\n" % BODY_SIZE_MAX)
        elif scope["path"] in self.pages and scope["method"] in PAGE_VERBS:
            await (await self._load_pages())(scope, _nothing_to_read(), send)
        else:
            await self._call(body, scope, receive, send, hold)

    async def _call(self, body: bytes, scope: Scope, receive: Receive, send: Send, hold: Hold) -> None:
        reply = await self.service.answer_in_turn(body, is_local(scope))
        if not isinstance(reply, bytes):
            answered = await _unless_gone(receive, reply)
            if answered is None:
                return
            reply = answered
        hold(len(reply))
        await _respond(send, 200, _JSON, reply)

    # -------------------------------------------------------------- WebSocket

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        if self.sockets_open >= SOCKETS_MAX:
            await send({"type": "websocket.close", "code": 1013})
            return
        await send({"type": "websocket.accept"})
        self.sockets_open += 1
        try:
            async with trio.open_nursery() as nursery:
                await self._talk(is_local(scope), receive, send, nursery)
                nursery.cancel_scope.cancel()
        finally:
            self.sockets_open -= 1

    async def _talk(self, local: bool, receive: Receive, send: Send, nursery: trio.Nursery) -> None:
        """Answer frames until the client leaves: in their order, except that nothing waits for a broadcast."""
        places = trio.Semaphore(WAITING_PER_SOCKET_MAX)

        async def answer_later(reply: Awaitable[bytes]) -> None:
            try:
                await _send_text(send, (await reply).decode())
            finally:
                places.release()

        while (event := await receive())["type"] == "websocket.receive":
            text = event.get("text")
            if text is None:
                await _send_text(send, NO_TEXT)
                continue
            await places.acquire()
            reply = await self.service.answer_in_turn(text.encode("utf-8", "surrogatepass"), local)
            if isinstance(reply, bytes):
                places.release()
                await _send_text(send, reply.decode())
            else:
                nursery.start_soon(answer_later, reply)


def is_local(scope: Scope) -> bool:
    """Whether a request comes from a program on this machine. Pages in its browsers don't count: they send their origin."""
    client = scope.get("client")
    host = str(client[0]).removeprefix("::ffff:") if client else ""
    return (host == "::1" or host.startswith("127.")) and all(name != b"origin" for name, _ in scope["headers"])


async def read_body(receive: Receive, hold: Hold) -> bytes | None:
    """Return the body of a request; for one that is too large, one byte more than is allowed; None when the client left.

    A body that is too large is still received, up to DRAIN_SIZE_MAX: clients read the answer only after they have sent everything.
    """
    chunks, size = [], 0
    while True:
        event = await receive()
        if event["type"] != "http.request":
            return None
        chunk = event.get("body", b"")
        size += len(chunk)
        if size <= BODY_SIZE_MAX:
            hold(len(chunk))
            chunks.append(chunk)
        if not event.get("more_body", False) or size > DRAIN_SIZE_MAX:
            return b"".join(chunks) if size <= BODY_SIZE_MAX else bytes(BODY_SIZE_MAX + 1)


def page_app(pages: Pages) -> App:
    """Return the quart-trio app of the pages: each path shows what its function returns."""
    from quart import Response
    from quart_trio import QuartTrio

    app = QuartTrio(__name__, static_folder=None)

    def show(page: Page) -> Callable[[], Awaitable[Response]]:
        # Quart runs plain functions in threads, where the state must not be read.
        async def view() -> Response:
            shown = page()
            headers = {"access-control-allow-origin": "*"}
            return Response(shown.body, shown.status, content_type=shown.content_type, headers=headers)

        return view

    for path, page in pages.items():
        app.add_url_rule(path, endpoint=path.strip("/"), view_func=show(page), methods=list(PAGE_VERBS))
    return cast(App, app)


async def _unless_gone(receive: Receive, reply: Awaitable[bytes]) -> bytes | None:
    """Wait for a reply and return it, or None when the client leaves first."""
    answered: bytes | None = None

    async def watch(scope: trio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch, nursery.cancel_scope)
        answered = await reply
        nursery.cancel_scope.cancel()
    return answered


async def _respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    """Send a whole HTTP response."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def _turn_away(receive: Receive, send: Send, status: int, text: bytes) -> None:
    """Answer while the request may still be arriving: hypercorn can end it only when somebody receives the rest."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_take_the_rest, receive)
        await _respond(send, status, _TEXT, text)


async def _take_the_rest(receive: Receive) -> None:
    with trio.move_on_after(REST_SECONDS_MAX):
        while (await receive())["type"] != "http.disconnect":
            pass


def _nothing_to_read() -> Receive:
    """Return the `receive` of pages: an empty body, and never the end of the connection, on which Quart would stop in the middle of closing
    it.
    """
    waiting = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        return await trio.sleep_forever()

    return receive


async def _send_text(send: Send, text: str) -> None:
    """Send one text frame."""
    await send({"type": "websocket.send", "text": text})
