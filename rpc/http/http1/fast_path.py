"""Fast path for calls: parses plain HTTP/1.1 POST requests, which nearly every client sends, and answers them in the connection's task.

Hypercorn takes three tasks and some 300 µs for a request. The fast path takes the time of the system calls, of a switch by trio, and of the
method. A complete request is answered at once if possible; any other POST runs as a `RequestCycle` of the ASGI app. Everything else
(other methods, bodies in chunks, upgrades, HTTP/2, unusual heads) is left to hypercorn, from the first byte of the request on.
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
from rpc.jsonrpc.batch import Reply
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.eager import Completed, start_eagerly

# Clients repeat a few heads, so the plan of a head, which takes 10 µs, is cached. The plan of a head of HEAD_KEPT_SIZE_MAX bytes can take
# 50 KB in memory, if its headers are as short as possible.
HEADS_KEPT_MAX, HEAD_KEPT_SIZE_MAX = 512, 1 << 10
# Larger replies (bytes) count against the limits of the connection until they are sent.
SMALL_SIZE_MAX = 1 << 13

_JSON = (b"content-type", b"application/json")


class FallbackApp(Protocol):
    """App that answers requests that can't be answered at once."""

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
        """Wait for the reply to a request of `size` bytes, and send it."""


class RequestPlan(Struct, frozen=True):
    """Plan for a request head: the parsed head, the caller, and the reply's head before its size and after its date. `begin` is empty if
    the app must refuse the request.
    """

    head: RequestHead
    caller: Caller
    begin: bytes
    end: bytes


class Http1FastPath:
    """Protocol handler of calls by HTTP/1.1 POST."""

    def __init__(self, gateway: FallbackApp, input_scheduler: FairInputScheduler) -> None:
        self._gateway, self._input_scheduler = gateway, input_scheduler
        self._service, self._access, self._limiter = gateway.service, gateway.access, gateway.limiter
        self._dates = DateHeader()
        self._departures = DisconnectWatcher()
        self._kept = lru_cache(HEADS_KEPT_MAX)(self._decide)

    async def run(self) -> None:
        """Watch waiting clients for disconnects, until cancelled."""
        await self._departures.run()

    async def __call__(self, connection: Connection, usage: ClientUsage, data: bytes, bugs: LogLimit) -> bytes | None:
        """Serve a connection while it sends calls. Return the first bytes that are left to hypercorn, or None at the connection's end."""
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
        """Return the plan for a head; None if it is left to hypercorn."""
        asked = read_head(data)
        if asked is None:
            return None
        scope = _scope(asked, (client, 0), ("", port))
        headers = self._access.cors(scope)
        begin = b"" if headers is None else head(200, [*headers, _JSON], b"content-length: ", is_last=False).removesuffix(b"\r\n")
        return RequestPlan(asked, self._access.caller(scope), begin, b"Connection: close\r\n\r\n" if asked.is_last else b"\r\n")

    async def _answer(self, connection: Connection, usage: ClientUsage, call: RequestPlan, data: bytes, bugs: LogLimit) -> bytes | None:
        """Answer a request whose body begins with `data`. Return the bytes after the request, or None at the connection's end."""
        size = call.head.size
        if len(data) < size or call.head.waits or not call.begin or (call.head.is_last and len(data) > size):
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
        # A small reply is sent at once, so it isn't counted.
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
        """Run the app for a request that may still be arriving. Return the bytes after the request, or None to end the connection."""
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
    """Return the members of the ASGI scope that the app uses. All paths are equivalent for POST."""
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/",
        "headers": asked.headers,
        "client": client,
        "server": server,
    }
