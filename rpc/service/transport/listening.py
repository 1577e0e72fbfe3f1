"""Accepts connections and hands each to hypercorn, with bounds that hypercorn's own loop lacks: on the number of connections, on the time
that a client may keep bytes waiting, and on the time that one that has left is kept. It knows nothing of requests.
"""

from collections.abc import Awaitable, Callable, Collection
from functools import partial

import trio
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ASGIFramework, LifespanState
from hypercorn.utils import repr_socket_addr, wrap_app

CONNECTIONS_MAX = 4096
SEND_SIZE = 1 << 16
SEND_SECONDS_MAX = 60
GONE_SECONDS_MAX = 2


class Line:
    """A connection's stream as hypercorn uses it. Its `scope` ends a while after the client has sent its last byte."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.socket = stream.socket
        self.scope = trio.CancelScope()
        self._stream = stream

    async def receive_some(self, size: int) -> bytes:
        """Return the bytes that have arrived; none at the end."""
        data = b""
        try:
            data = bytes(await self._stream.receive_some(size))
        finally:
            if not data:
                self.scope.deadline = min(self.scope.deadline, trio.current_time() + GONE_SECONDS_MAX)
        return data

    async def send_all(self, data: bytes) -> None:
        """Send; a client that takes nothing for too long counts as gone. Hypercorn shields this from being cancelled."""
        view = memoryview(data)
        for start in range(0, len(view), SEND_SIZE):
            with trio.move_on_after(SEND_SECONDS_MAX) as patience:
                await self._stream.send_all(view[start : start + SEND_SIZE])
            if patience.cancelled_caught:
                self.cut()
                raise trio.BrokenResourceError("the client doesn't read")

    async def send_eof(self) -> None:
        """Say that nothing more will come."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    def cut(self) -> None:
        """Close the connection at once; tasks that wait for it are woken with an error."""
        self.socket.close()


async def listen(
    app: ASGIFramework,
    config: Config,
    *,
    shutdown: Callable[[], Awaitable[object]] = trio.sleep_forever,
    connections_max: int = CONNECTIONS_MAX,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve an ASGI app until cancelled, or until `shutdown` returns: then open requests have `config.graceful_timeout` seconds.

    Reports the addresses ("http://...") once connections are taken. Connections beyond the bound are closed at once.
    """
    handle = wrap_app(app, config.wsgi_max_body_size, "asgi")
    context = WorkerContext(None)
    sockets = config.create_sockets().insecure_sockets
    for each in sockets:
        each.listen(config.backlog)
    lines: set[Line] = set()

    async def talk(stream: trio.SocketStream) -> None:
        if len(lines) >= connections_max:
            return
        line = Line(stream)
        lines.add(line)
        try:
            with line.scope:
                await TCPServer(handle, config, context, LifespanState({}), line)  # type: ignore[arg-type]
        finally:
            lines.discard(line)

    async with trio.open_nursery() as everything:
        everything.start_soon(cut_when_cancelled, lines)
        async with trio.open_nursery() as connections:
            async with trio.open_nursery() as accepting:
                listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(each)) for each in sockets]
                accepting.start_soon(partial(trio.serve_listeners, talk, listeners, handler_nursery=connections))
                task_status.started([f"http://{repr_socket_addr(each.family, each.getsockname())}" for each in sockets])
                await shutdown()
                accepting.cancel_scope.cancel()
            await context.terminated.set()
            everything.cancel_scope.deadline = trio.current_time() + config.graceful_timeout
        everything.cancel_scope.cancel()


async def cut_when_cancelled(lines: Collection[Line]) -> None:
    """Cut all connections when cancelled: a task that is sending would not notice otherwise."""
    try:
        await trio.sleep_forever()
    finally:
        for line in list(lines):
            line.cut()
