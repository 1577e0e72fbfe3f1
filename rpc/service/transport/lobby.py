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

from rpc.service.transport.guests import Guest, Guests
from rpc.service.transport.intake import Intake

# How many connections with news are looked at before everything else has its turn.
LOOKED_AT_ONCE_MAX = 256
# Enough to see whether a page is asked for.
PEEK_SIZE = 64
RECEIVE_SIZE = 1 << 16
SWEEP_SECONDS = 1.0

_SPEAKS = select.EPOLLIN | select.EPOLLONESHOT


class Newcomer:
    """A connection in the lobby."""

    __slots__ = ("descriptor", "guest", "is_watched", "line", "peer", "since")

    def __init__(self, line: socket.socket, peer: Any) -> None:
        self.line, self.peer = line, peer
        self.descriptor = line.fileno()
        self.since = trio.current_time()
        self.is_watched = False
        self.guest: Guest


Start = Callable[[Newcomer, bytes], None]


class Lobby:
    """Takes connections in, and hands each with its first bytes to `start` once the intake lets it; silent ones are closed in the end."""

    def __init__(self, guests: Guests, intake: Intake, start: Start, silent_seconds_max: float) -> None:
        self._guests, self._intake, self._start = guests, intake, start
        self._silent_seconds_max = silent_seconds_max
        self._epoll = select.epoll()
        # By descriptor, the oldest first. Guests bounds their number.
        self._here: dict[int, Newcomer] = {}

    def __len__(self) -> int:
        return len(self._here)

    def take(self, line: socket.socket, peer: Any) -> None:
        """Take in a connection; one for which there is no room, or that has been closed already, is closed."""
        newcomer = Newcomer(line, peer)
        guest = self._guests.enter(str(peer[0]), partial(self._drop, newcomer))
        if guest is None:
            line.close()
            return
        newcomer.guest = guest
        self._here[newcomer.descriptor] = newcomer
        self._look(newcomer)

    async def run(self) -> None:
        """Look after the connections here until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._sweep)
            while True:
                await trio.lowlevel.wait_readable(self._epoll.fileno())
                for descriptor, _ in self._epoll.poll(0, LOOKED_AT_ONCE_MAX):
                    newcomer = self._here.get(descriptor)
                    if newcomer is not None:
                        self._look(newcomer)
                await trio.lowlevel.checkpoint()

    def close(self) -> None:
        """Close all connections here."""
        for newcomer in list(self._here.values()):
            self._leave(newcomer)
        self._epoll.close()

    async def _sweep(self) -> None:
        """Close connections that were silent for too long."""
        while True:
            await trio.sleep(SWEEP_SECONDS)
            latest = trio.current_time() - self._silent_seconds_max
            for newcomer in list(self._here.values()):
                if newcomer.since > latest:
                    break
                self._leave(newcomer)

    def _look(self, newcomer: Newcomer) -> None:
        """See what a connection has to say."""
        try:
            said = newcomer.line.recv(PEEK_SIZE, socket.MSG_PEEK | socket.MSG_DONTWAIT)
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
            self._leave(newcomer)
        else:
            is_page = self._intake.is_for_page(said)
            self._intake.start(newcomer.guest.address, partial(self._begin, newcomer), is_page=is_page)

    def _begin(self, newcomer: Newcomer) -> None:
        """Let a connection begin, unless it has left in the meantime."""
        # Its descriptor may be another connection's by now.
        if self._here.get(newcomer.descriptor) is not newcomer:
            return
        self._forget(newcomer)
        try:
            data = newcomer.line.recv(RECEIVE_SIZE, socket.MSG_DONTWAIT)
        except OSError:
            data = b""
        if data:
            self._start(newcomer, data)
        else:
            self._guests.leave(newcomer.guest)
            newcomer.line.close()
            newcomer.guest.cut = _nothing

    def _leave(self, newcomer: Newcomer) -> None:
        self._guests.leave(newcomer.guest)
        self._drop(newcomer)

    def _drop(self, newcomer: Newcomer) -> None:
        """Close a connection, whose place was taken back."""
        self._forget(newcomer)
        newcomer.line.close()
        newcomer.guest.cut = _nothing  # else the two hold each other until a collection of garbage

    def _forget(self, newcomer: Newcomer) -> None:
        del self._here[newcomer.descriptor]
        if newcomer.is_watched:
            # Closing is not enough while a child process has the descriptor too.
            self._epoll.unregister(newcomer.descriptor)


def _nothing() -> None:
    """Do nothing."""
