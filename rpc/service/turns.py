"""Turns: which of replies and the rest of the node runs next. Each reply is one uninterrupted run, while the chain is at rest. It knows
nothing of replies.
"""

from collections.abc import Awaitable, Callable, Generator
from time import perf_counter
from typing import TypeVar

import trio

from rpc.service.caller import Caller
from rpc.service.fair import FairLimiter

SLICE_SECONDS = 0.01

# Until a timer that is due has woken the producer, it has handed a block to the processor, and that has applied it.
PASSES = 3

Value = TypeVar("Value")
# A monotonic time in seconds.
Stopwatch = Callable[[], float]
# Answers a request of a caller.
StandIn = Callable[[bytes, Caller], Awaitable[bytes]]


class Gate:
    """Whether the chain is at rest: it is shut while a job that changes the chain is interrupted. Whoever reads the chain in a task of its
    own waits until it is open.

    `stand_in` is another process that answers reads meanwhile, from the chain as it was before the job; None where there is none. It is
    called with a request as the service gets it, and returns b"" for one that it can't answer.
    """

    def __init__(self) -> None:
        self.is_shut = self.is_alone = False
        self.readers = 0  # that wait for their turn
        self.stand_in: StandIn | None = None
        self._news = trio.Event()

    def shut(self) -> None:
        """Let nobody read."""
        self.is_shut = True

    def open(self) -> None:
        """Let everybody read."""
        self.is_shut, self.stand_in = False, None
        self._tell()

    def leave_alone(self) -> None:
        """Open the gate in a copy of the process, for good: it has no event loop, and only one reader."""
        self.is_shut, self.is_alone = False, True

    def place(self, stand_in: StandIn | None) -> None:
        """Have reads answered by another process, or by none, until the gate is open."""
        self.stand_in = stand_in
        self._tell()

    async def opened(self) -> None:
        """Wait until the chain is at rest; no checkpoint where it is."""
        while self.is_shut:
            await self._news.wait()

    async def answer(self, body: bytes, caller: Caller) -> bytes:
        """Wait for the answer of the other process, and return it; b"" without one, once the gate is open."""
        while self.is_shut and self.stand_in is None:
            await self._news.wait()
        reply = b"" if self.stand_in is None else await self.stand_in(body, caller)
        if not reply:
            await self.opened()
        return reply

    def _tell(self) -> None:
        news, self._news = self._news, trio.Event()
        news.set()


NEVER_SHUT = Gate()


class Turns:
    """Runs replies one at a time while the gate is open. Client addresses take turns; those of one are in the order of their requests.

    When replies have run for SLICE_SECONDS altogether, everything else that is ready has its turn. So a new block waits only for the reply
    that is being made, however many connections ask for however much.
    """

    def __init__(self, stopwatch: Stopwatch = perf_counter, gate: Gate | None = None) -> None:
        self.gate = gate or Gate()
        self._stopwatch = stopwatch
        self._limiter = FairLimiter(1)
        self._seconds = 0.0

    @property
    def is_free(self) -> bool:
        """Whether the next reply waits for nobody."""
        return not (self._limiter.is_full or self.gate.is_shut)

    async def take(self, work: Callable[[], Value], address: str = "", instead: Callable[[], Awaitable[Value]] | None = None) -> Value:
        """Run something when it is its turn; a checkpoint only where it has to wait for others, or lets them in.

        While the gate is shut, `instead` may return the value, or what counts as false for none once the gate is open.
        """
        is_held = self._limiter.is_full or self.gate.is_shut
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
                await let_others_in()
        finally:
            if is_held:
                self._limiter.leave()
        return value

    async def _wait(self, address: str, instead: Callable[[], Awaitable[Value]] | None) -> Value | None:
        """Wait for the turn, while the gate is open. Nobody has it while the gate is shut, so that all who wait can be answered instead."""
        self.gate.readers += 1
        try:
            while True:
                if self.gate.is_shut and instead is not None and (found := await instead()):
                    return found
                await self.gate.opened()
                await self._limiter.enter(address)
                if not self.gate.is_shut:
                    return None
                self._limiter.leave()
        finally:
            self.gate.readers -= 1

    async def take_steps(self, steps: Generator[None, None, Value]) -> Value:
        """Take the steps of something, each when it is its turn; returns its result."""
        found: list[Value] = []

        def advance() -> bool:
            try:
                next(steps)
            except StopIteration as end:
                found.append(end.value)
            return not found

        while await self.take(advance):
            pass
        return found[0]

    async def count(self, seconds: float) -> None:
        """Count what has run like a reply without being asked for its turn; a checkpoint when it is time to let others in."""
        if self._is_used_up(seconds):
            await let_others_in()

    def _is_used_up(self, seconds: float) -> bool:
        """Count seconds, and return whether it is time to let others in; then another slice begins."""
        self._seconds += seconds
        if self._seconds <= SLICE_SECONDS:
            return False
        self._seconds = 0.0
        return not self.gate.is_alone


async def let_others_in() -> None:
    """Let all others have a turn."""
    for _ in range(PASSES):
        await trio.lowlevel.checkpoint()
