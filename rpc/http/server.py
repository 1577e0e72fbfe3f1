"""HTTP server of the JSON-RPC service. Starts the protocol handlers, and later loads the libraries that the first replies don't need.

A connection begins on the fast path for calls. From its first request that is not a plain call, hypercorn serves it. After a WebSocket
handshake, the WebSocket server serves it.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import trio

from rpc.http.access import AccessPolicy
from rpc.http.asgi_app import AsgiApp
from rpc.http.connection import Connection
from rpc.http.connection_limits import ClientUsage, ConnectionLimiter, ConnectionLimits, limits_for
from rpc.http.http1.fast_path import Http1FastPath
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.lazy_import import LazyValue
from rpc.http.listener import Listener, OpenAcceptor, listen
from rpc.http.pages import Pages
from rpc.http.tasks import LogLimit
from rpc.http.websocket.rpc_session import RpcSession
from rpc.jsonrpc.dispatch import Service
from rpc.push.hub import Hub

if TYPE_CHECKING:
    from rpc.http.hypercorn_server import HypercornServer

LOADED_SECONDS = 1
IDLE_SECONDS_MAX = 75


async def serve(
    service: Service,
    host: str,
    port: int,
    *,
    pages: Pages,
    push: Hub | None = None,
    access: AccessPolicy | None = None,
    is_http2: bool = False,
    has_fast_path: bool = True,
    bounds: ConnectionLimits | None = None,
    limiter: ConnectionLimiter | None = None,
    acceptor: OpenAcceptor = Listener,
    shutdown: Callable[[], Awaitable[object]] = trio.sleep_forever,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve at one address until cancelled or until `shutdown` returns. Requests that are open then have GRACE_SECONDS_MAX to finish.

    `pages` maps paths to the functions that answer GET requests. `push` supplies notices and block streams. `limiter` limits clients
    (default: a limiter with `bounds`). `acceptor` opens the listening sockets. Without `has_fast_path`, hypercorn serves everything; this
    is for tests. Reports the addresses ("http://...") once connections are accepted. Port 0 means any free port.
    """
    limiter = limiter or ConnectionLimiter(bounds or limits_for())
    input_scheduler = FairInputScheduler(pages)
    access = access or AccessPolicy(host)
    asgi_app = AsgiApp(service, pages, limiter, access, push, input_scheduler.wait)
    rpc_session = RpcSession(service, limiter, push, input_scheduler.wait)
    hypercorn = HypercornFallback(asgi_app, rpc_session, input_scheduler, is_http2=is_http2)

    async def end() -> None:
        await shutdown()
        if push is not None:
            push.close()
        await hypercorn.end()

    fast_path = Http1FastPath(asgi_app, input_scheduler)
    handlers = (fast_path, hypercorn) if has_fast_path else (hypercorn,)
    start = partial(listen, acceptor(host, port), handlers, limiter, input_scheduler, IDLE_SECONDS_MAX, shutdown=end)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(input_scheduler.run)
        nursery.start_soon(fast_path.run)
        addresses: list[str] = await nursery.start(_until_done, start, nursery.cancel_scope)
        task_status.started(addresses)
        # The libraries are loaded in threads, since each import takes a tenth of a second. They are loaded after the first requests have
        # been answered, but before they are needed, since an import takes longer on a busy node.
        await trio.sleep(LOADED_SECONDS)
        await hypercorn.load()
        await asgi_app.load()


async def _until_done(start: Callable[..., Awaitable[None]], scope: trio.CancelScope, *, task_status: trio.TaskStatus[list[str]]) -> None:
    await start(task_status=task_status)
    scope.cancel()


class HypercornFallback:
    """Protocol handler that passes connections to hypercorn, which is loaded on first use."""

    def __init__(self, asgi_app: AsgiApp, rpc_session: RpcSession, input_scheduler: FairInputScheduler, *, is_http2: bool) -> None:
        self._asgi_app, self._rpc_session, self._input_scheduler, self._is_http2 = asgi_app, rpc_session, input_scheduler, is_http2
        self._server = LazyValue(self._make)
        self.load, self.load_now = self._server.get, self._server.make

    def _make(self) -> "HypercornServer":
        from rpc.http.hypercorn_server import HypercornServer, server_config

        asgi_app = self._asgi_app
        config = server_config(IDLE_SECONDS_MAX)
        return HypercornServer(
            asgi_app, self._rpc_session, asgi_app.access, asgi_app.limiter, self._input_scheduler, config, is_http2=self._is_http2
        )

    async def __call__(self, accepted: Connection, usage: ClientUsage, data: bytes, bugs: LogLimit) -> None:
        """Serve a connection. See `ProtocolHandler`."""
        server = self._server.value or await self.load()
        await server.serve(accepted, usage, data, bugs)

    async def end(self) -> None:
        """Shut down gracefully: each open request becomes the last on its connection."""
        if self._server.value is not None:
            await self._server.value.end()
