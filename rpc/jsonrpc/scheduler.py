"""Turns: which of replies and the rest of the node runs next. Each reply is one uninterrupted run, while the chain is at rest. It knows
nothing of replies.
"""

from collections.abc import Awaitable, Callable, Generator
from time import perf_counter
from typing import TypeVar

import trio

from rpc.caller import Caller
from rpc.jsonrpc.fair_queue import FairLimiter

REPLIES_SECONDS_MAX = 0.01

# Until a timer that is due has woken the producer, it has handed a block to the processor, and that has applied it.
CHECKPOINTS = 3

Value = TypeVar("Value")
# A monotonic time in seconds.
Stopwatch = Callable[[], float]
# Answers a request of a caller.
AnswerElsewhere = Callable[[bytes, Caller], Awaitable[bytes]]


class ReadGate:
    """Whether the chain is at rest: it is shut while a job that changes the chain is interrupted. Whoever reads the chain in a task of its
    own waits until it is open.

    `standby` is another process that answers reads meanwhile, from the chain as it was before the job; None where there is none. It is
    called with a request as the service gets it, and returns b"" for one that it can't answer.
    """

    def __init__(self) -> None:
        self.is_closed = self.is_unattended = False
        self.waiting_reads = 0  # that wait for their turn
        self.standby: AnswerElsewhere | None = None
        self._changed = trio.Event()

    def close(self) -> None:
        """Let nobody read."""
        self.is_closed = True

    def open(self) -> None:
        """Let everybody read."""
        self.is_closed, self.standby = False, None
        self._wake()

    def leave_unattended(self) -> None:
        """Open the gate in a copy of the process, for good: it has no event loop, and only one reader."""
        self.is_closed, self.is_unattended = False, True

    def set_standby(self, stand_in: AnswerElsewhere | None) -> None:
        """Have reads answered by another process, or by none, until the gate is open."""
        self.standby = stand_in
        self._wake()

    async def wait_open(self) -> None:
        """Wait until the chain is at rest; no checkpoint where it is."""
        while self.is_closed:
            await self._changed.wait()

    async def answer(self, body: bytes, caller: Caller) -> bytes:
        """Wait for the answer of the other process, and return it; b"" without one, once the gate is open."""
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
    """Runs replies one at a time while the gate is open. Client addresses take turns; those of one are in the order of their requests.

    When replies have run for SLICE_SECONDS altogether, everything else that is ready has its turn. So a new block waits only for the reply
    that is being made, however many connections ask for however much.
    """

    def __init__(self, stopwatch: Stopwatch = perf_counter, gate: ReadGate | None = None) -> None:
        self.gate = gate or ReadGate()
        self._stopwatch = stopwatch
        self._limiter = FairLimiter(1)
        self._seconds = 0.0

    @property
    def is_free(self) -> bool:
        """Whether the next reply waits for nobody."""
        return not (self._limiter.is_full or self.gate.is_closed)

    async def run(self, work: Callable[[], Value], address: str = "", instead: Callable[[], Awaitable[Value]] | None = None) -> Value:
        """Run something when it is its turn; a checkpoint only where it has to wait for others, or lets them in.

        While the gate is shut, `instead` may return the value, or what counts as false for none once the gate is open.
        """
        is_held = self._limiter.is_full or self.gate.is_closed
        if is_held and (found := await self._wait(address, instead)):
            return found
        try:
            start = self._stopwatch()
            value = work()
            if self._is_used_up(self._stopwatch() - start):
                # Nobody else runs up to here, so that the place is taken only now: that costs as much time as the rest of this function.
                if not is_held:
                    self._limiter.enter_nowait()
                    is_held = True
                await yield_to_others()
        finally:
            if is_held:
                self._limiter.leave()
        return value

    async def _wait(self, address: str, instead: Callable[[], Awaitable[Value]] | None) -> Value | None:
        """Wait for the turn, while the gate is open. Nobody has it while the gate is shut, so that all who wait can be answered instead."""
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

    async def run_steps(self, steps: Generator[None, None, Value]) -> Value:
        """Take the steps of something, each when it is its turn; returns its result."""
        found: list[Value] = []

        def advance() -> bool:
            try:
                next(steps)
            except StopIteration as end:
                found.append(end.value)
            return not found

        while await self.run(advance):
            pass
        return found[0]

    async def charge(self, seconds: float) -> None:
        """Count what has run like a reply without being asked for its turn; a checkpoint when it is time to let others in."""
        if self._is_used_up(seconds):
            await yield_to_others()

    def _is_used_up(self, seconds: float) -> bool:
        """Count seconds, and return whether it is time to let others in; then another slice begins."""
        self._seconds += seconds
        if self._seconds <= REPLIES_SECONDS_MAX:
            return False
        self._seconds = 0.0
        return not self.gate.is_unattended


async def yield_to_others() -> None:
    """Let all others have a turn."""
    for _ in range(CHECKPOINTS):
        await trio.lowlevel.checkpoint()
