"""The JSON-RPC service: takes the bytes of a request and returns the bytes of the reply. Independent of the transport.

A call runs from reading the state to the encoded reply without a checkpoint, so every reply is consistent. Source: rpc-api.md §1.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct

from rpc.caller import ANYBODY, Caller
from rpc.declare.arguments import LEGACY, PreparsedTransaction
from rpc.declare.errors import (
    CALL_ERROR,
    DISPATCH_ERROR,
    INVALID_REQUEST,
    NO_PARAMS,
    PARSE_ERROR,
    SERVER_ERROR,
    BadArgument,
    Clock,
    InvalidParameters,
    InvalidRequest,
    NotEnabled,
    NotServed,
    PushFailed,
    RefusedTooOften,
    UpstreamError,
    code_of,
    error_object,
    internal_error,
    invalid_parameters,
    plain_error,
)
from rpc.declare.method import Call, Method, bind, refuse
from rpc.declare.plugin_switches import hint
from rpc.describe.signature import signature
from rpc.explain.explainer import Explainer
from rpc.json.encoding import encoded
from rpc.json.reader import read_json, read_json_in_steps, values_size
from rpc.jsonrpc.allowance import Allowances, refusal_units
from rpc.jsonrpc.fair_queue import FairLimiter
from rpc.jsonrpc.memory import MemoryLimiter, MemoryReservation, Overloaded
from rpc.jsonrpc.method_names import NUMBERED_GROUPS, Path, called, closest_names, grouped, not_found
from rpc.jsonrpc.prefetch import BATCH_MIN, MEMBERS_MAX, BroadcastPrefetcher
from rpc.jsonrpc.scheduler import ReadGate, ReplyScheduler, Stopwatch, Value
from rpc.log import Log
from state.protocol.errors import ChainError, EndOfFile, Refused, require
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.convert import json_int, to_object
from state.protocol.work import ONE_CALL, TooMuchWork, Work
from state.store.lazy.incremental import NotReady, ReadMode

# Clients batch tens of calls, indexers some hundreds. Refusing this many calls takes 0.1 s and 2 MB.
BATCH_MEMBERS_MAX = 5_000
BATCH_REPLY_SIZE_MAX, LOCAL_BATCH_REPLY_SIZE_MAX = 32_000_000, 256_000_000  # bytes of all replies, which are sent together
# Larger bodies are decoded in chunks. Decoding a body of this size takes some 10 ms at worst.
WHOLE_SIZE_MAX = 250_000  # bytes
# Larger bodies of a client whose allowance of refused work is used up are refused undecoded.
UNREAD_SIZE_MIN = 50_000  # bytes
# Large bodies that are decoded concurrently, with and without local rights each: the decoded value can take 20 times the bytes of the
# body, and is counted only after the whole body is decoded.
LARGE_AT_ONCE_MAX = 1
# Repetitions of a call that needs preparatory sorting. Then it sorts synchronously, since it could be NotReady again forever.
PREPARED_AGAIN_MAX = 100
REQUEST_LOGGED_MAX = 2000
NAME_GUESSED_MAX = 64
NAME_POINTS_MAX = 2
GUESSES_KEPT_MAX = 1024
NOTHING_SENT = "send a JSON-RPC request by POST; /health shows the state of the node, and / the explorer unless it is off"
NO_SESSION = "this needs a WebSocket"

Reply = bytes | Awaitable[bytes]
# Whether a caller has local rights, and whether it has a session.
Rights = tuple[bool, bool]
# Forwards the body of a request and its caller to another process, and returns the reply.
Elsewhere = Callable[[bytes, Caller], Awaitable[bytes]]
# Called after each request with the method's name ("" if unknown), the seconds it took, and its error.
Observe = Callable[[str, float, Exception | None], None]
NO_TEST_CHAIN = "this is for test chains, for example dev and steem-testnet; the node's chain is not a test chain"
_NO_REQUEST = InvalidRequest()
_log = Log("rpc")


def ignore_call(name: str, seconds: float, error: Exception | None) -> None:
    """Observe nothing."""


class BoundMethod(Struct, frozen=True):
    """A method bound to a service."""

    method: Method
    call: Call
    waits: bool
    needs_local: bool
    needs_session: bool
    needs_owner: bool
    needs_caller: bool
    name: str


class Service:
    """Serves methods with their context objects (`state`, `processor`, ..., passed by name), in the spelling of one chain.

    `plugins` are the enabled plugins; None means all. `withheld` is the reason why `loopback_only` methods are not served at all; ""
    to serve them to callers with local rights. `service`, `wire` and `spec` are context objects as well. `observe` is called after each
    request, `foresee` with transactions that a batch will broadcast. `read_mode` is that of the state, for incremental reads; `work`
    counts the work of calls, `allowances` limits the refused work of clients, and `memory` the memory of their requests.
    With `elsewhere`, another process owns the chain and answers calls that need the owner. While the `gate` is closed, no call reads
    the chain.
    """

    def __init__(
        self,
        methods: Iterable[Method],
        *,
        wire: Wire,
        plugins: Collection[str] | None = None,
        clock: Clock = time.time,
        stopwatch: Stopwatch = time.perf_counter,
        withheld: str = "",
        observe: Observe = ignore_call,
        explainer: Explainer | None = None,
        read_mode: ReadMode | None = None,
        foresee: Callable[[list[SignedTransaction]], None] | None = None,
        elsewhere: Elsewhere | None = None,
        gate: ReadGate | None = None,
        work: Work | None = None,
        allowances: Allowances | None = None,
        memory: MemoryLimiter | None = None,
        **context: Any,
    ) -> None:
        methods = list(methods)
        self.wire, self.clock = wire, clock
        self._observe, self._explainer = observe, explainer
        self.read_mode = read_mode or ReadMode()
        self._elsewhere = elsewhere
        self._work, self._allowances = work or Work(), allowances or Allowances(stopwatch)
        self._prefetcher = None if foresee is None else BroadcastPrefetcher(methods, wire, foresee)
        self._scheduler, self._stopwatch = ReplyScheduler(stopwatch, gate), stopwatch
        self.gate = self._scheduler.gate
        self.memory = memory or MemoryLimiter()
        self._large = {is_local: FairLimiter(LARGE_AT_ONCE_MAX) for is_local in (False, True)}
        served: dict[Path, BoundMethod] = {}
        self._off: dict[Path, tuple[str, ...]] = {}
        self._withheld: dict[Path, str] = {}
        shared = {"service": self, "wire": wire, "spec": wire.spec, "explainer": explainer, "work": self._work}
        for method in methods:
            enabled = plugins is None or not method.plugins or any(plugin in plugins for plugin in method.plugins)
            path = tuple(method.name.split("."))
            needs_local = method.loopback_only or method.needs_local
            if method.test_only and not wire.spec.is_test:
                self._withheld[path] = NO_TEST_CHAIN
            elif withheld and method.loopback_only:
                self._withheld[path] = withheld
            elif enabled:
                call = bind(method, wire, shared | context)
                needs = method.needs_session, method.needs_owner, method.needs_caller
                served[path] = BoundMethod(method, call, method.waits, needs_local, *needs, method.name)
            elif method.not_enabled is not None:
                refused = refuse(method.not_enabled, method.plugins)
                served[path] = BoundMethod(method, refused, False, needs_local, False, False, False, method.name)
            elif not method.loopback_only:
                self._off[path] = method.plugins
        self._served, self._named = served, {bound.name: bound for bound in served.values()}
        # The methods visible to a caller, by whether it has local rights, and whether it has a session.
        self._groups = {
            (local, in_session): grouped(
                b.name for b in served.values() if (local or not b.method.loopback_only) and (in_session or not b.needs_session)
            )
            for local in (False, True)
            for in_session in (False, True)
        }
        self._guesses = lru_cache(GUESSES_KEPT_MAX)(lambda path, rights: closest_names(path, self._groups[rights]))

    # -------------------------------------------------------------- for the methods of jsonrpc

    @property
    def method_names(self) -> list[str]:
        """The names of all methods served, sorted."""
        return sorted(bound.method.name for bound in self._served.values())

    def signature(self, name: str) -> dict[str, Any]:
        """Return default arguments and result of a method."""
        parts = name.split(".")
        require(len(parts) == 2, "Invalid method name", condition="v.size() == 2")
        group, method = parts
        groups = self._groups[True, True]
        missing = "Method ${api}.${method} does not exist"
        require(group in groups, missing + ".", condition="api_itr != _method_sigs.end()", api=group, method=method)
        require(method in groups[group], missing, condition="method_itr != api_itr->second.end()", api=group, method=method)
        return signature(self._served[group, method].method, self.wire)

    # -------------------------------------------------------------- requests

    @property
    def is_free(self) -> bool:
        """Whether the next request can be answered at once."""
        return self._scheduler.is_free

    async def in_turn(self, work: Callable[[], Value], address: str = "") -> Value:
        """Run work that takes as long as a reply when it is scheduled among the requests of an address. Return its result."""
        return await self._scheduler.run(work, address)

    async def answer_in_turn(self, body: bytes, caller: Caller = ANYBODY) -> Reply:
        """Do the same as `answer`, scheduled among all other requests.

        A large body is decoded in chunks, and preparatory sorting is done in chunks, with other replies in between.
        """
        if len(body) > UNREAD_SIZE_MIN:
            try:
                self._allowances.units_max(caller)
            except RefusedTooOften as error:
                return self.refuse(error, body)
        if len(body) <= WHOLE_SIZE_MAX:
            return await self._scheduler.run(
                partial(self.answer, body, caller, True), caller.queue, partial(self.gate.answer, body, caller)
            )
        steps = read_json_in_steps(body, caller.is_local)

        def advance() -> Reply | None:
            """Decode a chunk; after the last one, answer."""
            try:
                next(steps)
            except StopIteration as end:
                return self._answer(end.value, body, caller, True)
            except Exception as error:
                return self.refuse(error, body)
            return None

        reply = None
        async with self._large[caller.is_local].place(caller.queue):
            while reply is None:
                reply = await self._scheduler.run(advance, caller.queue)
        return reply

    def answer(self, body: bytes, caller: Caller = ANYBODY, in_slices: bool = False) -> Reply:
        """Return the reply to a request, or, for broadcasts and batches, an awaitable of it. Never raises.

        With `in_slices`, a call that needs much sorting first returns an awaitable as well.
        """
        try:
            request = read_json(body, not caller.why_not_local)
        except Exception as error:
            return self.refuse(error, body)
        return self._answer(request, body, caller, in_slices)

    def refuse(self, error: Exception, body: bytes = b"") -> bytes:
        """Return the error reply to a body that can't be decoded, or is refused undecoded."""
        self._observe("", 0.0, error)
        said = NOTHING_SENT if isinstance(error, EndOfFile) else ""
        return self._refused_with_hint(None, error, SERVER_ERROR, said) if isinstance(error, ChainError) else self._bug(None, error, body)

    def _answer(self, request: Any, body: bytes, caller: Caller, in_slices: bool) -> Reply:
        """Return the reply to a decoded body."""
        if type(request) is list and len(request) > BATCH_MEMBERS_MAX:
            return self._refused_batch("A batch may have at most ${most} members", BATCH_MEMBERS_MAX)
        if request == []:
            return self._malformed(None, SERVER_ERROR, "Array is invalid")
        if self._elsewhere is not None and self._is_elsewhere(request, caller):
            reply: Reply = self._elsewhere(body, caller)
        elif type(request) is list:
            reply = self._batch(request, caller)
        else:
            reply = self._one(request, caller, in_slices)
        return reply if isinstance(reply, bytes) or caller.is_local else self._holding(values_size(body), caller, reply)

    async def _holding(self, size: int, caller: Caller, reply: Awaitable[bytes]) -> bytes:
        """Await a reply, with `size` bytes, the decoded request, reserved for its caller meanwhile."""
        try:
            with self.memory.reserve(caller) as held:
                held.add(size)
                return await reply
        except Overloaded as error:
            return self.refuse(error)
        finally:
            if isinstance(reply, Coroutine):
                reply.close()  # unless it has run

    async def _batch(self, requests: list[Any], caller: Caller) -> bytes:
        """Run the requests of a batch one after another, with other requests in between. Return the replies in order.

        Without local rights, the replies so far count against the memory limit. Raises: Overloaded if it is reached.
        """
        with self.memory.reserve(caller) as held:
            return await self._answers(requests, caller, held)

    async def _answers(self, requests: list[Any], caller: Caller, held: MemoryReservation) -> bytes:
        """Return the replies to a batch as one array."""
        replies, size, size_max = [b"["], 0, LOCAL_BATCH_REPLY_SIZE_MAX if caller.is_local else BATCH_REPLY_SIZE_MAX
        prefetcher = self._prefetcher if len(requests) >= BATCH_MIN else None
        for place, request in enumerate(requests):
            if prefetcher is not None and place % MEMBERS_MAX == 0 and not self._allowances.is_used_up(caller):
                await self._scheduler.run(partial(prefetcher.prefetch, requests[place : place + MEMBERS_MAX]), caller.queue)
            # Dropped one by one, since freeing the values of all requests at once would take long.
            requests[place] = None
            reply = await self._scheduler.run(partial(self._one, request, caller, True), caller.queue)
            if not isinstance(reply, bytes):
                # It may not wait at all, for example a broadcast that is refused at once and explained for 30 ms, so its time counts.
                start = self._stopwatch()
                reply = await reply
                await self._scheduler.charge(self._stopwatch() - start)
            if not caller.is_local:
                held.add(len(reply))
            size += len(reply)
            if size > size_max:
                return self._refused_batch("The answers to a batch may have at most ${most} bytes", size_max)
            replies += reply, b","
        replies[-1] = b"]"
        return b"".join(replies)

    def _refused_batch(self, text: str, most: int) -> bytes:
        """Return the error for a batch that exceeds a limit."""
        error = Refused(text, condition="size <= most", most=most)
        self._observe("", 0.0, error)
        return self._refused(None, error, SERVER_ERROR)

    def _one(self, request: Any, caller: Caller, in_slices: bool) -> Reply:
        """Return the reply to one request: the checks of rpc-api.md §1.4 in order, then the call."""
        if type(request) is not dict:
            return self._no_object(request)
        request_id = request.get("id")
        if type(request_id) is not str:
            if type(request_id) is int:
                request_id = json_int(request_id)
            elif request_id is not None or "id" in request:
                return self._malformed(None, INVALID_REQUEST, 'Only integer value or string is allowed for member "id"')
        if request.get("jsonrpc") != "2.0":
            return self._malformed(request_id, INVALID_REQUEST, 'jsonrpc value is not "2.0"')
        name = request.get("method")
        if type(name) is not str:
            return self._malformed(request_id, INVALID_REQUEST, 'A member "method" does not exist')
        params = request.get("params", {})
        bound = self._named.get(name)
        if bound is None:
            if name != "call":
                # Split off only one part more than any name has, since a name could contain millions of dots.
                return self._not_found(request_id, tuple(name.split(".", NAME_POINTS_MAX)), caller)
            if "params" not in request:
                return self._malformed(request_id, NO_PARAMS, 'A member "params" does not exist')
            try:
                path, params = called(params)
            except ChainError as error:
                self._observe("", 0.0, error)
                return self._refused(request_id, error, code_of(error, DISPATCH_ERROR))
            if caller.session is not None and path[0] in NUMBERED_GROUPS:
                path = NUMBERED_GROUPS[path[0]], path[1]
            bound = self._served.get(path)
            if bound is None:
                return self._not_found(request_id, path, caller)
        if bound.needs_local and caller.why_not_local:
            return self._hidden(request_id, bound, (False, caller.session is not None), caller.why_not_local)
        if bound.needs_session and caller.session is None:
            return self._hidden(request_id, bound, (caller.is_local, False), NO_SESSION)
        if bound.needs_owner and self._elsewhere is not None:
            return self._elsewhere(encoded(request), caller)
        return self._call(bound, (params, caller), request_id, request, in_slices and not bound.needs_session)

    def _is_elsewhere(self, request: Any, caller: Caller) -> bool:
        """Whether to forward a request or batch unchanged: some call in it needs the owner, and none needs the session or process."""
        if type(request) is not list:
            bound = self._called(request, caller)
            return bound is not None and bound.needs_owner and (caller.is_local or not bound.needs_local)
        found = [bound for one in request if (bound := self._called(one, caller)) is not None]
        return any(bound.needs_owner for bound in found) and not any(bound.needs_session or bound.method.of_process for bound in found)

    def only_reads(self, request: Any, caller: Caller) -> bool:
        """Whether a request (not a batch) changes nothing, and concerns neither the process nor the session."""
        bound = self._called(request, caller)
        return bound is None or not (bound.waits or bound.needs_session or bound.needs_owner or bound.method.of_process)

    def _called(self, request: Any, caller: Caller) -> BoundMethod | None:
        """Return the method that a request calls, or None."""
        name = request.get("method") if type(request) is dict else None
        if type(name) is not str:
            return None
        if name != "call":
            return self._named.get(name)
        params = request.get("params")
        if type(params) is not list or [type(each) for each in params[:2]] != [str, str]:
            try:
                path = called(params)[0]
            except ChainError:
                return None
        else:
            path = params[0], params[1]
        if caller.session is not None and path[0] in NUMBERED_GROUPS:
            path = NUMBERED_GROUPS[path[0]], path[1]
        return self._served.get(path)

    def _call(self, bound: BoundMethod, given: tuple[Any, Caller], request_id: int | str | None, request: Any, in_slices: bool) -> Reply:
        """Call a method and return its reply; `given` are its params and caller.

        With `in_slices`, preparatory work is done in chunks between other replies.
        """
        if bound.waits:
            return self._wait(bound, given, request_id, request)
        if not in_slices:
            return self._call_sync(bound, bound.call, given, request_id, request)
        try:
            return self._call_sync(bound, self.read_mode.try_read, (bound.call, *given), request_id, request)
        except NotReady as unsettled:
            return self._prepare_and_call(unsettled, bound, given, request_id, request)

    def _call_sync(
        self, bound: BoundMethod, call: Callable[..., Any], given: tuple[Any, ...], request_id: int | str | None, request: Any
    ) -> bytes:
        """Call a method that doesn't wait, and return its reply."""
        caller: Caller = given[-1]
        start = self._stopwatch()
        try:
            units_max = self._allowances.call_units_max(caller)
            reply = _result(request_id, self._work.run(units_max, ONE_CALL, call, *given))
        except NotReady:
            raise
        except Exception as error:
            refusal = getattr(error, "error", error)
            if isinstance(refusal, TooMuchWork):
                self._allowances.charge(caller, refusal.units, refusal)
            reply = self._failed(request_id, error, request)
            self._observe(bound.name, self._stopwatch() - start, error)
        else:
            self._observe(bound.name, self._stopwatch() - start, None)
        return reply

    async def _prepare_and_call(
        self, unsettled: NotReady, bound: BoundMethod, given: tuple[Any, Caller], request_id: int | str | None, request: Any
    ) -> bytes:
        """Do the preparatory work of a call in chunks between other replies, then call it and return its reply."""
        times = 0

        def advance() -> bytes | None:
            """Do one chunk; after the last one, repeat the call, which may need other work. Return None if there is more to do."""
            nonlocal unsettled, times
            try:
                if unsettled.advance():
                    return None
                if times >= PREPARED_AGAIN_MAX:
                    return self._call_sync(bound, bound.call, given, request_id, request)
                return self._call_sync(bound, self.read_mode.try_read, (bound.call, *given), request_id, request)
            except NotReady as another:
                unsettled, times = another, times + 1
            except Exception as error:
                return self._failed(request_id, error, request)
            return None

        reply = None
        while reply is None:
            reply = await self._scheduler.run(advance, given[1].queue)
        return reply

    async def _wait(self, bound: BoundMethod, given: tuple[Any, Caller], request_id: int | str | None, request: Any) -> bytes:
        """Call a method that may wait, and return its reply."""
        caller = given[1]
        await self.gate.wait_open()
        start = self._stopwatch()
        try:
            if bound.needs_caller:
                # Before its arguments are converted.
                self._allowances.units_max(caller)
            reply = _result(request_id, await bound.call(*given))
        except Exception as error:
            await self.gate.wait_open()
            if bound.needs_caller and not isinstance(error, (PushFailed, UpstreamError, RefusedTooOften)):
                self._allowances.charge(caller, refusal_units(len(encoded(request))), getattr(error, "error", error))
            reply = self._failed(request_id, error, request)
            self._observe(bound.name, self._stopwatch() - start, error)
        else:
            self._observe(bound.name, self._stopwatch() - start, None)
        return reply

    # -------------------------------------------------------------- errors

    def _failed(self, request_id: int | str | None, error: Exception, request: Any) -> bytes:
        """Return the reply to a call that raised."""
        if isinstance(error, PushFailed):
            said = error_object(error.error, SERVER_ERROR, self.wire, self.clock)
            if error.units:
                said["data"].setdefault("units", error.units)
            return self._explained(request_id, said, error.error, request, error.transaction)
        if isinstance(error, UpstreamError):
            return _error(request_id, error.error)
        if isinstance(error, InvalidParameters):
            return _error(request_id, invalid_parameters(error))
        if isinstance(error, NotServed):
            return self._refused(request_id, error.error, DISPATCH_ERROR)
        if isinstance(error, NotEnabled):
            return self._hinted(request_id, error.error, CALL_ERROR, error.plugins)
        if isinstance(error, ChainError):
            said = error_object(error, code_of(error, CALL_ERROR), self.wire, self.clock)
            return self._explained(request_id, said, error, request)
        if isinstance(error, BadArgument):
            said = error_object(error.error, code_of(error.error, CALL_ERROR), self.wire, self.clock)
            said["data"]["parameter"] = error.name
            return self._explained(request_id, said, error.error, request, unread=error.unread)
        return self._bug(request_id, error, request)

    def _explained(
        self,
        request_id: int | str | None,
        said: dict[str, Any],
        error: ChainError,
        request: Any,
        trx: SignedTransaction | None = None,
        unread: tuple[Any, bool] | None = None,
    ) -> bytes:
        """Return the reply with this error object, with an explanation if the request broadcasts a transaction."""
        # If it took too long before there was a transaction, parsing it again would take as long.
        is_unread = trx is None and isinstance(error, TooMuchWork)
        if self._explainer is not None and not is_unread and not isinstance(error, RefusedTooOften):
            given, is_legacy = (unread or self._broadcast(request)) if trx is None else (None, False)
            given = dict(given) if type(given) is PreparsedTransaction else given
            if trx is None and given is not None:
                try:
                    trx = self.wire.transaction_from_json(given, is_legacy)
                except ChainError as found:
                    error = found
            if trx is not None or given is not None:
                explanation = self._explainer.refuse(trx, error, given=given, is_legacy=is_legacy)
                if explanation is not None:
                    said["data"]["explain"] = explanation
        return _error(request_id, said)

    def _broadcast(self, request: Any) -> tuple[Any, bool]:
        """Return the JSON of the transaction that a request broadcasts, or None, and whether it has the condenser's form."""
        name, params = request["method"], request.get("params", {})
        path, params = called(params) if name == "call" else (tuple(name.split(".", NAME_POINTS_MAX)), params)
        path = NUMBERED_GROUPS.get(path[0], path[0]), *path[1:]
        method = self._served[path].method
        if not method.waits or not method.parameters or method.parameters[0].annotation is not SignedTransaction:
            return None, False
        if isinstance(params, dict):
            given = params.get(method.parameters[0].name)
        else:
            given = params[0] if isinstance(params, list) and params else None
        return given, method.form is LEGACY

    def _malformed(self, request_id: int | str | None, code: int, message: str) -> bytes:
        """Return the reply to an invalid request."""
        self._observe("", 0.0, _NO_REQUEST)
        return _error(request_id, plain_error(code, message))

    def _refused(self, request_id: int | str | None, error: ChainError, code: int) -> bytes:
        return _error(request_id, error_object(error, code, self.wire, self.clock))

    def _hinted(self, request_id: int | str | None, error: ChainError, code: int, plugins: tuple[str, ...]) -> bytes:
        """Return the reply to a call of a method whose plugins are off, with a hint on how to enable them."""
        return self._refused_with_hint(request_id, error, code, hint(plugins))

    def _refused_with_hint(self, request_id: int | str | None, error: ChainError, code: int, text: str) -> bytes:
        said = error_object(error, code, self.wire, self.clock)
        if text:
            said["data"]["hint"] = text
        return _error(request_id, said)

    def _bug(self, request_id: int | str | None, error: Exception, request: Any) -> bytes:
        """Log an unexpected error with its request, and return a reply without details."""
        shown = request if isinstance(request, bytes) else encoded(request)
        _log.error("request failed", request=shown[:REQUEST_LOGGED_MAX].decode("utf-8", "replace"), exc_info=error)
        return _error(request_id, internal_error())

    def _no_object(self, request: Any) -> bytes:
        try:
            to_object(request)
        except ChainError as error:
            self._observe("", 0.0, error)
            return self._refused(None, error, PARSE_ERROR)
        raise AssertionError("only objects are objects")

    def _hidden(self, request_id: int | str | None, bound: BoundMethod, rights: Rights, why: str) -> bytes:
        """Return the reply to a caller without access to a method: the method is unknown, and the hint names the missing right."""
        error = not_found(tuple(bound.name.split(".")), self._groups[rights])
        self._observe(bound.name, 0.0, error)
        return self._refused_with_hint(request_id, error, DISPATCH_ERROR, why)

    def _not_found(self, request_id: int | str | None, path: Path, caller: Caller) -> bytes:
        """Return the reply to an unknown name, with the closest known names."""
        rights = caller.is_local, caller.session is not None
        error = not_found(path, self._groups[rights])
        self._observe("", 0.0, error)
        if path in self._off:
            return self._hinted(request_id, error, DISPATCH_ERROR, self._off[path])
        if path in self._withheld:
            return self._refused_with_hint(request_id, error, DISPATCH_ERROR, self._withheld[path])
        said = error_object(error, DISPATCH_ERROR, self.wire, self.clock)
        closest = self._guesses(path, rights) if sum(map(len, path)) <= NAME_GUESSED_MAX else []
        if closest:
            said["data"]["closest"] = closest
        return _error(request_id, said)


def _result(request_id: int | str | None, result: Any) -> bytes:
    return encoded({"jsonrpc": "2.0", "result": result, "id": request_id})


def _error(request_id: int | str | None, error: dict[str, Any]) -> bytes:
    return encoded({"jsonrpc": "2.0", "error": error, "id": request_id})
