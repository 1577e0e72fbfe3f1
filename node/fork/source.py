"""The source of a fork: a node of the chain family that is read over its public RPC.

Nothing about the source is configured except its address and the rate of requests. Which methods it has, and how many calls it takes in
one request, is found out. Its replies are a stranger's: their bytes, values, nesting and times are limited.
"""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, TypeVar

import trio

from node.client.errors import NoNode, RefusedCall, TooLarge, Unreachable
from node.client.http import SHOWN_CHARACTERS_MAX
from node.client.jsonrpc import encode_call, result_of
from node.client.urls import node_url, shown_url
from node.fork.transport import HttpReply, HttpTransport, Transport
from node.runtime.errors import NodeError, on_one_line
from rpc.json.reader import read_reply, values_size
from rpc.jsonrpc.scheduler import ReplyScheduler
from state.protocol.errors import ChainError

REPLY_BYTES_MAX = 32 << 20
VALUES_SIZE_MAX = 128 << 20  # estimated bytes of the decoded values of a reply
MESSAGE_LENGTH_MAX = 1_000  # characters of a refusal
REPLY_SECONDS_MAX = 30
# A call is repeated for this time, with growing pauses, while the source gives no usable reply.
PATIENCE_SECONDS = 60
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.25, 10
BATCH_CALLS_MAX, BATCH_TRIES_MAX = 100, 2
# A call that is refused for a passing reason is repeated this often. Some nodes give such reasons for calls that they never serve.
REFUSALS_MAX = 6
METHODS_MAX, METHOD_LENGTH_MAX = 10_000, 100
PARAMS_SHOWN_MAX = 100

TOO_MANY_REQUESTS, REQUEST_TIMEOUT, BODY_TOO_LARGE, SERVER_FAILED = 429, 408, 413, 500
# Groups with methods that a node behind a proxy doesn't list, because an indexer serves them.
INDEXED = frozenset(("bridge", "condenser_api", "follow_api", "tags_api", "reputation_api"))
# JSON-RPC errors of nodes that lack the method, or don't serve it to the public.
METHOD_NOT_FOUND = -32601
UNSERVED = ("namespace", "not allowed", "disabled", "forbidden", "not supported")
# Errors that a later try may not meet: timeouts and overload of the source, or of a node behind it.
PASSING = (
    "unable to acquire database lock",
    "request timeout",
    "response timeout",
    "timed out",
    "bad or missing upstream response",
    "upstream response error",
    "rate limit",
    "too many requests",
    "internal error",
    "service unavailable",
)

Call = tuple[str, Any]
Served = TypeVar("Served", bound=tuple[Any, ...])


class SourceSilent(NodeError):
    """The source gives no usable reply, though it was asked several times."""


class SourceWrong(NodeError):
    """A reply of the source has an unknown form or an impossible value. `method` is the method, `member` the path of the member."""

    def __init__(self, url: str, method: str, member: str, why: str) -> None:
        self.method, self.member = method, member
        where = f"{method}, member {member}" if member else method
        super().__init__(on_one_line(f"{url} answers {where} in a way that can't be used: {why[:SHOWN_CHARACTERS_MAX]}"))


class _Unusable(Exception):
    """A reply that a later try may replace. `seconds` is the pause that the source asks for."""

    def __init__(self, why: str, seconds: float = 0) -> None:
        super().__init__(why)
        self.seconds = seconds


class _BatchRefused(Exception):
    """The source takes no batches, or none of this size."""


class Source:
    """A node that is read over its public RPC. Several tasks can call it at once.

    `requests_per_second` limits HTTP requests; None sets no limit. A call is repeated for at most `patience_seconds`.
    """

    def __init__(
        self,
        url: str,
        requests_per_second: float | None = None,
        *,
        transport: Transport | None = None,
        scheduler: ReplyScheduler | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        address = node_url(url)
        self.url = shown_url(address)
        """The address of the node without secrets."""
        self.request_count = self.byte_count = 0  # of requests, and of the bodies of their replies
        self._transport = transport or HttpTransport(address, scheduler or ReplyScheduler())
        self._scheduler = scheduler or ReplyScheduler()
        self._interval = 1 / requests_per_second if requests_per_second else 0.0
        self._patience_seconds = patience_seconds
        self._next_request = 0.0
        self._last_id = 0
        self._calls_max = BATCH_CALLS_MAX
        self._listed: frozenset[str] = frozenset()
        self._groups: set[str] = set()
        self._is_listed = False
        self._found: dict[str, bool] = {}  # methods that were tried
        self._listing = trio.Lock()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def call(self, method: str, params: Any = ()) -> Any:
        """Return the result of a call. Raises RefusedCall, SourceSilent or SourceWrong."""
        return (await self.batch([(method, params)]))[0]

    async def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of several calls in order. Raises the RefusedCall of the first refused one, SourceSilent or SourceWrong."""
        results = await self.attempt(calls)
        for result in results:
            if isinstance(result, RefusedCall):
                raise result
        return results

    async def attempt(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of several calls in order. The result of a refused call is its RefusedCall.

        As many calls as the source takes are sent in one request. Raises SourceSilent or SourceWrong.
        """
        results: list[Any] = []
        latest = trio.current_time() + self._patience_seconds
        while len(results) < len(calls):
            part = calls[len(results) : len(results) + self._calls_max]
            try:
                results += await self._results(part, latest)
                latest = trio.current_time() + self._patience_seconds
            except _BatchRefused:
                self._calls_max = max(1, min(self._calls_max, len(part)) // 2)
        return results

    async def has(self, method: str) -> bool:
        """Whether the source serves a method. Its list of methods says so. If it gives no list, and for methods of INDEXED groups, the
        method is called without parameters.
        """
        await self.find(method)
        return self._serves(method) is not False

    async def find(self, *methods: str) -> None:
        """Find out which of these methods the source serves. For many methods, this takes fewer requests than a `has` for each of them."""
        async with self._listing:
            if not self._is_listed:
                self._listed, self._is_listed = await self._list_methods(), True
                self._groups = {name.partition(".")[0] for name in self._listed}
        unknown = [method for method in dict.fromkeys(methods) if self._serves(method) is None]
        await self.attempt([(method, []) for method in unknown])

    def _serves(self, method: str) -> bool | None:
        """Whether the source serves a method, or None if that isn't known yet."""
        if method in self._found:
            return self._found[method]
        if method in self._listed:
            return True
        group = method.partition(".")[0]
        return False if group in self._groups and group not in INDEXED else None

    async def first_served(self, calls: Iterable[Served]) -> Served | None:
        """Return the first of these calls whose method the source serves, or None. A call is a tuple that begins with a method."""
        for call in calls:
            if await self.has(call[0]):
                return call
        return None

    async def first_of(self, *calls: Call) -> tuple[str, Any] | None:
        """Call the first of these methods that the source serves. Return its name and its result, or None if it serves none of them."""
        for method, params in calls:
            if await self.has(method):
                try:
                    return method, await self.call(method, params)
                except RefusedCall as error:
                    if not is_missing(error):
                        raise
        return None

    def wrong(self, method: str, member: str, why: str) -> SourceWrong:
        """Return the error for a reply to `method`, the member `member` of which can't be used for the reason `why`."""
        return SourceWrong(self.url, method, member, why)

    async def _list_methods(self) -> frozenset[str]:
        """Return the source's list of methods, which is empty if it gives none. A list without condenser_api or database_api is none."""
        result = (await self.attempt([("jsonrpc.get_methods", [])]))[0]
        if not isinstance(result, list) or len(result) > METHODS_MAX:
            return frozenset()
        names = frozenset(name for name in result if isinstance(name, str) and len(name) <= METHOD_LENGTH_MAX)
        is_usable = any(name.startswith(("condenser_api.", "database_api.")) for name in names)
        return names if is_usable else frozenset()

    async def _results(self, calls: Sequence[Call], latest: float) -> list[Any]:
        """Return the results of the calls of one request. Until the time `latest`, calls without a usable reply are repeated.

        A batch that has no usable reply for the second time is refused, because it can be too much for the source.
        """
        found: dict[int, Any] = {}
        pause_seconds = float(PAUSE_SECONDS_MIN)
        for tries in count(1):
            missing = [at for at in range(len(calls)) if at not in found]
            why, asked_seconds = "", 0.0
            try:
                results = await self._exchange([calls[at] for at in missing])
            except (Unreachable, _Unusable) as error:
                why, asked_seconds = str(error), getattr(error, "seconds", 0.0)
            else:
                for at, result in zip(missing, results, strict=True):
                    if isinstance(result, RefusedCall) and is_passing(result) and tries < REFUSALS_MAX:
                        why = result.message
                    else:
                        found[at] = result
                        self._learn(calls[at][0], result)
                if not why:
                    break
            # A source that asks for a pause asks all tasks for it.
            now = trio.current_time()
            self._next_request = max(self._next_request, now + asked_seconds)
            again = now + max(asked_seconds, pause_seconds)
            if again > latest:
                method = calls[missing[0]][0]
                raise SourceSilent(on_one_line(f"{self.url} gives no usable answer to {method} ({why[:SHOWN_CHARACTERS_MAX]})"))
            await trio.sleep_until(again)
            if tries >= BATCH_TRIES_MAX and len(missing) > 1:
                raise _BatchRefused
            pause_seconds = min(2 * pause_seconds, PAUSE_SECONDS_MAX)
        return [found[at] for at in range(len(calls))]

    def _learn(self, method: str, result: Any) -> None:
        """Record whether the source has a method, which its reply to a call shows."""
        if len(self._found) < METHODS_MAX or method in self._found:
            self._found[method] = not (isinstance(result, RefusedCall) and is_missing(result))

    async def _exchange(self, calls: Sequence[Call]) -> list[Any]:
        """Send one request, and return the results or refusals of its calls in order."""
        first = self._last_id + 1
        self._last_id += len(calls)
        bodies = [encode_call(first + i, method, params) for i, (method, params) in enumerate(calls)]
        body = bodies[0] if len(bodies) == 1 else b"[" + b",".join(bodies) + b"]"
        await self._wait_turn()
        self.request_count += 1
        method, seconds_max = calls[0][0], min(REPLY_SECONDS_MAX, self._patience_seconds)
        try:
            with trio.fail_after(seconds_max):
                reply = await self._transport.post(body, REPLY_BYTES_MAX)
        except trio.TooSlowError:
            raise _Unusable(f"no answer within {seconds_max:g} s") from None
        except TooLarge as error:
            if len(calls) > 1:
                raise _BatchRefused from None
            raise self.wrong(method, "", str(error)) from None
        except Unreachable:
            raise
        except NoNode as error:
            raise self.wrong(method, "", str(error)) from None
        self.byte_count += len(reply.body)
        if reply.status == TOO_MANY_REQUESTS:
            raise _Unusable("too many requests", pause_of(reply))
        if values_size(reply.body) > VALUES_SIZE_MAX:
            if len(calls) > 1:
                raise _BatchRefused
            raise self.wrong(method, "", "it holds too many values")
        try:
            answer = await self._scheduler.run(lambda: read_reply(reply.body))
        except ChainError as error:
            answer, why = None, str(error)
        else:
            why = "it is not an answer of JSON-RPC"
        return self._read(calls, first, reply, answer, why)

    def _read(self, calls: Sequence[Call], first: int, reply: HttpReply, answer: Any, why: str) -> list[Any]:
        """Return the results of the calls that the decoded reply `answer` contains. `why` is the reason if it contains none."""
        method = calls[0][0]
        if len(calls) > 1:
            by_id = {one["id"]: one for one in answer if type(one) is dict and type(one.get("id")) is int} if type(answer) is list else {}
            if all(first + i in by_id for i in range(len(calls))):
                return [self._result(name, by_id[first + i]) for i, (name, _) in enumerate(calls)]
        if type(answer) is dict and ("result" in answer or "error" in answer):
            result = self._result(method, answer)
            if len(calls) == 1:
                return [result]
            if isinstance(result, RefusedCall) and is_passing(result):
                raise _Unusable(result.message, pause_of(reply))
        if reply.status >= SERVER_FAILED or reply.status == REQUEST_TIMEOUT:
            raise _Unusable(f"HTTP status {reply.status}", pause_of(reply))
        if len(calls) > 1:
            raise _BatchRefused
        shown = reply.body[:PARAMS_SHOWN_MAX].decode("utf-8", "replace")
        raise self.wrong(method, "", f"{why} (HTTP status {reply.status}: {shown})")

    def _result(self, method: str, answer: Any) -> Any:
        try:
            return result_of(method, answer)
        except RefusedCall as error:
            return RefusedCall(method, error.error | {"message": error.message[:MESSAGE_LENGTH_MAX]})
        except ValueError as error:
            raise self.wrong(method, "", str(error)) from None

    async def _wait_turn(self) -> None:
        """Wait until the rate of requests, and a pause that the source has asked for, allow the next request."""
        start = max(trio.current_time(), self._next_request)
        self._next_request = start + self._interval
        await trio.sleep_until(start)


def pause_of(reply: HttpReply) -> float:
    """Return the seconds that the header Retry-After of a reply asks for, 0 if it has none or gives a date."""
    return float(reply.retry_after) if reply.retry_after.isdecimal() and len(reply.retry_after) < len("100000") else 0.0


def is_missing(error: RefusedCall) -> bool:
    """Whether a call is refused because the source doesn't serve its method."""
    text = error.message.lower()
    return error.is_unknown_method or error.code == METHOD_NOT_FOUND or any(part in text for part in UNSERVED)


def is_passing(error: RefusedCall) -> bool:
    """Whether a later call may not be refused: the source is overloaded, or a node behind it is."""
    text = error.message.lower()
    return any(part in text for part in PASSING)
