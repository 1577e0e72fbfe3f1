"""The transport of requests to a source: reused HTTP connections. Tests pass one that calls a service in their process."""

from typing import NamedTuple, Protocol

import trio

from node.client.errors import Unreachable
from node.client.http import IDLE_SECONDS_MAX, reason
from node.client.trio_http import Connection
from rpc.jsonrpc.scheduler import ReplyScheduler

CONNECTIONS_MAX = 4


class HttpReply(NamedTuple):
    """A reply: its HTTP status, its header Retry-After ("" if it has none), and its body."""

    status: int
    retry_after: str
    body: bytes


class Transport(Protocol):
    """Sends the bodies of requests to a source. Several requests can be sent at once."""

    async def post(self, body: bytes, size_max: int) -> HttpReply:
        """Send a request and return the reply. Raises Unreachable if there is none, NoNode if it is not HTTP, and TooLarge if its body has
        more than `size_max` bytes. The caller limits the time.
        """

    async def close(self) -> None:
        """Close all connections."""


class HttpTransport:
    """HTTP connections to a node, at most CONNECTIONS_MAX at once. Replies are processed in time slices of `scheduler`."""

    def __init__(self, url: str, scheduler: ReplyScheduler) -> None:
        self._url, self._scheduler = url, scheduler
        self._limiter = trio.CapacityLimiter(CONNECTIONS_MAX)
        self._idle: list[tuple[Connection, float]] = []  # with the times of their last replies

    async def post(self, body: bytes, size_max: int) -> HttpReply:
        """Send a request over an idle connection, or over a new one if there is none."""
        async with self._limiter:
            connection = await self._connection()
            is_usable = False
            try:
                reply = HttpReply(body=await connection.post(body, size_max), status=connection.status, retry_after=connection.retry_after)
                is_usable = True
            except (OSError, trio.BrokenResourceError) as error:
                raise Unreachable(f"the connection to {connection.url} has ended ({reason(error)})") from None
            finally:
                if is_usable:
                    self._idle.append((connection, trio.current_time()))
                else:
                    await connection.close()
            return reply

    async def close(self) -> None:
        """Close all idle connections."""
        while self._idle:
            await self._idle.pop()[0].close()

    async def _connection(self) -> Connection:
        while self._idle:
            connection, used = self._idle.pop()
            if trio.current_time() - used <= IDLE_SECONDS_MAX:
                return connection
            await connection.close()
        return Connection(self._url, self._scheduler)
