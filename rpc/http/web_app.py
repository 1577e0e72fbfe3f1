"""The Quart app: pages, the explorer's files, and block streams. Importing this module takes a tenth of a second."""

from collections.abc import Awaitable, Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import cast

from quart import Response, abort, request
from quart_trio import QuartTrio

from rpc.explorer.files import HEADERS, PICTURES, PICTURES_QUERY, POLICY_WITH_PICTURES, PREFIX, WebFile
from rpc.http.block_stream import LIVE_HEADERS, PATH, BadQuery, block_lines, read_query
from rpc.http.connection_limits import ClientUsage
from rpc.http.lazy_import import LazyValue
from rpc.http.pages import PAGE_VERBS, CachedPage, Page, PageReply, Pages
from rpc.http.websocket.rpc_session import NOTICES, Turn
from rpc.jsonrpc.dispatch import Service
from rpc.push.hub import Hub

View = Callable[..., Awaitable[Response]]


def web_app(service: Service, pages: Pages, files: LazyValue[dict[str, WebFile]], push: Hub | None, turn: Turn) -> QuartTrio:
    """Return the app. `pages` maps paths to the functions of pages. `turn` waits until the scheduler admits the next chunk of a stream."""
    app = QuartTrio(__name__, static_folder=None)
    app.url_map.merge_slashes = False
    app.config["RESPONSE_TIMEOUT"] = None  # each event has a time limit
    for path, page in pages.items():
        app.add_url_rule(path, endpoint=path.strip("/"), view_func=_page_view(page), methods=list(PAGE_VERBS))

    @app.after_request
    async def protect(reply: Response) -> Response:
        """Add the explorer's security headers to a reply, except to pages and streams. Quart's own error pages get these headers too."""
        if request.path not in pages and request.path != PATH:
            for name, value in HEADERS.items():
                reply.headers.setdefault(name, value)
        return reply

    file_view = _file_view(files)
    app.add_url_rule("/", endpoint="file", view_func=file_view)
    app.add_url_rule(f"{PREFIX}<path:_>", endpoint="file", view_func=file_view)
    if push is not None:
        app.add_url_rule(PATH, endpoint="stream", view_func=_stream_view(service, push, turn))
    return app


def _page_view(page: Page) -> View:
    # Quart runs functions that aren't async in threads, where the state must not be read.
    kept = page if iscoroutinefunction(page) else CachedPage(cast(Callable[[], PageReply], page))

    async def view() -> Response:
        found = kept()
        shown = found if isinstance(found, PageReply) else await found
        return Response(shown.body, shown.status, content_type=shown.content_type)

    return view


def _file_view(files: LazyValue[dict[str, WebFile]]) -> View:
    """Return the view function for the explorer's files. For "/" it returns the HTML page."""

    async def view(_: str = "") -> Response:
        known = files.value or await files.get()
        file = known.get("" if request.path == "/" else request.path) or abort(404)
        is_packed = request.accept_encodings["gzip"] > 0
        body = file.packed if is_packed else file.body
        reply = Response(body, content_type=file.content_type)
        reply.set_etag(f"{file.tag}-gzip" if is_packed else file.tag)
        if is_packed:
            reply.content_encoding = "gzip"
        if request.path == "/" and PICTURES_QUERY in request.args:
            reply.headers["content-security-policy"] = POLICY_WITH_PICTURES
        if request.path.startswith(PICTURES):
            reply.headers["cross-origin-resource-policy"] = "cross-origin"
        return await reply.make_conditional(request)

    return view


def _stream_view(service: Service, push: Hub, turn: Turn) -> View:
    async def view() -> Response:
        usage: ClientUsage = request.scope["state"]["usage"]
        try:
            first, irreversible, packed = read_query(request.query_string)
        except BadQuery as error:
            return Response(f"{error}\n", 400, content_type="text/plain; charset=utf-8")
        await service.gate.wait_open()
        first = push.next_number if first is None else first
        lines = block_lines(
            service, push, usage.address, partial(turn, usage.address + NOTICES), first, irreversible=irreversible, packed=packed
        )
        return Response(lines, headers=LIVE_HEADERS)

    return view
