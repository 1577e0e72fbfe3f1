"""Connections that were accepted and have not said anything yet, or wait until their first words are worked on. Each costs a socket and an
entry here: no task, no protocol. It knows neither protocols nor requests.

The operating system keeps a short queue of connections that nobody has accepted; when it is full, newcomers are dropped and try again a
second later. So whoever only opens connections must cost much less than opening them does.
"""

import select
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import trio

from rpc.http.connection_limits import ClientUsage, ConnectionLimiter
from rpc.http.input_scheduler import FairInputScheduler

# How many connections with news are looked at before everything else has its turn.
LOOKED_AT_ONCE_MAX = 256
# Enough to see whether a page is asked for.
PEEK_SIZE = 64
# The first bytes stay in memory as long as the connection does.
RECEIVE_SIZE = 1 << 14
SWEEP_SECONDS = 1.0

_SPEAKS = select.EPOLLIN | select.EPOLLONESHOT


class IdleConnection:
    """A connection in the lobby."""

    __slots__ = ("descriptor", "is_watched", "peer", "since", "sock", "usage")

    def __init__(self, line: socket.socket, peer: Any) -> None:
        self.sock, self.peer = line, peer
        self.descriptor = line.fileno()
        self.since = trio.current_time()
        self.is_watched = False
        self.usage: ClientUsage


Start = Callable[[IdleConnection, bytes], None]


class IdleConnections:
    """Takes connections in, and hands each with its first bytes to `start` once the intake lets it; silent ones are closed in the end."""

    def __init__(self, limiter: ConnectionLimiter, input_scheduler: FairInputScheduler, start: Start, silent_seconds_max: float) -> None:
        self._limiter, self._input_scheduler, self._start = limiter, input_scheduler, start
        self._silent_seconds_max = silent_seconds_max
        self._epoll = select.epoll()
        # By descriptor, the oldest first. Guests bounds their number.
        self._here: dict[int, IdleConnection] = {}

    def __len__(self) -> int:
        return len(self._here)

    def add(self, line: socket.socket, peer: Any) -> None:
        """Take in a connection; one for which there is no room, or that has been closed already, is closed."""
        newcomer = IdleConnection(line, peer)
        usage = self._limiter.register(str(peer[0]), partial(self._drop, newcomer))
        if usage is None:
            line.close()
            return
        newcomer.usage = usage
        self._here[newcomer.descriptor] = newcomer
        self._peek(newcomer)

    async def run(self) -> None:
        """Look after the connections here until cancelled."""
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
        """Close all connections here."""
        for newcomer in list(self._here.values()):
            self._unwatch(newcomer)
        self._epoll.close()

    async def _sweep(self) -> None:
        """Close connections that were silent for too long."""
        while True:
            await trio.sleep(SWEEP_SECONDS)
            latest = trio.current_time() - self._silent_seconds_max
            for newcomer in list(self._here.values()):
                if newcomer.since > latest:
                    break
                self._unwatch(newcomer)

    def _peek(self, newcomer: IdleConnection) -> None:
        """See what a connection has to say."""
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
        """Let a connection begin, unless it has left in the meantime."""
        # Its descriptor may be another connection's by now.
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
        """Close a connection, whose place was taken back."""
        self._forget(newcomer)
        newcomer.sock.close()
        newcomer.usage.abort = _nothing  # else the two hold each other until a collection of garbage

    def _forget(self, newcomer: IdleConnection) -> None:
        del self._here[newcomer.descriptor]
        if newcomer.is_watched:
            # Closing is not enough while a child process has the descriptor too.
            self._epoll.unregister(newcomer.descriptor)


def _nothing() -> None:
    """Do nothing."""
