"""Accepts connections, up to the limits, and serves them until the node stops."""

import errno
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import trio

from rpc.http.connection import Connection, ErrorLog, ProtocolHandler
from rpc.http.connection_limits import ClientUsage, ConnectionLimiter
from rpc.http.idle_connections import IdleConnection, IdleConnections
from rpc.http.input_scheduler import FairInputScheduler

# Size of the accept queue. The operating system may allow less (net.core.somaxconn). The node accepts this number in about half a second.
BACKLOG_MAX = 16_384
GRACE_SECONDS_MAX = 3
# Number of connections to accept without a checkpoint. Accepting them takes some 10 ms.
ACCEPTED_AT_ONCE_MAX = 256
# Pause after the operating system has run out of file descriptors or memory, in seconds.
FULL_SECONDS = 0.1
# TCP keep-alive: seconds of silence before the first probe, and the number of unanswered probes after which the connection is closed.
ALIVE_SECONDS, ALIVE_QUESTIONS_MAX = 60, 4

_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
# A name may resolve to an address family that this machine doesn't have.
_ABSENT = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
_KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, ALIVE_SECONDS),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, ALIVE_SECONDS // ALIVE_QUESTIONS_MAX),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, ALIVE_QUESTIONS_MAX),
)


# Called with each accepted connection and the address of its client.
Take = Callable[[socket.socket, Any], None]


class Acceptor(Protocol):
    """A source of accepted connections."""

    @property
    def addresses(self) -> list[str]:
        """The URLs to which clients can connect ("http://...")."""

    async def run(self, take: Take) -> None:
        """Accept connections and pass each to `take`. Runs until it is cancelled."""

    def close(self) -> None:
        """Stop accepting connections."""


# Opens an acceptor for a host and a port. Raises OSError.
OpenAcceptor = Callable[[str, int], Acceptor]


class Listener:
    """Accepts connections at a host and a port. If the host is a name, `hosts` are all addresses to which it resolves.

    Addresses that this machine doesn't have are skipped. If `hand_off` returns True for a connection, another process has taken it over.
    """

    def __init__(
        self, host: str, port: int, hand_off: Callable[[socket.socket, Any], bool] | None = None, hosts: Sequence[str] = ()
    ) -> None:
        self._listeners = _listeners(hosts or (host,), port)
        self._hand_off = hand_off
        self.addresses = [f"http://{address(*listener.getsockname()[:2])}" for listener in self._listeners]

    async def run(self, take: Take) -> None:
        """Accept connections and pass each to `take`. Runs until it is cancelled."""
        hand_on = self._hand_off

        def take_or_hand_on(line: socket.socket, peer: Any) -> None:
            if hand_on is None or not hand_on(line, peer):
                take(line, peer)

        async with trio.open_nursery() as nursery:
            for listener in self._listeners:
                nursery.start_soon(_accept, listener, take if hand_on is None else take_or_hand_on)

    def close(self) -> None:
        """Stop accepting connections."""
        for listener in self._listeners:
            listener.close()


async def listen(
    acceptor: Acceptor,
    handlers: Sequence[ProtocolHandler],
    limiter: ConnectionLimiter,
    input_scheduler: FairInputScheduler,
    idle_seconds_max: float,
    *,
    shutdown: Callable[[], Awaitable[object]] = trio.sleep_forever,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve connections with protocol handlers until cancelled, or until `shutdown` returns. Requests that are open then have
    GRACE_SECONDS_MAX to finish.

    Reports the addresses ("http://...") once connections are accepted. Connections beyond the limits are closed at once.
    """
    error_log = ErrorLog()
    connections: set[Connection] = set()

    async def serve(connection: Connection, usage: ClientUsage, data: bytes) -> None:
        try:
            await connection.run(usage, data, error_log)
        finally:
            connections.discard(connection)

    async with trio.open_nursery() as everything, trio.open_nursery() as nursery:

        def begin(newcomer: IdleConnection, data: bytes) -> None:
            connection = Connection(newcomer.sock, newcomer.peer, idle_seconds_max, limiter, input_scheduler, handlers)
            newcomer.usage.abort = connection.abort
            connections.add(connection)
            nursery.start_soon(serve, connection, newcomer.usage, data)

        idle_connections = IdleConnections(limiter, input_scheduler, begin, idle_seconds_max)
        try:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(idle_connections.run)
                accepting.start_soon(acceptor.run, idle_connections.add)
                task_status.started(acceptor.addresses)
                await shutdown()
                accepting.cancel_scope.cancel()
        finally:
            acceptor.close()
            idle_connections.close()
        for connection in list(connections):
            connection.end_when_idle()
        everything.cancel_scope.deadline = trio.current_time() + GRACE_SECONDS_MAX


def address(host: str, port: int) -> str:
    """Format host and port in the form of a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listeners(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """Return a listening socket for each host address that this machine has. All sockets have the same port.

    Raises OSError if an address can't be bound, or if this machine has none of them.
    """
    listeners: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for host in hosts:
            try:
                listeners.append(_listener(host, listeners[0].getsockname()[1] if listeners else port))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                missing = missing or error
        if missing is not None and not listeners:
            raise missing
    except BaseException:
        for listener in listeners:
            listener.close()
        raise
    return listeners


def _listener(host: str, port: int) -> socket.socket:
    """Return a listening socket. Accepted connections inherit its options. Raises OSError."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setblocking(False)
        for option in _KEEP_ALIVE:
            listener.setsockopt(*option)
        listener.bind((host, port))
        listener.listen(BACKLOG_MAX)
    except BaseException:
        listener.close()
        raise
    return listener


async def _accept(listener: socket.socket, take: Take) -> None:
    """Accept connections until cancelled. Accepts many in a row, to keep the accept queue short."""
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
                continue  # the client has already disconnected
            take(accepted, peer)
        await trio.lowlevel.checkpoint()
