"""Accepted connections that have sent nothing, or whose first bytes are queued. Each costs a socket and a dict entry, no task.

The operating system has a short queue of unaccepted connections. If it is full, new connections are dropped and retried a second later. So
accepting a connection must cost the node much less than opening it costs the client.
"""

import select
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import trio

from rpc.http.connection_limits import ClientUsage, ConnectionLimiter
from rpc.http.input_scheduler import FairInputScheduler

# Ready connections that are handled without a checkpoint.
LOOKED_AT_ONCE_MAX = 256
# Bytes that are enough to recognise a request for a page.
PEEK_SIZE = 64
# Bytes. The first received bytes stay in memory as long as the connection.
RECEIVE_SIZE = 1 << 14
SWEEP_SECONDS = 1.0

_SPEAKS = select.EPOLLIN | select.EPOLLONESHOT


class IdleConnection:
    """An accepted connection without a task."""

    __slots__ = ("descriptor", "is_watched", "peer", "since", "sock", "usage")

    def __init__(self, line: socket.socket, peer: Any) -> None:
        self.sock, self.peer = line, peer
        self.descriptor = line.fileno()
        self.since = trio.current_time()
        self.is_watched = False
        self.usage: ClientUsage


Start = Callable[[IdleConnection, bytes], None]


class IdleConnections:
    """Holds new connections, and passes each with its first bytes to `start` once the input scheduler admits it. Silent ones time out."""

    def __init__(self, limiter: ConnectionLimiter, input_scheduler: FairInputScheduler, start: Start, silent_seconds_max: float) -> None:
        self._limiter, self._input_scheduler, self._start = limiter, input_scheduler, start
        self._silent_seconds_max = silent_seconds_max
        self._epoll = select.epoll()
        # By descriptor, oldest first. ConnectionLimiter limits their number.
        self._here: dict[int, IdleConnection] = {}

    def __len__(self) -> int:
        return len(self._here)

    def add(self, line: socket.socket, peer: Any) -> None:
        """Add a connection. Close it if the limits are reached, or if the client has closed it already."""
        newcomer = IdleConnection(line, peer)
        usage = self._limiter.register(str(peer[0]), partial(self._drop, newcomer))
        if usage is None:
            line.close()
            return
        newcomer.usage = usage
        self._here[newcomer.descriptor] = newcomer
        self._peek(newcomer)

    async def run(self) -> None:
        """Wait for input of the connections until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._sweep)
            while True:
                await trio.lowlevel.wait_readable(self._epoll.fileno())
                for descriptor, _ in self._epoll.poll(0, LOOKED_AT_ONCE_MAX):
                    newcomer = self._here.get(descriptor)
                    if newcomer is not None:
                        self._peek(newcomer)
                await trio.lowlevel.checkpoint()

    def close(self) -> None:
        """Close all connections."""
        for newcomer in list(self._here.values()):
            self._unwatch(newcomer)
        self._epoll.close()

    async def _sweep(self) -> None:
        """Close connections that have been silent for too long."""
        while True:
            await trio.sleep(SWEEP_SECONDS)
            latest = trio.current_time() - self._silent_seconds_max
            for newcomer in list(self._here.values()):
                if newcomer.since > latest:
                    break
                self._unwatch(newcomer)

    def _peek(self, newcomer: IdleConnection) -> None:
        """Submit the first input of a connection to the scheduler, or watch the connection if there is none yet."""
        try:
            said = newcomer.sock.recv(PEEK_SIZE, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            if newcomer.is_watched:
                self._epoll.modify(newcomer.descriptor, _SPEAKS)
            else:
                self._epoll.register(newcomer.descriptor, _SPEAKS)
                newcomer.is_watched = True
            return
        except OSError:
            said = b""
        if not said:
            self._unwatch(newcomer)
        else:
            is_page = self._input_scheduler.is_for_page(said)
            self._input_scheduler.submit(newcomer.usage.address, partial(self._begin, newcomer), is_page=is_page)

    def _begin(self, newcomer: IdleConnection) -> None:
        """Start a connection, unless it has closed in the meantime."""
        # The descriptor may now belong to another connection.
        if self._here.get(newcomer.descriptor) is not newcomer:
            return
        self._forget(newcomer)
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

    def _unwatch(self, newcomer: IdleConnection) -> None:
        self._limiter.unregister(newcomer.usage)
        self._drop(newcomer)

    def _drop(self, newcomer: IdleConnection) -> None:
        """Close a connection that is already unregistered."""
        self._forget(newcomer)
        newcomer.sock.close()
        newcomer.usage.abort = _nothing  # breaks the reference cycle

    def _forget(self, newcomer: IdleConnection) -> None:
        del self._here[newcomer.descriptor]
        if newcomer.is_watched:
            # Closing is not enough while a child process also has the descriptor.
            self._epoll.unregister(newcomer.descriptor)


def _nothing() -> None:
    """Do nothing."""
