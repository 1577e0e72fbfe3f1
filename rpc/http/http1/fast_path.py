"""The lane of calls: HTTP/1.1 requests by POST, which nearly every client sends, are read here and answered in the connection's own task.

Hypercorn takes three tasks and some 300 µs for a request; here it takes the time of the system calls, of trio's turn, and of the method.
A request that has arrived and can be answered at once is answered at once. Any other POST is an exchange with the gateway. Whatever else
a client sends (other methods, upgrades, HTTP/2, anything odd) is left for hypercorn, from its first byte on.
"""

from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import Protocol

import trio
from msgspec import Struct

from rpc.caller import Caller
from rpc.http.access import AccessPolicy
from rpc.http.connection import Connection
from rpc.http.connection_limits import ClientUsage, ConnectionLimiter
from rpc.http.http1.cycle import App, Event, RequestCycle
from rpc.http.http1.disconnects import DisconnectWatcher
from rpc.http.http1.heads import END, RequestHead, may_begin, read_head
from rpc.http.http1.replies import DateHeader, head
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.tasks import LogLimit, log_bug
from rpc.jsonrpc.dispatch import Reply, Service
from rpc.jsonrpc.eager import Completed, start_eagerly

# Clients send the same few heads again and again: what is decided for one is kept, which takes 10 µs. One of HEAD_KEPT_SIZE_MAX bytes
# can take 50 KB in memory, if its headers are as short as they can be.
HEADS_KEPT_MAX, HEAD_KEPT_SIZE_MAX = 512, 1 << 10
# A larger reply counts among what its connection holds until it is sent.
SMALL_SIZE_MAX = 1 << 13

_JSON = (b"content-type", b"application/json")


class FallbackApp(Protocol):
    """What answers requests that can't be answered at once."""

    service: Service
    access: AccessPolicy
    limiter: ConnectionLimiter

    async def __call__(self, scope: Event, receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]) -> None:
        """Answer a request."""

    async def finish(
        self,
        reply: Reply,
        size: int,
        scope: Event,
        receive: Callable[[], Awaitable[Event]],
        send: Callable[[Event], Awaitable[None]],
    ) -> None:
        """Send the reply to a request of a size when it is there."""


class RequestPlan(Struct, frozen=True):
    """What is decided for a head: what it says, who calls, and what stands in the reply before its size and after its date. `start_eagerly`
    is empty when the gateway has to refuse it.
    """

    head: RequestHead
    caller: Caller
    begin: bytes
    end: bytes


class Http1FastPath:
    """Answers calls."""

    def __init__(self, gateway: FallbackApp, input_scheduler: FairInputScheduler) -> None:
        self._gateway, self._input_scheduler = gateway, input_scheduler
        self._service, self._access, self._limiter = gateway.service, gateway.access, gateway.limiter
        self._dates = DateHeader()
        self._departures = DisconnectWatcher()
        self._kept = lru_cache(HEADS_KEPT_MAX)(self._decide)

    async def run(self) -> None:
        """Look after clients that wait, until cancelled."""
        await self._departures.run()

    async def __call__(self, connection: Connection, usage: ClientUsage, data: bytes, bugs: LogLimit) -> bytes | None:
        """Serve a connection as long as it sends calls."""
        client, port = connection.client[0], connection.server[1]
        while True:
            end = data.find(END) + len(END)
            if end < len(END):
                if data and not may_begin(data):
                    return data
                more = await connection.receive()
                if not more:
                    return data or None
                data += more
                continue
            decide = self._kept if end <= HEAD_KEPT_SIZE_MAX else self._decide
            call = decide(client, port, data[:end])
            if call is None:
                return data
            data = data[end:]
            rest = await self._answer(connection, usage, call, data, bugs)
            if rest is None or call.head.is_last or connection.is_ending:
                return None
            if rest:
                await self._input_scheduler.wait(usage.address)
            data = rest

    def _decide(self, client: str, port: int, data: bytes) -> RequestPlan | None:
        """Return what is decided for a head; None when it is left for hypercorn."""
        asked = read_head(data)
        if asked is None:
            return None
        scope = _scope(asked, (client, 0), ("", port))
        headers = self._access.cors(scope)
        begin = b"" if headers is None else head(200, [_JSON, *headers], b"content-length: ", is_last=False).removesuffix(b"\r\n")
        return RequestPlan(asked, self._access.caller(scope), begin, b"Connection: close\r\n\r\n" if asked.is_last else b"\r\n")

    async def _answer(self, connection: Connection, usage: ClientUsage, call: RequestPlan, data: bytes, bugs: LogLimit) -> bytes | None:
        """Answer a request of which some bytes after the head have arrived. Returns what follows it; None at the connection's end."""
        size = call.head.size
        if size is None or len(data) < size or call.head.waits or not call.begin or (call.head.is_last and len(data) > size):
            return await self._exchange(connection, usage, call, data, bugs, self._gateway)
        if not (self._service.is_free and self._limiter.has_room(usage)):
            return await self._exchange(connection, usage, call, data, bugs, self._gateway)
        usage.working += 1
        connection.begin_answer()
        try:
            reply = await self._service.answer_in_turn(data[:size], call.caller)
        finally:
            usage.working -= 1
        if not isinstance(reply, bytes) and self._limiter.has_room(usage):
            begun = start_eagerly(reply)
            if isinstance(begun, Completed):
                reply = begun.value
            else:
                connection.mark_idle(False)
                with self._limiter.working(usage), self._departures.watch(connection):
                    reply = await begun
        # A small reply is sent at once, and held by nobody.
        if not isinstance(reply, bytes) or len(reply) > SMALL_SIZE_MAX:
            return await self._exchange(connection, usage, call, data, bugs, partial(self._gateway.finish, reply, size))
        rest = connection.try_write(b"%b%d\r\n%b%b%b" % (call.begin, len(reply), self._dates.line(), call.end, reply))
        if rest:
            connection.mark_idle(False)
            await connection.write(rest)
        self._limiter.touch(usage)
        connection.end_answer(usage.since)
        return data[size:]

    async def _exchange(
        self, connection: Connection, usage: ClientUsage, call: RequestPlan, data: bytes, bugs: LogLimit, app: App
    ) -> bytes | None:
        """Let an app answer a request, which may still be arriving. Returns what follows it; None when the connection has to end."""
        cycle = RequestCycle(connection, call.head, self._dates)
        scope = _scope(call.head, connection.client, connection.server)
        scope["state"] = {"guest": usage}
        rest = None
        connection.mark_idle(False)
        try:
            rest = await cycle.run(app, scope, data)
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client has gone
        except* Exception as errors:
            log_bug(bugs, connection.client[0], errors)
            await cycle.fail()
        connection.mark_idle(True)
        return rest


def _scope(asked: RequestHead, client: tuple[str, int], server: tuple[str, int]) -> Event:
    """Return the ASGI scope of a request, as far as the gateway looks at it: by POST every path is the same."""
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/",
        "headers": asked.headers,
        "client": client,
        "server": server,
    }
