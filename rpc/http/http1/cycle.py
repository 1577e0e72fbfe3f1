"""ASGI cycle of a request that can't be answered at once, because its body is still arriving or its reply takes time.

The cycle runs in the connection's task. It replaces hypercorn for such requests.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import trio

from rpc.http.connection import SEND_AT_ONCE_SIZE, Connection
from rpc.http.http1.heads import RequestHead
from rpc.http.http1.replies import DateHeader, continue_response, failure, head

Event = dict[str, Any]
App = Callable[[Event, Callable[[], Awaitable[Event]], Callable[[Event], Awaitable[None]]], Awaitable[None]]

_BAD_REQUEST, _BUG = 400, 500
_DISCONNECT: Event = {"type": "http.disconnect"}


class RequestCycle:
    """Provides the `receive` and `send` functions of one request for an ASGI app."""

    def __init__(self, connection: Connection, request: RequestHead, dates: DateHeader) -> None:
        self._connection, self._request, self._dates = connection, request, dates
        self._missing = request.size  # number of the body's bytes that have not arrived
        self._piece = self._rest = b""
        self._is_body_delivered = False
        self._start: Event | None = None
        self._is_answered = self._is_over = False
        self._receive_scope = trio.CancelScope()

    async def run(self, app: App, scope: Event, data: bytes) -> bytes | None:
        """Run the app for a request whose body begins with `data`. Return the bytes after the request, or None to end the connection."""
        if self._request.waits:
            await self._connection.write(continue_response(self._dates.line()))
        await self._feed(data)
        if not self._is_over:
            await app(scope, self._receive, self._send)
        if not self._is_answered or self._request.is_last or self._missing:
            return None
        return self._rest

    async def fail(self) -> None:
        """Send status 500, unless the response has begun."""
        if self._start is None and not self._is_over:
            await self._refuse(_BUG)

    async def _receive(self) -> Event:
        """Return the next chunk of the body. After the last one, wait until the client disconnects or the response is complete."""
        with trio.CancelScope() as self._receive_scope:
            while not (self._is_over or self._is_answered):
                if self._piece or not (self._missing or self._is_body_delivered):
                    piece, self._piece = self._piece, b""
                    self._is_body_delivered = not self._missing
                    return {"type": "http.request", "body": piece, "more_body": not self._is_body_delivered}
                if self._is_body_delivered:
                    # If the client has already sent another request, its disconnect isn't detected.
                    await (trio.sleep_forever() if self._rest else self._connection.wait_closed())
                    break
                await self._receive_body()
        return _DISCONNECT

    async def _receive_body(self) -> None:
        """Receive more bytes of the body. Refuse the request if the input ends."""
        try:
            data = await self._connection.receive()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._is_over = True
            return
        if data:
            await self._feed(data)
        else:
            await self._refuse(_BAD_REQUEST)

    async def _feed(self, data: bytes) -> None:
        """Split received bytes into a chunk of the body, and the bytes that follow the end of the body."""
        self._piece, self._rest = data[: self._missing], data[self._missing :]
        self._missing -= len(self._piece)
        if self._rest and self._request.is_last:
            await self._refuse(_BAD_REQUEST)  # `Connection: close` announced that this request is the last one

    async def _refuse(self, status: int) -> None:
        """End the request with an error status instead of the app's response."""
        self._is_over = True
        if self._start is None:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await self._connection.write(failure(status, self._dates.line(), is_last=self._request.is_last))

    async def _send(self, event: Event) -> None:
        """Send the app's response, which consists of two events: the head, and the complete body."""
        if self._is_over:
            return
        if self._start is None:
            self._start = event
            return
        start, body = self._start, event["body"]
        begin = head(start["status"], start["headers"], self._dates.line(), is_last=self._request.is_last)
        if len(begin) + len(body) <= SEND_AT_ONCE_SIZE:
            await self._connection.write(begin + body)
        else:
            await self._connection.write(begin, body)
        self._is_answered = True
        self._receive_scope.cancel()
