"""Serves connections with hypercorn: all requests that the fast path doesn't handle, and the handshakes of WebSockets.

Importing this module imports hypercorn, h11, h2 and wsproto. That takes a seventh of the time from the node's start to its first reply, so
`serve` imports the module later.
"""

import logging
from functools import partial
from typing import Any

import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState, LifespanState
from hypercorn.utils import wrap_app

from rpc.http.access import AccessPolicy
from rpc.http.connection import Connection
from rpc.http.connection_limits import ClientUsage, ConnectionLimiter
from rpc.http.hypercorn_protocols import HypercornProtocol
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.tasks import ConnectionTasks, LogLimit
from rpc.http.websocket.handshake import UpgradeRequest
from rpc.http.websocket.rpc_session import RpcSession
from rpc.http.websocket.server import WebSocketServer

REQUESTS_PER_CONNECTION_MAX = 1_000_000_000


def server_config(idle_seconds_max: float) -> Config:
    """Return hypercorn's configuration. It sets limits, has no access log, and sends hypercorn's errors to the log `http`."""
    config = Config()
    config.keep_alive_timeout = int(idle_seconds_max)
    config.keep_alive_max_requests = REQUESTS_PER_CONNECTION_MAX
    config.include_server_header = False
    config.accesslog = None
    config.errorlog = logging.getLogger("http")
    return config


class HypercornServer:
    """Serves connections with hypercorn's protocols and an ASGI app. After an upgrade request, the WebSocket server takes over."""

    def __init__(
        self,
        app: Any,
        rpc_session: RpcSession,
        access: AccessPolicy,
        limiter: ConnectionLimiter,
        input_scheduler: FairInputScheduler,
        config: Config,
        *,
        is_http2: bool,
    ) -> None:
        self._config = config
        self._app = wrap_app(app, config.wsgi_max_body_size, "asgi")
        self._context = WorkerContext(None)
        self._sockets = WebSocketServer(rpc_session, access, limiter, input_scheduler, config)
        self._input_scheduler, self._is_http2 = input_scheduler, is_http2

    async def end(self) -> None:
        """Shut down gracefully: every response from now on announces that its connection closes."""
        await self._context.terminated.set()

    async def serve(self, connection: Connection, usage: ClientUsage, data: bytes, bugs: LogLimit) -> None:
        """Serve a connection to its end, starting with the bytes already received."""
        turn = partial(self._input_scheduler.wait, usage.address)
        protocol = HypercornProtocol(self._app, self._config, self._context, turn, is_http2=self._is_http2)
        asked = await HypercornConnection(connection, protocol).run(usage, self._input_scheduler, data, bugs)
        if asked is not None:
            connection.cancel_close_timeout()
            await self._sockets.serve(asked, connection, usage, bugs)


class HypercornConnection:
    """Passes the bytes of a connection to hypercorn's protocol, and executes the events that the protocol emits."""

    def __init__(self, connection: Connection, protocol: HypercornProtocol) -> None:
        self._connection, self._protocol = connection, protocol

    async def run(self, usage: ClientUsage, input_scheduler: FairInputScheduler, data: bytes, bugs: LogLimit) -> UpgradeRequest | None:
        """Serve the connection to its end. If a request upgrades it to a WebSocket, return that request instead."""
        connection = self._connection
        state = ConnectionState(LifespanState({"usage": usage}))
        async with trio.open_nursery() as nursery:
            tasks = ConnectionTasks(nursery, usage.address, input_scheduler, bugs)
            self._protocol.begin(tasks, state, connection.client, connection.server, self.send)
            try:
                await self._receive(data)
            except UpgradeRequest as asked:
                return asked
            finally:
                # Hypercorn's tasks can wait forever.
                connection.start_close_timeout()
            await self._protocol.handle(Closed())
        return None

    async def _receive(self, data: bytes) -> None:
        """Pass `data` and then received bytes to the protocol until the end of the input."""
        while True:
            await self._protocol.handle(RawData(data))
            if not data:
                return
            try:
                data = await self._connection.receive()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return

    async def send(self, event: Event) -> None:
        """Execute an event of the protocol: send bytes, close the connection, or mark it as idle or busy."""
        if isinstance(event, RawData):
            try:
                await self._connection.write(event.data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                # The client has disconnected, so its other requests are cancelled, too.
                self._connection.scope.cancel()
                await self._protocol.handle(Closed())
        elif isinstance(event, Closed):
            await self._connection.close()
            await self._protocol.handle(Closed())
        elif isinstance(event, Updated):
            self._connection.mark_idle(event.idle)
