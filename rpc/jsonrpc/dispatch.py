"""The JSON-RPC service: takes the bytes of a request and returns the bytes of the reply. Independent of the transport.

A call runs from reading the state to the encoded reply without a checkpoint, so every reply is consistent. Source: rpc-api.md §1.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from functools import partial
from typing import Any

import trio

from rpc.caller import ANYBODY, Caller
from rpc.declare.errors import (
    DISPATCH_ERROR,
    INVALID_REQUEST,
    NO_PARAMS,
    PARSE_ERROR,
    SERVER_ERROR,
    Clock,
    PushFailed,
    RefusedTooOften,
    UpstreamError,
    code_of,
)
from rpc.declare.method import Method
from rpc.explain.explainer import Explainer
from rpc.json.encoding import encoded
from rpc.json.reader import REMOTE_SIZE_MAX, read_json, values_size
from rpc.jsonrpc.allowance import Allowances, refusal_units
from rpc.jsonrpc.batch import BATCH_MEMBERS_MAX, BatchRunner, Reply
from rpc.jsonrpc.error_replies import ErrorReplies, Observe, RequestId
from rpc.jsonrpc.fair_queue import FairLimiter
from rpc.jsonrpc.memory import MemoryLimiter, Overloaded
from rpc.jsonrpc.prefetch import BroadcastPrefetcher
from rpc.jsonrpc.registry import BoundMethod, Registry, path_of
from rpc.jsonrpc.scheduler import AnswerElsewhere, ReadGate, ReplyScheduler, Stopwatch, Value
from state.protocol.errors import ChainError, Refused
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.convert import json_int, to_object
from state.protocol.work import ONE_CALL, TooMuchWork, Work
from state.store.lazy.incremental import NotReady, ReadMode

# Larger bodies are decoded one at a time, so that other requests wait for one of them. Decoding a body of this size takes some ms.
LARGE_SIZE_MIN = 250_000  # bytes
# Larger bodies of a client whose allowance of refused work is used up are refused undecoded.
UNREAD_SIZE_MIN = 50_000  # bytes
# Repetitions of a call that needs preparatory sorting. Then it sorts synchronously, since it could be NotReady again forever.
PREPARED_AGAIN_MAX = 100
NO_SESSION = "this needs a WebSocket"


def ignore_call(name: str, seconds: float, error: Exception | None) -> None:
    """Observe nothing."""


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
        elsewhere: AnswerElsewhere | None = None,
        gate: ReadGate | None = None,
        work: Work | None = None,
        allowances: Allowances | None = None,
        memory: MemoryLimiter | None = None,
        **context: Any,
    ) -> None:
        self.wire, self.clock = wire, clock
        self._observe = observe
        self.read_mode = read_mode or ReadMode()
        self._elsewhere = elsewhere
        self._work, self._allowances = work or Work(), allowances or Allowances(stopwatch)
        self._scheduler, self._stopwatch = ReplyScheduler(stopwatch, gate), stopwatch
        self.gate = self._scheduler.gate
        self.memory = memory or MemoryLimiter()
        self._large = {is_local: FairLimiter(1) for is_local in (False, True)}
        shared = {"service": self, "wire": wire, "spec": wire.spec, "explainer": explainer, "work": self._work}
        self.registry = Registry(methods, wire, shared | context, plugins, withheld)
        self._errors = ErrorReplies(self.registry, wire, clock, explainer, observe)
        prefetcher = None if foresee is None else BroadcastPrefetcher(self.registry, wire, foresee)
        queues = self._scheduler, stopwatch, self.memory, self._allowances
        self._batches = BatchRunner(self._one, self.refuse, *queues, prefetcher)

    @property
    def is_free(self) -> bool:
        """Whether the next request can be answered at once."""
        return self._scheduler.is_free

    async def in_turn(self, work: Callable[[], Value], address: str = "") -> Value:
        """Run work that takes as long as a reply when it is scheduled among the requests of an address. Return its result."""
        return await self._scheduler.run(work, address)

    async def answer_in_turn(self, body: bytes, caller: Caller = ANYBODY) -> Reply:
        """Do the same as `answer`, scheduled among all other requests.

        Preparatory sorting is done in chunks, with other replies in between. A body that only callers with local rights may send is decoded
        in a thread.
        """
        if len(body) > UNREAD_SIZE_MIN:
            try:
                self._allowances.units_max(caller)
            except RefusedTooOften as error:
                return self.refuse(error, body)
        answer = partial(self.answer, body, caller, True)
        if len(body) <= LARGE_SIZE_MIN:
            return await self._scheduler.run(answer, caller.queue, partial(self.gate.answer, body, caller))
        async with self._large[caller.is_local].place(caller.queue):
            if len(body) > REMOTE_SIZE_MAX:
                try:
                    request = await trio.to_thread.run_sync(read_json, body, caller.is_local)
                except Exception as error:
                    return self.refuse(error, body)
                answer = partial(self._answer, request, body, caller, True)
            return await self._scheduler.run(answer, caller.queue)

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
        return self._errors.rejected(error, body)

    def _answer(self, request: Any, body: bytes, caller: Caller, in_slices: bool) -> Reply:
        """Return the reply to a decoded body."""
        if type(request) is list and len(request) > BATCH_MEMBERS_MAX:
            return self.refuse(Refused("A batch may have at most ${most} members", condition="size <= most", most=BATCH_MEMBERS_MAX))
        if request == []:
            return self._errors.malformed(None, SERVER_ERROR, "Array is invalid")
        if self._elsewhere is not None and self.registry.needs_owner(request, caller):
            reply: Reply = self._elsewhere(body, caller)
        elif type(request) is list:
            reply = self._batches.answer(request, caller)
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

    def _one(self, request: Any, caller: Caller, in_slices: bool) -> Reply:
        """Return the reply to one request: the checks of rpc-api.md §1.4 in order, then the call."""
        if type(request) is not dict:
            return self._no_object(request)
        request_id = request.get("id")
        if type(request_id) is not str:
            if type(request_id) is int:
                request_id = json_int(request_id)
            elif request_id is not None or "id" in request:
                return self._errors.malformed(None, INVALID_REQUEST, 'Only integer value or string is allowed for member "id"')
        if request.get("jsonrpc") != "2.0":
            return self._errors.malformed(request_id, INVALID_REQUEST, 'jsonrpc value is not "2.0"')
        name = request.get("method")
        if type(name) is not str:
            return self._errors.malformed(request_id, INVALID_REQUEST, 'A member "method" does not exist')
        params = request.get("params", {})
        bound = self.registry.by_name.get(name)
        if bound is None:
            if name == "call" and "params" not in request:
                return self._errors.malformed(request_id, NO_PARAMS, 'A member "params" does not exist')
            try:
                path, params = path_of(name, params, caller.session is not None)
            except ChainError as error:
                self._observe("", 0.0, error)
                return self._errors.refused(request_id, error, code_of(error, DISPATCH_ERROR))
            bound = self.registry.by_path.get(path)
            if bound is None:
                return self._errors.not_found(request_id, path, caller)
        if bound.needs_local and caller.why_not_local:
            return self._errors.hidden(request_id, bound, (False, caller.session is not None), caller.why_not_local)
        if bound.needs_session and caller.session is None:
            return self._errors.hidden(request_id, bound, (caller.is_local, False), NO_SESSION)
        if bound.needs_owner and self._elsewhere is not None:
            return self._elsewhere(encoded(request), caller)
        return self._call(bound, (params, caller), request_id, request, in_slices and not bound.needs_session)

    def _no_object(self, request: Any) -> bytes:
        try:
            to_object(request)
        except ChainError as error:
            return self._errors.rejected(error, b"", PARSE_ERROR)
        raise AssertionError("only objects are objects")

    def _call(self, bound: BoundMethod, given: tuple[Any, Caller], request_id: RequestId, request: Any, in_slices: bool) -> Reply:
        """Call a method and return its reply; `given` are its params and caller.

        With `in_slices`, preparatory work is done in chunks between other replies.
        """
        if bound.waits:
            return self._wait(bound, given, request_id, request)
        try:
            return self._call_sync(bound, given, request_id, request, in_slices)
        except NotReady as unsettled:
            return self._prepare_and_call(unsettled, bound, given, request_id, request)

    def _call_sync(self, bound: BoundMethod, given: tuple[Any, Caller], request_id: RequestId, request: Any, in_slices: bool) -> bytes:
        """Call a method that doesn't wait, and return its reply. Raises: NotReady if it needs preparatory work and `in_slices` is set."""
        caller = given[1]
        call = (self.read_mode.try_read, bound.call) if in_slices else (bound.call,)
        start = self._stopwatch()
        try:
            units_max = self._allowances.call_units_max(caller)
            reply = _result(request_id, self._work.run(units_max, ONE_CALL, *call, *given))
        except NotReady:
            raise
        except Exception as error:
            refusal = getattr(error, "error", error)
            if isinstance(refusal, TooMuchWork):
                self._allowances.charge(caller, refusal.units, refusal)
            reply = self._errors.failed(request_id, error, request)
            self._observe(bound.name, self._stopwatch() - start, error)
        else:
            self._observe(bound.name, self._stopwatch() - start, None)
        return reply

    async def _prepare_and_call(
        self, unsettled: NotReady, bound: BoundMethod, given: tuple[Any, Caller], request_id: RequestId, request: Any
    ) -> bytes:
        """Do the preparatory work of a call in chunks between other replies, then call it and return its reply."""
        times = 0

        def advance() -> bytes | None:
            """Do one chunk; after the last one, repeat the call, which may need other work. Return None if there is more to do."""
            nonlocal unsettled, times
            try:
                if unsettled.advance():
                    return None
                return self._call_sync(bound, given, request_id, request, times < PREPARED_AGAIN_MAX)
            except NotReady as another:
                unsettled, times = another, times + 1
            except Exception as error:
                return self._errors.failed(request_id, error, request)
            return None

        reply = None
        while reply is None:
            reply = await self._scheduler.run(advance, given[1].queue)
        return reply

    async def _wait(self, bound: BoundMethod, given: tuple[Any, Caller], request_id: RequestId, request: Any) -> bytes:
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
            reply = self._errors.failed(request_id, error, request)
            self._observe(bound.name, self._stopwatch() - start, error)
        else:
            self._observe(bound.name, self._stopwatch() - start, None)
        return reply


def _result(request_id: RequestId, result: Any) -> bytes:
    return encoded({"jsonrpc": "2.0", "result": result, "id": request_id})
