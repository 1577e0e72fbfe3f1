"""Fast path for calls: parses plain HTTP/1.1 POST requests, which nearly all clients send, and answers them in the connection's task.

Hypercorn takes three tasks and some 300 µs per request. The fast path takes only the time of the system calls, one task switch by trio, and
the method. A complete request is answered at once if possible. Any other POST runs as a `RequestCycle` of the ASGI app. All other input
(other methods, chunked bodies, upgrades, HTTP/2, unusual heads) is passed to hypercorn, from the first byte of the request on.
"""

from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import Protocol

import trio
from msgspec import Struct

from rpc.caller import Caller
from rpc.http.access import AccessPolicy
from rpc.http.connection import SEND_AT_ONCE_SIZE, Connection
from rpc.http.connection_limits import ClientResource, ClientUsage, ConnectionLimiter
from rpc.http.http1.cycle import App, Event, RequestCycle
from rpc.http.http1.disconnects import DisconnectWatcher
from rpc.http.http1.heads import END, RequestHead, may_begin, read_head
from rpc.http.http1.replies import DateHeader, head
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.tasks import LogLimit, log_bug
from rpc.jsonrpc.batch import Reply
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.eager import Completed, start_eagerly
from rpc.jsonrpc.memory import Overloaded

# Clients repeat a few heads, so the plan for a head, which takes 10 µs to make, is cached. The plan for a head of HEAD_KEPT_SIZE_MAX bytes
# can use 50 KB of memory if its headers are as short as possible.
HEADS_KEPT_MAX, HEAD_KEPT_SIZE_MAX = 512, 1 << 10
# Replies larger than this, in bytes, count towards the client's limits until they are sent. Up to AT_ONCE_SIZE_MAX, only a reply that the
# operating system doesn't accept at once counts. The heads of replies are smaller than the difference to the limit of the connection.
SMALL_SIZE_MAX, AT_ONCE_SIZE_MAX = 1 << 13, SEND_AT_ONCE_SIZE - (1 << 12)

_JSON = (b"content-type", b"application/json")


class FallbackApp(Protocol):
    """ASGI app for requests that can't be answered at once."""

    service: Service
    access: AccessPolicy
    limiter: ConnectionLimiter

    async def __call__(self, scope: Event, receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]) -> None:
        """Serve a request."""

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
    """What to do with requests that have the same head: the parsed head, the caller, and the fixed parts of the reply's head.

    The reply's head is `begin`, the content length, the date and `end`. `begin` is empty if the app must refuse the request.
    """

    head: RequestHead
    caller: Caller
    begin: bytes
    end: bytes


class Http1FastPath:
    """Protocol handler for calls over HTTP/1.1 POST."""

    def __init__(self, gateway: FallbackApp, input_scheduler: FairInputScheduler) -> None:
        self._gateway, self._input_scheduler = gateway, input_scheduler
        self._service, self._access, self._limiter = gateway.service, gateway.access, gateway.limiter
        self._dates = DateHeader()
        self._disconnect_watcher = DisconnectWatcher()
        self._cached_plan = lru_cache(HEADS_KEPT_MAX)(self._make_plan)

    async def run(self) -> None:
        """Watch the clients that wait for a reply, and detect when they disconnect. Runs until it is cancelled."""
        await self._disconnect_watcher.run()

    async def __call__(self, connection: Connection, usage: ClientUsage, data: bytes, bugs: LogLimit) -> bytes | None:
        """Serve a connection while it sends calls. Return the first bytes that hypercorn must process, or None at the end of the
        connection.
        """
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
            make_plan = self._cached_plan if end <= HEAD_KEPT_SIZE_MAX else self._make_plan
            plan = make_plan(client, port, data[:end])
            if plan is None:
                return data
            data = data[end:]
            rest = await self._answer(connection, usage, plan, data, bugs)
            if rest is None or plan.head.is_last or connection.is_ending:
                return None
            if rest:
                await self._input_scheduler.wait(usage.address)
            data = rest

    def _make_plan(self, client: str, port: int, data: bytes) -> RequestPlan | None:
        """Return the plan for requests with this head, or None if hypercorn must serve them."""
        request = read_head(data)
        if request is None:
            return None
        scope = _scope(request, (client, 0), ("", port))
        headers = self._access.cors(scope)
        begin = b"" if headers is None else head(200, [*headers, _JSON], b"content-length: ", is_last=False).removesuffix(b"\r\n")
        return RequestPlan(request, self._access.caller(scope), begin, b"Connection: close\r\n\r\n" if request.is_last else b"\r\n")

    async def _answer(self, connection: Connection, usage: ClientUsage, plan: RequestPlan, data: bytes, bugs: LogLimit) -> bytes | None:
        """Answer a request whose body begins with `data`. Return the bytes after the request, or None at the end of the connection."""
        size = plan.head.size
        reply = None
        if len(data) == size or (len(data) > size and not plan.head.is_last):
            if plan.begin and not plan.head.waits and self._limiter.has_room(usage):
                reply = self._service.answer_at_once(data[:size], plan.caller)
        if reply is None:
            return await self._run_cycle(connection, usage, plan, data, bugs, self._gateway)
        if not isinstance(reply, bytes):
            started = start_eagerly(reply)
            if isinstance(started, Completed):
                reply = started.value
            else:
                connection.mark_idle(False)
                with self._limiter.request_in_progress(usage), self._disconnect_watcher.watch(connection):
                    reply = await started
        if not isinstance(reply, bytes) or len(reply) > AT_ONCE_SIZE_MAX:
            return await self._run_cycle(connection, usage, plan, data, bugs, partial(self._gateway.finish, reply, size))
        rest = connection.try_write(b"%b%d\r\n%b%b%b" % (plan.begin, len(reply), self._dates.line(), plan.end, reply))
        if rest:
            connection.mark_idle(False)
            await (connection.write(rest) if len(reply) <= SMALL_SIZE_MAX else self._write_counted(connection, usage, plan.caller, rest))
        self._limiter.touch(usage)
        connection.extend_idle(usage.since)
        await self._service.give_way()
        return data[size:]

    async def _write_counted(self, connection: Connection, usage: ClientUsage, caller: Caller, rest: bytes) -> None:
        """Send the rest of a reply, which counts towards the client's limits meanwhile. Disconnect a client that exceeds them."""
        if not self._limiter.acquire(usage, ClientResource.REQUESTS):
            raise trio.BrokenResourceError("too many clients don't read their replies")
        try:
            with self._service.memory.reserve(caller, usage) as held:
                held.add(len(rest))
                await connection.write(rest)
        except Overloaded as error:
            raise trio.BrokenResourceError("there is no memory for the rest of a reply") from error
        finally:
            self._limiter.release(usage, ClientResource.REQUESTS)

    async def _run_cycle(
        self, connection: Connection, usage: ClientUsage, plan: RequestPlan, data: bytes, bugs: LogLimit, app: App
    ) -> bytes | None:
        """Run the app for a request that may still be arriving. Return the bytes after the request, or None to end the connection."""
        cycle = RequestCycle(connection, plan.head, self._dates)
        scope = _scope(plan.head, connection.client, connection.server)
        scope["state"] = {"usage": usage}
        rest = None
        connection.mark_idle(False)
        try:
            rest = await cycle.run(app, scope, data)
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client has disconnected
        except* Exception as errors:
            log_bug(bugs, connection.client[0], errors)
            await cycle.fail()
        connection.mark_idle(True)
        return rest


def _scope(request: RequestHead, client: tuple[str, int], server: tuple[str, int]) -> Event:
    """Return the parts of the ASGI scope that the app uses. The path isn't one of them, since a POST request can have any path."""
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/",
        "headers": request.headers,
        "client": client,
        "server": server,
    }
