"""Measures the iterations of the event loop. While an iteration runs, no other request is served.

Each iteration has two times: wall time, which clients wait for, and CPU time. If the wall time is much longer, other programs used the CPU.
"""

import time

import trio

from node.runtime.metric_families import DurationHistogram

# Upper bounds of the histogram buckets, in seconds.
ITERATION_BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
# `longest` covers the last complete window of this length and the current one.
WINDOW_SECONDS = 60.0


class EventLoopMonitor(trio.abc.Instrument):
    """A trio instrument that measures each loop iteration."""

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
        """Start measuring an iteration."""
        self._begun = time.perf_counter()
        self._begun_processor = time.thread_time()

    def before_io_wait(self, timeout: float) -> None:
        """Record the iteration that ends here."""
        now = time.perf_counter()
        seconds = now - self._begun
        self.iterations.add(seconds)
        self._advance(now)
        longest, processor = self._longest
        # CPU time is read only if it can be a new maximum: the system call takes a hundredth of a small request.
        if seconds > processor:
            self._longest = max(seconds, longest), max(time.thread_time() - self._begun_processor, processor)

    def longest(self) -> tuple[float, float]:
        """Return the longest wall time and the longest CPU time of an iteration, in seconds, in the current and the previous window."""
        self._advance(time.perf_counter())
        return max(self._longest[0], self._longest_before[0]), max(self._longest[1], self._longest_before[1])

    def _advance(self, now: float) -> None:
        """Start a new window if the current one is over. After a long pause both windows are empty."""
        windows = (now - self._window) // WINDOW_SECONDS
        if windows:
            self._longest_before = self._longest if windows == 1 else (0.0, 0.0)
            self._longest = 0.0, 0.0
            self._window += windows * WINDOW_SECONDS
