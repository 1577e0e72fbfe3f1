"""Accepts connections, lets them in as far as there is room, and runs them until the node ends. It knows neither protocols nor requests."""

import errno
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import trio
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ASGIFramework
from hypercorn.utils import repr_socket_addr, wrap_app

from rpc.service.transport.connection import Complaints, Connection, Lane
from rpc.service.transport.guests import Guest, Guests
from rpc.service.transport.intake import Intake
from rpc.service.transport.lobby import Lobby, Newcomer
from rpc.service.transport.sockets.lane import SocketLane

# How many connections are accepted before everything else has its turn: some 10 ms of work.
ACCEPTED_AT_ONCE_MAX = 256
# After the operating system had no room for a connection.
FULL_SECONDS = 0.1
# A peer that is silent is asked after so many seconds, and given up after so many questions without an answer.
ALIVE_SECONDS, ALIVE_QUESTIONS_MAX = 60, 4

_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, ALIVE_SECONDS),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, ALIVE_SECONDS // ALIVE_QUESTIONS_MAX),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, ALIVE_QUESTIONS_MAX),
)


async def listen(
    app: ASGIFramework,
    socket_lane: SocketLane,
    config: Config,
    guests: Guests,
    intake: Intake,
    *,
    lanes: Sequence[Lane] = (),
    is_http2: bool = False,
    shutdown: Callable[[], Awaitable[object]] = trio.sleep_forever,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve lanes, WebSockets, and an ASGI app for what they leave, until cancelled, or until `shutdown` returns: then open requests have
    `config.graceful_timeout` seconds.

    Reports the addresses ("http://...") once connections are taken. One for which there is no room is closed at once.
    """
    handle = wrap_app(app, config.wsgi_max_body_size, "asgi")
    context = WorkerContext(None)
    complaints = Complaints()
    sockets = config.create_sockets().insecure_sockets
    for each in sockets:
        _prepare(each, config.backlog)
    connections: set[Connection] = set()

    async def serve(connection: Connection, guest: Guest, data: bytes) -> None:
        try:
            await connection.run(guest, data, handle, socket_lane, context, complaints, is_http2=is_http2)
        finally:
            connections.discard(connection)

    async with trio.open_nursery() as everything, trio.open_nursery() as nursery:

        def begin(newcomer: Newcomer, data: bytes) -> None:
            connection = Connection(newcomer.line, newcomer.peer, config, guests, intake, lanes)
            newcomer.guest.cut = connection.cut
            connections.add(connection)
            nursery.start_soon(serve, connection, newcomer.guest, data)

        lobby = Lobby(guests, intake, begin, config.keep_alive_timeout)
        try:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(lobby.run)
                for each in sockets:
                    accepting.start_soon(_accept, each, lobby.take)
                task_status.started([f"http://{repr_socket_addr(each.family, each.getsockname())}" for each in sockets])
                await shutdown()
                accepting.cancel_scope.cancel()
        finally:
            for each in sockets:
                each.close()
            lobby.close()
        await context.terminated.set()
        for connection in list(connections):
            connection.end_when_idle()
        everything.cancel_scope.deadline = trio.current_time() + config.graceful_timeout


def _prepare(listener: socket.socket, backlog: int) -> None:
    """Make a socket listen; its connections take over its options."""
    listener.setblocking(False)
    for option in _KEEP_ALIVE:
        listener.setsockopt(*option)
    listener.listen(backlog)


async def _accept(listener: socket.socket, take: Callable[[socket.socket, Any], None]) -> None:
    """Accept connections for ever: many at a time, since a client that waits behind others has not been heard yet."""
    while True:
        await trio.lowlevel.wait_readable(listener)
        for _ in range(ACCEPTED_AT_ONCE_MAX):
            try:
                accepted, peer = listener.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in _FULL:
                    await trio.sleep(FULL_SECONDS)
                    break
                continue  # that client has left already
            take(accepted, peer)
        await trio.lowlevel.checkpoint()
