"""JSON-RPC batches. The calls of a batch run one after another, and other requests can run between them. The replies are sent together."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from msgspec import Struct

from rpc.caller import Caller
from rpc.jsonrpc.allowance import Allowances
from rpc.jsonrpc.memory import MemoryLimiter, MemoryReservation
from rpc.jsonrpc.prefetch import BATCH_MIN, MEMBERS_MAX, BroadcastPrefetcher
from rpc.jsonrpc.scheduler import ReplyScheduler, Stopwatch
from state.protocol.errors import Refused

# Most clients send batches of tens of calls, and indexers send some hundreds. Refusing this number of calls takes 0.1 s and 2 MB.
BATCH_MEMBERS_MAX = 5_000
BATCH_REPLY_SIZE_MAX, LOCAL_BATCH_REPLY_SIZE_MAX = 32_000_000, 256_000_000  # bytes; the total size of a batch's replies

Reply = bytes | Awaitable[bytes]


class BatchRunner(Struct, frozen=True):
    """Answers batches. `answer_one` returns the reply to one request of a caller, and `refuse` returns the reply to a refused batch."""

    answer_one: Callable[[Any, Caller, bool], Reply]
    refuse: Callable[[Exception], bytes]
    scheduler: ReplyScheduler
    stopwatch: Stopwatch
    memory: MemoryLimiter
    allowances: Allowances
    prefetcher: BroadcastPrefetcher | None

    async def answer(self, requests: list[Any], caller: Caller) -> bytes:
        """Return the replies to a batch as one array, in request order. For a caller without local rights, they count towards the memory
        limit.
        """
        try:
            with self.memory.reserve(caller) as held:
                return await self._answers(requests, caller, held)
        except Refused as error:
            return self.refuse(error)

    async def _answers(self, requests: list[Any], caller: Caller, held: MemoryReservation) -> bytes:
        replies, size, size_max = [b"["], 0, LOCAL_BATCH_REPLY_SIZE_MAX if caller.is_local else BATCH_REPLY_SIZE_MAX
        prefetcher = self.prefetcher if len(requests) >= BATCH_MIN else None
        for place, request in enumerate(requests):
            if prefetcher is not None and place % MEMBERS_MAX == 0 and not self.allowances.is_used_up(caller):
                await self.scheduler.run(partial(prefetcher.prefetch, requests[place : place + MEMBERS_MAX]), caller.queue)
            # Requests are removed one by one, since freeing the values of all of them at once would take long.
            requests[place] = None
            reply = await self.scheduler.run(partial(self.answer_one, request, caller, True), caller.queue)
            if not isinstance(reply, bytes):
                # The time of the call counts, because it can take long without waiting. For example, a broadcast can be refused at once and
                # explained for 30 ms.
                start = self.stopwatch()
                reply = await reply
                await self.scheduler.charge(self.stopwatch() - start)
            if not caller.is_local:
                held.add(len(reply))
            size += len(reply)
            if size > size_max:
                raise Refused("The answers to a batch may have at most ${most} bytes", condition="size <= most", most=size_max)
            replies += reply, b","
        replies[-1] = b"]"
        return b"".join(replies)
