"""Turns: which of replies and the rest of the node runs next. Each reply is one uninterrupted run. It knows nothing of replies."""

from collections.abc import Callable, Generator
from time import perf_counter
from typing import TypeVar

import trio

SLICE_SECONDS = 0.01

# Until a timer that is due has woken the producer, it has handed a block to the processor, and that has applied it.
PASSES = 3

Value = TypeVar("Value")
# A monotonic time in seconds.
Stopwatch = Callable[[], float]


class Turns:
    """Runs replies one at a time, in the order in which they are ready.

    When replies have run for SLICE_SECONDS altogether, everything else that is ready has its turn. So a new block waits only for the reply
    that is being made, however many connections ask for however much.
    """

    def __init__(self, stopwatch: Stopwatch = perf_counter) -> None:
        self._stopwatch = stopwatch
        self._lock = trio.Lock()
        self._seconds = 0.0

    @property
    def is_free(self) -> bool:
        """Whether the next reply waits for nobody."""
        return not self._lock.locked()

    async def take(self, work: Callable[[], Value]) -> Value:
        """Run something when it is its turn; a checkpoint only where it has to wait for others, or lets them in."""
        is_held = self._lock.locked()
        if is_held:
            await self._lock.acquire()
        try:
            start = self._stopwatch()
            value = work()
            if self._is_used_up(self._stopwatch() - start):
                # Nobody else runs up to here, so that the lock is taken only now: that costs as much time as the rest of this function.
                if not is_held:
                    self._lock.acquire_nowait()
                    is_held = True
                await _let_others_in()
        finally:
            if is_held:
                self._lock.release()
        return value

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
            await _let_others_in()

    def _is_used_up(self, seconds: float) -> bool:
        """Count seconds, and return whether it is time to let others in; then another slice begins."""
        self._seconds += seconds
        if self._seconds <= SLICE_SECONDS:
            return False
        self._seconds = 0.0
        return True


async def _let_others_in() -> None:
    """Let all others have a turn."""
    for _ in range(PASSES):
        await trio.lowlevel.checkpoint()
