"""HTTP around the JSON-RPC service: a quart-trio app for pages, wrapped so that every other request goes straight to the service, to a
stream of blocks, or to the files of the explorer. It must not know any method.

Quart is loaded in a thread once connections are taken: the node answers calls without it. Source: rpc-api.md §1.1, §1.13.
"""

import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, cast

import trio
from msgspec import Struct

from rpc.explorer.files import PREFIX, answer, read_files
from rpc.push.hub import Hub
from rpc.service.envelope import Reply, Service
from rpc.service.reading import BODY_SIZE_MAX
from rpc.service.transport import connection
from rpc.service.transport.connection import Connection
from rpc.service.transport.guests import Bounds, Guest, Guests, Kind, bounds_for
from rpc.service.transport.intake import Intake
from rpc.service.transport.lanes.calls import CallLane
from rpc.service.transport.later import Later
from rpc.service.transport.listening import Listener, OpenDoors, listen
from rpc.service.transport.rights import Access, Headers
from rpc.service.transport.sockets.talk import NOTICES, Talk, Turn
from rpc.service.transport.streaming import PATH, show_stream
from rpc.service.transport.tasks import Limit

if TYPE_CHECKING:
    from rpc.service.transport.speech import Speaker

DRAIN_SIZE_MAX = 4 * BODY_SIZE_MAX
# A body has BODY_SECONDS_FREE, and more as long as BODY_RATE_MIN bytes a second arrive, up to BODY_SECONDS_MAX.
BODY_SECONDS_MAX = 120
BODY_SECONDS_FREE = 10
BODY_RATE_MIN = 10_000
REST_SECONDS_MAX = 5
# What a page shows is kept for so many times as long as making it took, so that whoever asks for nothing else costs one part in so many.
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
_TOO_LARGE = b"requests and replies hold too many bytes\n"
_NOT_LET_IN = b"pages of this origin are not let in; see the node's option --cors\n"


class PageReply(Struct, frozen=True):
    """What a page shows: the body of the response, its status and its type."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


Page = Callable[[], PageReply] | Callable[[], Awaitable[PageReply]]
Pages = Mapping[str, Page]


class Overloaded(Exception):
    """Requests hold as many bytes as they may, all together or those of one address."""


async def serve(
    service: Service,
    host: str,
    port: int,
    *,
    pages: Pages,
    push: Hub | None = None,
    access: Access | None = None,
    is_http2: bool = False,
    has_lanes: bool = True,
    bounds: Bounds | None = None,
    guests: Guests | None = None,
    doors: OpenDoors = Listener,
    shutdown: Callable[[], Awaitable[object]] = trio.sleep_forever,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve on one address until cancelled, or until `shutdown` returns: then open requests have GRACE_SECONDS_MAX to end.

    `pages` supplies what GET shows at each path, `push` notices and streams of blocks; `guests`, or else their `bounds`, say who
    may hold what; `doors` opens what connections come through. Without lanes, which is for tests, hypercorn serves everything.
    Reports the addresses ("http://...") once connections are taken; port 0 is any.
    """
    guests = guests or Guests(bounds or bounds_for())
    intake = Intake(pages)
    access = access or Access(host)
    gateway = Gateway(service, pages, guests, access, push, intake.enter)
    talk = Talk(service, guests, push, intake.enter)
    outer = OuterLane(gateway, talk, intake, is_http2=is_http2)

    async def end() -> None:
        await shutdown()
        if push is not None:
            push.close()
        await outer.end()

    calls = CallLane(gateway, intake)
    lanes = (calls, outer) if has_lanes else (outer,)
    start = partial(listen, doors(host, port), lanes, guests, intake, IDLE_SECONDS_MAX, shutdown=end)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(intake.run)
        nursery.start_soon(calls.run)
        addresses: list[str] = await nursery.start(_until_done, start, nursery.cancel_scope)
        task_status.started(addresses)
        # In threads, since importing takes a tenth of a second each; before it is needed, since a busy node takes longer; but not while
        # the first requests after the start wait for an answer.
        await trio.sleep(LOADED_SECONDS)
        await outer.load()
        await gateway.load_pages()


async def _until_done(start: Callable[..., Awaitable[None]], scope: trio.CancelScope, *, task_status: trio.TaskStatus[list[str]]) -> None:
    await start(task_status=task_status)
    scope.cancel()


class OuterLane:
    """Leaves a connection to hypercorn, which is loaded for the first one."""

    def __init__(self, gateway: "Gateway", talk: Talk, intake: Intake, *, is_http2: bool) -> None:
        self._gateway, self._talk, self._intake, self._is_http2 = gateway, talk, intake, is_http2
        self._speaker = Later(self._make)
        self.load, self.load_now = self._speaker.get, self._speaker.make

    def _make(self) -> "Speaker":
        from rpc.service.transport.speech import Speaker, server_config

        gateway = self._gateway
        config = server_config(IDLE_SECONDS_MAX, BODY_SIZE_MAX)
        return Speaker(gateway, self._talk, gateway.access, gateway.guests, self._intake, config, is_http2=self._is_http2)

    async def __call__(self, accepted: Connection, guest: Guest, data: bytes, bugs: Limit) -> None:
        """See Lane."""
        speaker = self._speaker.value or await self.load()
        await speaker.serve(accepted, guest, data, bugs)

    async def end(self) -> None:
        """Take no further requests on connections that have one open."""
        if self._speaker.value is not None:
            await self._speaker.value.end()


class Gateway:
    """The ASGI app: pages to Quart, everything else to the JSON-RPC service."""

    def __init__(
        self, service: Service, pages: Pages, guests: Guests, access: Access, push: Hub | None = None, turn: Turn | None = None
    ) -> None:
        self.service = service
        self._turn = turn or _at_once
        self.push = push
        self.pages = pages
        self.guests = guests
        self.access = access
        self._page_app = Later(partial(page_app, pages))
        self._files = Later(read_files)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one scope, as ASGI says."""
        try:
            if scope["type"] == "http":
                await self._http(scope, receive, send)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client has gone

    async def load_pages(self) -> None:
        """Load what pages and files need, before somebody asks for them."""
        await self._page_app.get()
        if self.access.has_pages:
            await self._files.get()

    def _is_page(self, scope: Scope) -> bool:
        return scope["method"] in PAGE_VERBS and (scope["path"] in self.pages or self._is_file(scope))

    def _is_file(self, scope: Scope) -> bool:
        """Whether a request to read asks for the explorer: for one of its files, or for HTML, as browsers do."""
        if not self.access.has_pages or scope["path"] == PATH:
            return False
        return scope["path"].startswith(PREFIX) or any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])

    # -------------------------------------------------------------- HTTP

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        guest: Guest = scope["state"]["guest"]
        headers = self.access.cors(scope)
        if headers is None:
            await _turn_away(guest, receive, send, 403, _NOT_LET_IN)
        elif self._is_page(scope) and scope["http_version"] < "2" and not any(name in _BODY for name, _ in scope["headers"]):
            # Pages are shown to whoever gets a connection: they say how a node is that does nothing else any more.
            await self._show(scope, send, headers)
        elif self.push is not None and scope["path"] == PATH and scope["method"] == "GET":
            await self._stream(self.push, scope, receive, send, headers)
        elif not self.guests.take(guest, Kind.REQUESTS):
            await _turn_away(guest, receive, send, 503, _TOO_MANY, headers)
        else:
            try:
                await self._take(scope, receive, send, headers)
            except Overloaded:
                await _turn_away(guest, receive, send, 503, _TOO_LARGE, headers)
            finally:
                self.guests.give_back(guest, Kind.REQUESTS)

    async def _stream(self, push: Hub, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        """Show a stream of blocks; it counts as a stream and as no request, since it stays open."""
        guest: Guest = scope["state"]["guest"]
        if not self.guests.take(guest, Kind.STREAMS):
            await _turn_away(guest, receive, send, 503, b"too many streams are open\n", headers)
            return
        guest.working += 1
        try:
            turn = partial(self._turn, guest.address + NOTICES)
            refusal = await show_stream(self.service, push, guest, turn, scope, receive, send, headers)
            if refusal:
                await _turn_away(guest, receive, send, 400, refusal.encode() + b"\n", headers)
        finally:
            guest.working -= 1
            self.guests.give_back(guest, Kind.STREAMS)

    async def _take(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        """Receive the body of a request, and answer."""
        guest: Guest = scope["state"]["guest"]
        held = Held(self.guests, guest)
        body: bytes | None = None
        try:
            with trio.CancelScope() as patience:
                body = await read_body(receive, held, patience)
            if patience.cancelled_caught:
                await _turn_away(guest, receive, send, 408, b"the request took too long to arrive\n", headers)
            elif body is None:
                return
            elif len(body) > BODY_SIZE_MAX:
                await _turn_away(guest, receive, send, 413, b"a request may have at most %d bytes\n" % BODY_SIZE_MAX, headers)
            elif self._is_page(scope):
                await self._show(scope, send, headers)
            else:
                self.guests.heard(guest)
                await self._call(body, scope, receive, send, headers, held)
        finally:
            held.give_back()

    async def _call(self, body: bytes, scope: Scope, receive: Receive, send: Send, headers: Headers, held: "Held") -> None:
        guest: Guest = scope["state"]["guest"]
        guest.working += 1
        try:
            reply = await self.service.answer_in_turn(body, self.access.caller(scope))
        finally:
            guest.working -= 1
        await self._reply(reply, scope, receive, send, headers, held)

    async def finish(self, reply: Reply, size: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a reply, which may have to be waited for, to a request of so many bytes that has been answered outside."""
        guest: Guest = scope["state"]["guest"]
        headers = self.access.cors(scope)
        held = Held(self.guests, guest)
        if not self.guests.take(guest, Kind.REQUESTS):
            await _turn_away(guest, receive, send, 503, _TOO_MANY, headers)
            return
        try:
            held.add(size)
            await self._reply(reply, scope, receive, send, headers or [], held)
        except Overloaded:
            await _turn_away(guest, receive, send, 503, _TOO_LARGE, headers)
        finally:
            held.give_back()
            self.guests.give_back(guest, Kind.REQUESTS)
            if isinstance(reply, Coroutine):
                reply.close()  # unless it has run

    async def _reply(self, reply: Reply, scope: Scope, receive: Receive, send: Send, headers: Headers, held: "Held") -> None:
        """Send a reply when it is there, unless the client has left."""
        guest: Guest = scope["state"]["guest"]
        if not isinstance(reply, bytes):
            guest.working += 1
            try:
                answered = await _unless_gone(receive, reply)
            finally:
                guest.working -= 1
            if answered is None:
                return
            reply = answered
        held.add(len(reply))
        await _respond(guest, send, 200, [_JSON, *headers], reply)
        self.guests.heard(guest)

    async def _show(self, scope: Scope, send: Send, headers: Headers) -> None:
        """Show a page, or a file of the explorer."""
        guest: Guest = scope["state"]["guest"]
        if scope["path"] not in self.pages:
            files = self._files.value or await self._files.get()
            shown = answer(files, scope["path"], scope["headers"], has_body=scope["method"] != "HEAD")
            await _in_time(guest, len(shown.body), partial(_send, send, shown.status, [*shown.headers, *headers], shown.body))
            return

        async def send_with_headers(event: dict[str, Any]) -> None:
            if event["type"] == "http.response.start":
                event = {**event, "headers": [*event["headers"], *headers]}
            await send(event)

        app = self._page_app.value or await self._page_app.get()
        await _in_time(guest, 0, partial(app, scope, _nothing_to_read(), send_with_headers))


class Held:
    """The bytes that one request and its reply hold."""

    def __init__(self, guests: Guests, guest: Guest) -> None:
        self._guests, self._guest = guests, guest
        self.size = 0

    def add(self, size: int) -> None:
        """Hold more; raises Overloaded when there is no room."""
        if not self._guests.take(self._guest, Kind.BYTES, size):
            raise Overloaded
        self.size += size

    def give_back(self) -> None:
        """Hold nothing any more."""
        self._guests.give_back(self._guest, Kind.BYTES, self.size)
        self.size = 0


async def read_body(receive: Receive, held: Held, patience: trio.CancelScope) -> bytes | None:
    """Return the body of a request; for one that is too large, one byte more than is allowed; None when the client left.

    A body that is too large is still received, up to DRAIN_SIZE_MAX: clients read the answer only after they have sent everything.
    `patience` gets its deadline from what has arrived so far.
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
        if size <= BODY_SIZE_MAX:
            held.add(len(chunk))
            body += chunk
        if not event.get("more_body", False) or size > DRAIN_SIZE_MAX:
            return bytes(body) if size <= BODY_SIZE_MAX else bytes(BODY_SIZE_MAX + 1)
        patience.deadline = begun + min(BODY_SECONDS_MAX, BODY_SECONDS_FREE + size / BODY_RATE_MIN)


class Kept:
    """A page that is not made again for a while: for PAGE_KEPT_TIMES the processor time that it needed, at most PAGE_KEPT_SECONDS_MAX."""

    def __init__(self, page: Callable[[], PageReply]) -> None:
        self._page = page
        self._reply: PageReply | None = None
        self._until = 0.0

    def __call__(self) -> PageReply:
        """Return what the page shows."""
        if self._reply is None or time.perf_counter() >= self._until:
            begun = time.thread_time()
            self._reply = self._page()
            seconds = PAGE_KEPT_TIMES * (time.thread_time() - begun)
            self._until = time.perf_counter() + min(PAGE_KEPT_SECONDS_MAX, seconds)
        return self._reply


def page_app(pages: Pages) -> App:
    """Return the quart-trio app of the pages: each path shows what its function returns."""
    from quart import Response
    from quart_trio import QuartTrio

    app = QuartTrio(__name__, static_folder=None)

    def show(page: Page) -> Callable[[], Awaitable[Response]]:
        # Quart runs plain functions in threads, where the state must not be read.
        kept = page if iscoroutinefunction(page) else Kept(cast(Callable[[], PageReply], page))

        async def view() -> Response:
            found = kept()
            shown = found if isinstance(found, PageReply) else await found
            return Response(shown.body, shown.status, content_type=shown.content_type)

        return view

    for path, page in pages.items():
        app.add_url_rule(path, endpoint=path.strip("/"), view_func=show(page), methods=list(PAGE_VERBS))
    return cast(App, app)


async def _at_once(_address: str) -> None:
    """Wait for nobody."""


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


async def _in_time(guest: Guest, size: int, sending: Callable[[], Awaitable[None]]) -> None:
    """Send so many bytes. A client that doesn't take them in time is cut off, whatever its protocol."""
    seconds = connection.SEND_SECONDS_MAX + size / connection.SEND_RATE_MIN
    with trio.move_on_after(seconds) as patience:
        await sending()
    if patience.cancelled_caught:
        guest.cut()


async def _respond(guest: Guest, send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send a whole HTTP response."""
    sized = [*headers, (b"content-length", b"%d" % len(body))]
    await _in_time(guest, len(body), partial(_send, send, status, sized, body))


async def _send(send: Send, status: int, headers: Headers, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _turn_away(guest: Guest, receive: Receive, send: Send, status: int, text: bytes, headers: Headers | None = None) -> None:
    """Answer while the request may still be arriving: hypercorn can end it only when somebody receives the rest."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_take_the_rest, receive)
        await _respond(guest, send, status, [_TEXT, *(headers or [])], text)


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
