"""Turns: which of replies and the rest of the node runs next. Each reply is one uninterrupted run. It knows nothing of replies."""

from collections.abc import Callable
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
        try:
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            await self._lock.acquire()
        try:
            start = self._stopwatch()
            value = work()
            await self.count(self._stopwatch() - start)
        finally:
            self._lock.release()
        return value

    async def count(self, seconds: float) -> None:
        """Count what has run like a reply without being asked for its turn; a checkpoint when it is time to let others in."""
        self._seconds += seconds
        if self._seconds > SLICE_SECONDS:
            self._seconds = 0.0
            for _ in range(PASSES):
                await trio.lowlevel.checkpoint()
