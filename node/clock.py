"""The wall clock as a function that is passed on, so that tests can bring their own, and the clock of a chain, which may run ahead of it.

It must not know what is timed.
"""

import time
from collections.abc import Callable

# Milliseconds since 1970.
Clock = Callable[[], int]


def system_clock() -> int:
    """Return the time of this machine."""
    return time.time_ns() // 1_000_000


class ChainClock:
    """The time of a chain in milliseconds since 1970: another clock's, `lead_ms` later (earlier if that is negative).

    Whoever makes a block has the clock `reach` the block's time. From then on it never shows less, even when the other clock is set
    back: a chain whose own head lies ahead goes on from there. Only `set_back` takes it back, to the moment of an earlier chain.
    """

    def __init__(self, base: Clock = system_clock, start_ms: int | None = None) -> None:
        self._base = base
        self._start_ms = start_ms
        self._reached_ms = self.lead_ms = 0
        self.start()

    def __call__(self) -> int:
        """Return the time."""
        behind = self._reached_ms - self._base() - self.lead_ms
        if behind > 0:
            self.lead_ms += behind
        return self._base() + self.lead_ms

    def machine(self) -> int:
        """Return the time of the other clock."""
        return self._base()

    def reach(self, time_ms: int) -> None:
        """Make it at least so late, now and from now on."""
        self._reached_ms = max(self._reached_ms, time_ms)
        self()

    def start(self) -> None:
        """Show the other clock's time again, or the one that was given as the start."""
        self.set_back(0 if self._start_ms is None else self._start_ms - self._base())

    def set_back(self, lead_ms: int) -> None:
        """Let it run so far ahead of the other clock, whatever it has reached before."""
        self.lead_ms, self._reached_ms = lead_ms, 0


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
