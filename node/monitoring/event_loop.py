"""How long the turns of the event loop take: nobody is served in the middle of one. It knows no task.

Two times are taken of each turn: the one that passed, which clients wait for, and the processor's, which is the node's own part of it.
Where the first is much longer, other programs had the processor.
"""

import time

import trio

from node.runtime.metric_families import DurationHistogram

# The upper bounds of the classes that turns are counted in, in seconds.
ITERATION_BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
# The longest turns are those of the last window of so many seconds, and of the one that has begun since.
WINDOW_SECONDS = 60.0


class EventLoopMonitor(trio.abc.Instrument):
    """Measures each turn, as an instrument of trio."""

    def __init__(self) -> None:
        self.iterations = DurationHistogram(ITERATION_BOUNDS)
        self._longest = self._longest_before = (0.0, 0.0)
        self._begun = self._window = time.perf_counter()
        self._begun_processor = time.thread_time()

    async def run(self) -> None:
        """Measure until cancelled."""
        trio.lowlevel.add_instrument(self)
        try:
            await trio.sleep_forever()
        finally:
            trio.lowlevel.remove_instrument(self)

    def after_io_wait(self, timeout: float) -> None:
        """Begin a turn."""
        self._begun = time.perf_counter()
        self._begun_processor = time.thread_time()

    def before_io_wait(self, timeout: float) -> None:
        """End a turn."""
        now = time.perf_counter()
        seconds = now - self._begun
        self.iterations.add(seconds)
        self._advance(now)
        longest, processor = self._longest
        # The system is asked for the processor's time only where that can be the longest: asking takes a hundredth of a small request.
        if seconds > processor:
            self._longest = max(seconds, longest), max(time.thread_time() - self._begun_processor, processor)

    def longest(self) -> tuple[float, float]:
        """Return the seconds of the longest turn of late, and those of the processor in the turn that needed most of it."""
        self._advance(time.perf_counter())
        return max(self._longest[0], self._longest_before[0]), max(self._longest[1], self._longest_before[1])

    def _advance(self, now: float) -> None:
        """Begin a new window if it is time; after a long pause both are empty."""
        windows = (now - self._window) // WINDOW_SECONDS
        if windows:
            self._longest_before = self._longest if windows == 1 else (0.0, 0.0)
            self._longest = 0.0, 0.0
            self._window += windows * WINDOW_SECONDS
