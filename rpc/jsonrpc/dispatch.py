"""The JSON-RPC service: takes the bytes of a request and returns the bytes of its reply. Independent of the transport.

A call runs without a checkpoint from its first read of the state until its reply is encoded. Every reply is therefore consistent. Source:
rpc-api.md §1.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from functools import partial
from typing import Any

import trio

from rpc.caller import ANYBODY, Caller
from rpc.declare.demand import ALL_ROUNDS, CallGuard, NotFetched, NotHere
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
from rpc.declare.named_keys import guarded
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
from rpc.jsonrpc.result_cache import ResultCache
from rpc.jsonrpc.scheduler import AnswerElsewhere, ReadGate, ReplyScheduler, Stopwatch, Value
from state.protocol.errors import ChainError, Refused
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.convert import json_int, to_object
from state.protocol.work import ONE_CALL, UNITS_MAX, TooMuchWork, Work
from state.store.lazy.incremental import NotReady, ReadMode

# Larger bodies are decoded one at a time, so that other requests wait for at most one of them. Decoding a body of this size takes some ms.
LARGE_SIZE_MIN = 250_000  # bytes
# Larger bodies are refused without decoding if the client's allowance of refused work is used up.
UNREAD_SIZE_MIN = 50_000  # bytes
# How often a call is repeated after preparatory sorting. After that, the call sorts everything at once, since it could otherwise be
# NotReady forever.
PREPARED_AGAIN_MAX = 100
# How often a call is repeated after a fetch from the source of a fork. What was fetched can name further accounts.
FETCHED_AGAIN_MAX = 5
NO_SESSION = "this needs a WebSocket"


def ignore_call(name: str, seconds: float, error: Exception | None) -> None:
    """Do nothing. This is the default of `observe`."""


class Service:
    """Serves the methods of one chain, with that chain's names and symbols. The methods' context objects (`state`, `processor`, ...) are
    passed as keyword arguments.

    * `plugins`: the enabled plugins; None means all.
    * `withheld`: the reason why `loopback_only` methods are not served at all. If it is "", callers with local rights can use them.
    * `service`, `wire`, `spec`: always available as context objects.
    * `observe`: called after each request.
    * `foresee`: called with the transactions that a batch will broadcast.
    * `read_mode`: the read mode of the state, for incremental reads.
    * `work`: counts the work of calls. `allowances` limits the refused work of clients, and `memory` the memory of their requests.
    * `elsewhere`: forwards calls that need the chain's owner, if that is another process.
    * `gate`: while it is closed, no call reads the chain.
    * `call_guard`: calls the methods of a fork.
    * `result_cache`: caches results of methods that depend only on the chain.
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
        call_guard: CallGuard | None = None,
        result_cache: ResultCache | None = None,
        **context: Any,
    ) -> None:
        self.wire, self.clock = wire, clock
        self._observe = observe
        self.read_mode = read_mode or ReadMode()
        self._elsewhere = elsewhere
        # A call of a fork can have to fetch something first.
        self._results = result_cache if call_guard is None else None
        self._work, self._allowances = work or Work(), allowances or Allowances(stopwatch)
        self._scheduler, self._stopwatch = ReplyScheduler(stopwatch, gate), stopwatch
        self.gate = self._scheduler.gate
        self.memory = memory or MemoryLimiter()
        self._large = {is_local: FairLimiter(1) for is_local in (False, True)}
        shared = {"service": self, "wire": wire, "spec": wire.spec, "explainer": explainer, "work": self._work}
        if call_guard is not None:
            shared["guard"] = partial(guarded, call_guard, wire)
        self.registry = Registry(methods, wire, shared | context, plugins, withheld)
        self._errors = ErrorReplies(self.registry, wire, clock, explainer, observe)
        prefetcher = None if foresee is None else BroadcastPrefetcher(self.registry, wire, foresee)
        queues = self._scheduler, stopwatch, self.memory, self._allowances
        self._batches = BatchRunner(self._one, self.refuse, *queues, prefetcher)

    async def in_turn(self, work: Callable[[], Value], address: str = "") -> Value:
        """Run `work` when the scheduler admits it, like a reply to a request from this address, and return its result. `work` should take
        about as long as a reply.
        """
        return await self._scheduler.run(work, address)

    def answer_at_once(self, body: bytes, caller: Caller) -> Reply | None:
        """Return the same reply as `answer_in_turn`, or None if the request must wait or is large.

        After sending the reply, the caller must call `give_way`.
        """
        if len(body) > UNREAD_SIZE_MIN or not self._scheduler.is_free:
            return None
        return self._scheduler.run_at_once(self.answer, body, caller, True)

    async def give_way(self) -> None:
        """Yield to other tasks if replies have run for long. This is a checkpoint only if it yields."""
        if self._scheduler.is_due:
            await self._scheduler.run(lambda: None)

    async def answer_in_turn(self, body: bytes, caller: Caller = ANYBODY) -> Reply:
        """Return the same reply as `answer`, but run the call when the scheduler admits it.

        If the call first needs much sorting, the sorting is done in chunks, and other replies run in between. A body that is too large for
        callers without local rights is decoded in a thread.
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
        """Return the reply to a request. For broadcasts and batches, return an awaitable of the reply. Never raises.

        With `in_slices`, the result is also an awaitable if the call first needs much sorting.
        """
        try:
            request = read_json(body, not caller.why_not_local)
        except Exception as error:
            return self.refuse(error, body)
        return self._answer(request, body, caller, in_slices)

    def refuse(self, error: Exception, body: bytes = b"") -> bytes:
        """Return the error reply to a body that can't be decoded, or that is refused without decoding."""
        return self._errors.rejected(error, body)

    def _answer(self, request: Any, body: bytes, caller: Caller, in_slices: bool) -> Reply:
        """Return the reply to a decoded body. `request` is its value: a request or a batch."""
        is_batch = type(request) is list
        if is_batch and len(request) > BATCH_MEMBERS_MAX:
            return self.refuse(Refused("A batch may have at most ${most} members", condition="size <= most", most=BATCH_MEMBERS_MAX))
        if is_batch and not request:
            return self._errors.malformed(None, SERVER_ERROR, "Array is invalid")
        if self._elsewhere is not None and self.registry.needs_owner(request, caller):
            reply: Reply = self._elsewhere(body, caller)
        elif is_batch:
            reply = self._batches.answer(request, caller)
        else:
            reply = self._one(request, caller, in_slices)
        return reply if isinstance(reply, bytes) or caller.is_local else self._await_reserved(values_size(body), caller, reply)

    async def _await_reserved(self, size: int, caller: Caller, reply: Awaitable[bytes]) -> bytes:
        """Await a reply. Meanwhile, reserve `size` bytes for the caller, the memory of the decoded request."""
        try:
            with self.memory.reserve(caller) as held:
                held.add(size)
                return await reply
        except Overloaded as error:
            return self.refuse(error)
        finally:
            if isinstance(reply, Coroutine):
                reply.close()  # no effect if it has finished

    def _one(self, request: Any, caller: Caller, in_slices: bool) -> Reply:
        """Check a request in the order of rpc-api.md §1.4, call its method, and return the reply."""
        if type(request) is not dict:
            return self._refuse_non_object(request)
        request_id = request.get("id")
        if type(request_id) is int:
            request_id = json_int(request_id)
        elif type(request_id) is not str and "id" in request:
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
        if bound.waits:
            return self._wait(bound, (params, caller), request_id, request)
        return self._call(bound, (params, caller), request_id, request, in_slices and not bound.needs_session)

    def _refuse_non_object(self, request: Any) -> bytes:
        try:
            to_object(request)
        except ChainError as error:
            return self._errors.rejected(error, b"", PARSE_ERROR)
        raise AssertionError("only objects are objects")

    def _call(self, bound: BoundMethod, given: tuple[Any, Caller], request_id: RequestId, request: Any, in_slices: bool) -> Reply:
        """Call a method that isn't async, and return its reply. `given` contains the call's params and its caller.

        With `in_slices`, preparatory work is done in chunks between other replies.
        """
        try:
            return self._call_sync(bound, given, request_id, request, in_slices)
        except NotReady as not_ready:
            return self._prepare_and_call(not_ready, bound, given, request_id, request)
        except NotHere as not_here:
            return self._fetch_and_call(not_here, bound, given, request_id, request)

    def _call_sync(self, bound: BoundMethod, given: tuple[Any, Caller], request_id: RequestId, request: Any, in_slices: bool) -> bytes:
        """Call a method that isn't async, and return its reply. Raises NotReady if the method needs preparatory work and `in_slices` is
        set. Raises NotHere if the call needs something of the source.
        """
        caller = given[1]
        function = (self.read_mode.try_read, bound.call) if in_slices else (bound.call,)
        start = self._stopwatch()
        try:
            units_max = self._allowances.call_units_max(caller)
            if self._results is None or not bound.is_of_chain:
                reply = _result(request_id, self._work.run(units_max, ONE_CALL, *function, *given))
            else:
                call, before = self._results.call_of(bound.name, given[0]), self._work.spent
                result: Any = self._results.find(call, units_max)
                if result is None:
                    reply = _result(request_id, self._work.run(units_max, ONE_CALL, *function, *given))
                    self._results.add(call, reply, self._work.spent - before)
                else:
                    reply = _result(request_id, result)
        except (NotReady, NotHere):
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
        self, not_ready: NotReady, bound: BoundMethod, given: tuple[Any, Caller], request_id: RequestId, request: Any
    ) -> bytes:
        """Do the preparatory work of a call in chunks between other replies. Then repeat the call, and return its reply."""
        repetitions = 0

        def advance() -> bytes | None:
            """Do one chunk of the work, and return None if there is more. After the last chunk, repeat the call, which can need further
            work.
            """
            nonlocal not_ready, repetitions
            try:
                self._charge(not_ready, given[1])
                if not_ready.advance():
                    return None
                return self._call_sync(bound, given, request_id, request, repetitions < PREPARED_AGAIN_MAX)
            except NotReady as another:
                not_ready, repetitions = another, repetitions + 1
            except Exception as error:
                return self._errors.failed(request_id, error, request)
            return None

        reply = None
        try:
            while reply is None:
                reply = await self._scheduler.run(advance, given[1].queue)
        except NotHere as not_here:
            reply = await self._fetch_and_call(not_here, bound, given, request_id, request)
        return reply

    def _charge(self, not_ready: NotReady, caller: Caller) -> None:
        """Charge a caller for preparatory work that would not be necessary without the limit of the query memory. Raises
        RefusedTooOften.
        """
        if not_ready.units:
            self._allowances.units_max(caller)
            self._allowances.charge(caller, min(not_ready.units, UNITS_MAX), not_ready)
            not_ready.units = 0

    async def _fetch_and_call(
        self, not_here: NotHere, bound: BoundMethod, given: tuple[Any, Caller], request_id: RequestId, request: Any
    ) -> bytes:
        """Fetch what a call needs from the source. Then repeat the call, which can need more, and return its reply."""
        if self.gate.is_unattended:
            raise not_here
        if self._elsewhere is not None:
            return await self._elsewhere(encoded(request), given[1])
        for _ in range(FETCHED_AGAIN_MAX):
            start = self._stopwatch()
            try:
                await not_here.fetch(given[1])
            except Exception as error:
                await self.gate.wait_open()
                self._observe(bound.name, self._stopwatch() - start, error)
                return self._errors.failed(request_id, error, request)
            try:
                return await self._scheduler.run(partial(self._call_sync, bound, given, request_id, request, True), given[1].queue)
            except NotReady as not_ready:
                return await self._prepare_and_call(not_ready, bound, given, request_id, request)
            except NotHere as another:
                not_here = another
        return self._errors.failed(request_id, NotFetched(ALL_ROUNDS, condition="fetches < max", n=FETCHED_AGAIN_MAX), request)

    async def _fetch_and_start(self, not_here: NotHere, bound: BoundMethod, given: tuple[Any, Caller]) -> Any:
        """Fetch what the call of an async method needs from the source, and return its result."""
        for _ in range(FETCHED_AGAIN_MAX):
            await not_here.fetch(given[1])
            await self.gate.wait_open()
            try:
                running = bound.call(*given)
            except NotHere as another:
                not_here = another
            else:
                return await running
        raise NotFetched(ALL_ROUNDS, condition="fetches < max", n=FETCHED_AGAIN_MAX)

    async def _wait(self, bound: BoundMethod, given: tuple[Any, Caller], request_id: RequestId, request: Any) -> bytes:
        """Call an async method, and return its reply."""
        caller = given[1]
        await self.gate.wait_open()
        start = self._stopwatch()
        try:
            if bound.needs_caller:
                # This refuses the call before its arguments are converted.
                self._allowances.units_max(caller)
            try:
                running = bound.call(*given)
            except NotHere as not_here:
                running = self._fetch_and_start(not_here, bound, given)
            reply = _result(request_id, await running)
        except Exception as error:
            await self.gate.wait_open()
            if bound.needs_caller and not isinstance(error, (PushFailed, UpstreamError, RefusedTooOften, NotFetched)):
                self._allowances.charge(caller, refusal_units(len(encoded(request))), getattr(error, "error", error))
            reply = self._errors.failed(request_id, error, request)
            self._observe(bound.name, self._stopwatch() - start, error)
        else:
            self._observe(bound.name, self._stopwatch() - start, None)
        return reply


def _result(request_id: RequestId, result: Any) -> bytes:
    return encoded({"jsonrpc": "2.0", "result": result, "id": request_id})
