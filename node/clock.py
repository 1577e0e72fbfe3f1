"""The wall clock as a function that is passed on, so that tests can bring their own. It must not know what is timed."""

import time
from collections.abc import Callable

# Milliseconds since 1970.
Clock = Callable[[], int]


def system_clock() -> int:
    """Return the time of this machine."""
    return time.time_ns() // 1_000_000


class Patience:
    """A limit of time that begins with the first question after a `renew`, so that only the work that asks is measured."""

    def __init__(self, milliseconds_max: int, clock: Clock = lambda: time.monotonic_ns() // 1_000_000) -> None:
        self._milliseconds_max = milliseconds_max
        self._clock = clock
        self._start: int | None = None

    def renew(self) -> None:
        """Begin again with the next question."""
        self._start = None

    def is_over(self) -> bool:
        """Return whether the time is up."""
        now = self._clock()
        if self._start is None:
            self._start = now
        return now - self._start > self._milliseconds_max
