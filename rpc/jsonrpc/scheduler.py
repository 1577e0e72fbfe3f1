"""Schedules replies among the other tasks of the node. Each reply is one uninterrupted run, between the jobs that change the chain."""

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TypeVar

import trio

from rpc.caller import Caller
from rpc.jsonrpc.fair_queue import FairLimiter

REPLIES_SECONDS_MAX = 0.01

# Enough for a due timer to wake the producer, for the producer to submit a block, and for the processor to apply it.
CHECKPOINTS = 3

Value = TypeVar("Value")
# Returns a monotonic time in seconds.
Stopwatch = Callable[[], float]
# Answers a request of a caller in another process.
AnswerElsewhere = Callable[[bytes, Caller], Awaitable[bytes]]


class ReadGate:
    """Gate for reads: closed while a job that changes the chain is paused in the middle. Tasks that read the chain wait until it is open.

    `standby` answers reads meanwhile in a forked copy of the process, which has the chain as it was before the job; None if there is
    none. It takes the body and caller of a request, and returns b"" for a request that it can't answer.
    """

    def __init__(self) -> None:
        self.is_closed = self.is_unattended = False
        self.waiting_reads = 0
        self.standby: AnswerElsewhere | None = None
        self._changed = trio.Event()

    def close(self) -> None:
        """Block reads."""
        self.is_closed = True

    def open(self) -> None:
        """Admit reads, and drop the standby."""
        self.is_closed, self.standby = False, None
        self._wake()

    def leave_unattended(self) -> None:
        """Open the gate for good, in the standby, which has no event loop and answers one request at a time."""
        self.is_closed, self.is_unattended = False, True

    def set_standby(self, standby: AnswerElsewhere | None) -> None:
        """Set or remove the standby, which answers reads until the gate is open."""
        self.standby = standby
        self._wake()

    async def wait_open(self) -> None:
        """Wait until the gate is open. No checkpoint if it already is."""
        while self.is_closed:
            await self._changed.wait()

    async def answer(self, body: bytes, caller: Caller) -> bytes:
        """Return the reply of the standby; or b"" once the gate is open, if the standby has none."""
        while self.is_closed and self.standby is None:
            await self._changed.wait()
        reply = b"" if self.standby is None else await self.standby(body, caller)
        if not reply:
            await self.wait_open()
        return reply

    def _wake(self) -> None:
        news, self._changed = self._changed, trio.Event()
        news.set()


ALWAYS_OPEN = ReadGate()


class ReplyScheduler:
    """Runs replies one at a time while the gate is open, in fair order by client address, and in request order within an address.

    After replies have run for REPLIES_SECONDS_MAX in total, all other ready tasks run. So a new block waits at most for the current
    reply and for that time, regardless of the number of connections and requests.
    """

    def __init__(self, stopwatch: Stopwatch = perf_counter, gate: ReadGate | None = None) -> None:
        self.gate = gate or ReadGate()
        self._stopwatch = stopwatch
        self._limiter = FairLimiter(1)
        self._seconds = 0.0

    @property
    def is_free(self) -> bool:
        """Whether the next reply can run at once."""
        return not (self._limiter.is_full or self.gate.is_closed)

    async def run(self, work: Callable[[], Value], address: str = "", instead: Callable[[], Awaitable[Value]] | None = None) -> Value:
        """Run `work` when it is scheduled, and return its result. A checkpoint only if it waits for others, or yields to them.

        While the gate is closed, `instead` can supply the value; a false value means none, once the gate is open.
        """
        is_held = self._limiter.is_full or self.gate.is_closed
        if is_held and (found := await self._wait(address, instead)):
            return found
        try:
            start = self._stopwatch()
            value = work()
            if self._is_used_up(self._stopwatch() - start):
                # No other task has run so far, so the slot is taken only now. Taking it costs as much time as the rest of this function.
                if not is_held:
                    self._limiter.enter_nowait()
                    is_held = True
                await yield_to_others()
        finally:
            if is_held:
                self._limiter.leave()
        return value

    async def _wait(self, address: str, instead: Callable[[], Awaitable[Value]] | None) -> Value | None:
        """Wait for the slot, while the gate is open. While it is closed no task holds the slot, so `instead` can answer all that wait."""
        self.gate.waiting_reads += 1
        try:
            while True:
                if self.gate.is_closed and instead is not None and (found := await instead()):
                    return found
                await self.gate.wait_open()
                await self._limiter.enter(address)
                if not self.gate.is_closed:
                    return None
                self._limiter.leave()
        finally:
            self.gate.waiting_reads -= 1

    async def charge(self, seconds: float) -> None:
        """Count the time of a reply that ran unscheduled. A checkpoint if it is time to yield to other tasks."""
        if self._is_used_up(seconds):
            await yield_to_others()

    def _is_used_up(self, seconds: float) -> bool:
        """Count seconds, and return whether it is time to yield to other tasks, which restarts the count."""
        self._seconds += seconds
        if self._seconds <= REPLIES_SECONDS_MAX:
            return False
        self._seconds = 0.0
        return not self.gate.is_unattended


async def yield_to_others() -> None:
    """Let all other ready tasks run."""
    for _ in range(CHECKPOINTS):
        await trio.lowlevel.checkpoint()
