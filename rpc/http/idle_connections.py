"""Accepted connections that have sent nothing yet, or whose first bytes are queued. Each costs a socket and a dict entry, but no task.

The operating system has a short queue of connections to accept. If it is full, new connections are dropped, and clients retry a second
later. Accepting a connection must therefore cost the node much less than it costs the client to open it.
"""

import select
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import trio

from rpc.http.connection_limits import ClientUsage, ConnectionLimiter
from rpc.http.input_scheduler import FairInputScheduler

# Maximum number of connections with input to handle without a checkpoint.
READY_AT_ONCE_MAX = 256
# Number of bytes sufficient to recognise a request for a page.
PEEK_SIZE = 64
# In bytes. The first received bytes stay in memory as long as the connection.
RECEIVE_SIZE = 1 << 14
SWEEP_SECONDS = 1.0

_READABLE = select.EPOLLIN | select.EPOLLONESHOT


class IdleConnection:
    """An accepted connection that has no task yet."""

    __slots__ = ("descriptor", "is_watched", "peer", "since", "sock", "usage")

    def __init__(self, sock: socket.socket, peer: Any) -> None:
        self.sock, self.peer = sock, peer
        self.descriptor = sock.fileno()
        self.since = trio.current_time()
        self.is_watched = False
        self.usage: ClientUsage


Start = Callable[[IdleConnection, bytes], None]


class IdleConnections:
    """Holds new connections. When the scheduler admits a connection, it is passed with its first bytes to `start`. Silent connections time
    out.
    """

    def __init__(self, limiter: ConnectionLimiter, input_scheduler: FairInputScheduler, start: Start, silent_seconds_max: float) -> None:
        self._limiter, self._input_scheduler, self._start = limiter, input_scheduler, start
        self._silent_seconds_max = silent_seconds_max
        self._epoll = select.epoll()
        # Idle connections by file descriptor, oldest first. ConnectionLimiter limits their number.
        self._connections: dict[int, IdleConnection] = {}

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, sock: socket.socket, peer: Any) -> None:
        """Add an accepted connection. Close it if a limit is reached or the client has already closed it."""
        newcomer = IdleConnection(sock, peer)
        usage = self._limiter.register(str(peer[0]), partial(self._drop, newcomer))
        if usage is None:
            sock.close()
            return
        newcomer.usage = usage
        self._connections[newcomer.descriptor] = newcomer
        self._peek(newcomer)

    async def run(self) -> None:
        """Wait for input on the connections. Runs until it is cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._sweep)
            while True:
                await trio.lowlevel.wait_readable(self._epoll.fileno())
                for descriptor, _ in self._epoll.poll(0, READY_AT_ONCE_MAX):
                    newcomer = self._connections.get(descriptor)
                    if newcomer is not None:
                        self._peek(newcomer)
                await trio.lowlevel.checkpoint()

    def close(self) -> None:
        """Close all connections."""
        for newcomer in list(self._connections.values()):
            self._close(newcomer)
        self._epoll.close()

    async def _sweep(self) -> None:
        """Close connections that have been silent for too long. Runs periodically."""
        while True:
            await trio.sleep(SWEEP_SECONDS)
            latest = trio.current_time() - self._silent_seconds_max
            for newcomer in list(self._connections.values()):
                if newcomer.since > latest:
                    break
                self._close(newcomer)

    def _peek(self, newcomer: IdleConnection) -> None:
        """Submit a connection with input to the scheduler. If no input has arrived yet, watch the connection."""
        try:
            data = newcomer.sock.recv(PEEK_SIZE, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            if newcomer.is_watched:
                self._epoll.modify(newcomer.descriptor, _READABLE)
            else:
                self._epoll.register(newcomer.descriptor, _READABLE)
                newcomer.is_watched = True
            return
        except OSError:
            data = b""
        if not data:
            self._close(newcomer)
        else:
            is_page = self._input_scheduler.is_for_page(data)
            self._input_scheduler.submit(newcomer.usage.address, partial(self._receive_first, newcomer), is_page=is_page)

    def _receive_first(self, newcomer: IdleConnection) -> None:
        """Receive the first bytes of an admitted connection and start it, unless it has been closed in the meantime."""
        # The descriptor may now belong to another connection.
        if self._connections.get(newcomer.descriptor) is not newcomer:
            return
        self._remove(newcomer)
        try:
            data = newcomer.sock.recv(RECEIVE_SIZE, socket.MSG_DONTWAIT)
        except OSError:
            data = b""
        if data:
            self._start(newcomer, data)
        else:
            self._limiter.unregister(newcomer.usage)
            newcomer.sock.close()
            newcomer.usage.abort = _nothing

    def _close(self, newcomer: IdleConnection) -> None:
        self._limiter.unregister(newcomer.usage)
        self._drop(newcomer)

    def _drop(self, newcomer: IdleConnection) -> None:
        """Close a connection after the limiter has unregistered it."""
        self._remove(newcomer)
        newcomer.sock.close()
        newcomer.usage.abort = _nothing  # break the reference cycle

    def _remove(self, newcomer: IdleConnection) -> None:
        del self._connections[newcomer.descriptor]
        if newcomer.is_watched:
            # Unregister explicitly: closing isn't sufficient while a child process also has the descriptor.
            self._epoll.unregister(newcomer.descriptor)


def _nothing() -> None:
    """Do nothing. Takes the place of a closed connection's `abort`."""
