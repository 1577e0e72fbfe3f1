"""Detects clients that disconnect while a reply is pending.

One task watches all connections, since a task per client would add 110 µs to a request that takes 70 µs.
"""

import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import trio

from rpc.http.connection import Connection

READY_AT_ONCE_MAX = 256

_SPEAKS_OR_LEAVES = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLONESHOT


class DisconnectWatcher:
    """Watches connections for disconnects. The task that runs `run` does the work."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        # Watched connections by file descriptor. Their number is limited by the limit on open requests.
        self._watched: dict[int, Connection] = {}

    async def run(self) -> None:
        """Cancel the watched connections whose clients disconnect. Runs until it is cancelled."""
        while True:
            await trio.lowlevel.wait_readable(self._epoll.fileno())
            for descriptor, _ in self._epoll.poll(0, READY_AT_ONCE_MAX):
                connection = self._watched.get(descriptor)
                # A client that has sent another request is no longer watched. Hypercorn behaves in the same way, since it stops reading
                # then.
                if connection is not None and connection.is_disconnected():
                    connection.scope.cancel()
            await trio.lowlevel.checkpoint()

    @contextmanager
    def watch(self, connection: Connection) -> Iterator[None]:
        """Context manager that cancels the connection, and with it the body of the `with` statement, if the client disconnects."""
        descriptor = connection.fileno()
        self._watched[descriptor] = connection
        if descriptor >= 0:
            # If the operating system is out of resources, disconnects aren't detected. The call has begun, so its reply must be awaited
            # anyway.
            with suppress(OSError):
                self._epoll.register(descriptor, _SPEAKS_OR_LEAVES)
        try:
            yield
        finally:
            # If the connection has been aborted in the meantime, its descriptor may belong to another connection.
            if self._watched.get(descriptor) is connection:
                del self._watched[descriptor]
                if connection.fileno() >= 0:
                    with suppress(OSError):
                        self._epoll.unregister(descriptor)
