"""Schedules replies among the other tasks of the node. Each reply runs without interruption, between the jobs that change the chain."""

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, TypeVar

import trio

from rpc.caller import Caller
from rpc.jsonrpc.fair_queue import FairLimiter

REPLIES_SECONDS_MAX = 0.01

# Enough checkpoints for a timer to wake the producer, for the producer to submit a block, and for the processor to apply it.
CHECKPOINTS = 3

Value = TypeVar("Value")
# A function that returns a monotonic time in seconds.
Stopwatch = Callable[[], float]
# A function that gets the body and the caller of a request, and returns the reply of another process.
AnswerElsewhere = Callable[[bytes, Caller], Awaitable[bytes]]


class ReadGate:
    """Gate for tasks that read the chain. It is closed while a job that changes the chain is interrupted. The tasks then wait until it
    opens.

    While the gate is closed, `standby` can answer reads in a forked copy of the process, which holds the chain as of before the job.
    `standby` is a function that takes the body and caller of a request, and returns b"" if the copy can't answer the request. Without such
    a process, `standby` is None.
    """

    def __init__(self) -> None:
        self.is_closed = self.is_unattended = False
        self.waiting_reads = 0
        self.standby: AnswerElsewhere | None = None
        self._changed = trio.Event()

    def close(self) -> None:
        """Close the gate. Tasks that read the chain then wait."""
        self.is_closed = True

    def open(self) -> None:
        """Open the gate, and drop the standby."""
        self.is_closed, self.standby = False, None
        self._wake()

    def leave_unattended(self) -> None:
        """Open the gate permanently. Only for use inside the standby, which has no event loop and answers one request at a time."""
        self.is_closed, self.is_unattended = False, True

    def set_standby(self, standby: AnswerElsewhere | None) -> None:
        """Set or remove the standby that answers reads while the gate is closed."""
        self.standby = standby
        self._wake()

    async def wait_open(self) -> None:
        """Wait until the gate is open. This is a checkpoint only if it waits."""
        while self.is_closed:
            await self._changed.wait()

    async def answer(self, body: bytes, caller: Caller) -> bytes:
        """Return the standby's reply. If the standby can't reply, wait until the gate is open and return b""."""
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
    """Runs replies one at a time while the gate is open: round-robin by client address, and in request order within an address.

    After replies have run for REPLIES_SECONDS_MAX in total, all other ready tasks run. A new block therefore waits at most for that time
    and the current reply, regardless of the number of connections and requests.
    """

    def __init__(self, stopwatch: Stopwatch = perf_counter, gate: ReadGate | None = None) -> None:
        self.gate = gate or ReadGate()
        self._stopwatch = stopwatch
        self._limiter = FairLimiter(1)
        self._seconds = 0.0

    @property
    def is_free(self) -> bool:
        """Whether the next reply can run without waiting."""
        return self._limiter.free > 0 and not self.gate.is_closed and (self._seconds <= REPLIES_SECONDS_MAX or self.gate.is_unattended)

    @property
    def is_due(self) -> bool:
        """Whether it is time to yield to other tasks."""
        return self._seconds > REPLIES_SECONDS_MAX and not self.gate.is_unattended

    def run_at_once(self, work: Callable[..., Value], *given: Any) -> Value:
        """Run `work` while the scheduler is free, and return its result.

        When `is_due` is set, the caller must call `run` before anything else takes long, for example after it has sent the reply.
        """
        start = self._stopwatch()
        value = work(*given)
        self._seconds += self._stopwatch() - start
        return value

    async def run(self, work: Callable[[], Value], address: str = "", instead: Callable[[], Awaitable[Value]] | None = None) -> Value:
        """Run `work` when the scheduler admits it, and return its result. The call is a trio checkpoint only if it waits or yields to other
        tasks.

        If the gate is closed, `instead` is called first. If it returns a result, that is returned and `work` doesn't run. A false value
        means that it has no result.
        """
        is_held = not self._limiter.free or self.gate.is_closed
        if is_held and (found := await self._wait(address, instead)):
            return found
        try:
            value = self.run_at_once(work)
            if self.is_due:
                # No other task has run yet, so the slot is acquired only now. Acquiring it earlier would double the time that this function
                # takes.
                if not is_held:
                    self._limiter.enter_nowait()
                    is_held = True
                await self._yield()
        finally:
            if is_held:
                self._limiter.leave()
        return value

    async def _wait(self, address: str, instead: Callable[[], Awaitable[Value]] | None) -> Value | None:
        """Wait for a slot and an open gate, and return None. While the gate is closed, first call `instead`, and return its result unless
        empty.
        """
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
        """Add the duration of a reply that ran unscheduled. If other tasks are due, yield to them, which is a checkpoint."""
        self._seconds += seconds
        if self.is_due:
            await self._yield()

    async def _yield(self) -> None:
        self._seconds = 0.0
        await yield_to_others()


async def yield_to_others() -> None:
    """Run all other ready tasks, by a few checkpoints."""
    for _ in range(CHECKPOINTS):
        await trio.lowlevel.checkpoint()
