"""The wall clock as a function that is passed on, so that tests can bring their own, and the clock of a chain, which may run ahead of it.

It must not know what is timed.
"""

import time
from collections.abc import Callable

from rpc.log import Log

# Milliseconds since 1970.
Clock = Callable[[], int]
LEAP_MS_MIN = 1000  # smaller steps of the machine's clock are taken for time that passes

_log = Log("clock")


def system_clock() -> int:
    """Return the time of this machine."""
    return time.time_ns() // 1_000_000


def steady_clock() -> int:
    """Return a time in milliseconds that nobody can set, and that goes on while the machine sleeps."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1_000_000


class ChainClock:
    """The time of a chain in milliseconds since 1970: the machine's, later by `ahead_ms` (earlier if that is negative).

    Whoever makes a block has the clock `advance_to` the block's time. From then on it never shows less, even when the machine's clock is
    set back: it goes on, `behind_ms` later than the machine's. When that is put right, so much of its leap has been shown already, and only
    what goes beyond is a leap of the chain. `offset_ms` is what the chain has been moved ahead on purpose, and stays. Only `set_offset`
    takes the clock back, to the time of an earlier chain. `steady` tells leaps of the machine's clock from time that passes.
    """

    def __init__(self, base: Clock = system_clock, start_ms: int | None = None, steady: Clock = steady_clock) -> None:
        self._base, self._steady = base, steady
        self._start_ms = start_ms
        self._difference_ms: int | None = None  # of the machine's clock and the steady one, when they were last compared
        self._reached_ms = self.offset_ms = self.behind_ms = 0
        self.start()

    def __call__(self) -> int:
        """Return the time."""
        now, before = self._base(), self.behind_ms
        difference = now - self._steady()
        leap = 0 if self._difference_ms is None else difference - self._difference_ms
        if self._difference_ms is None or abs(leap) >= LEAP_MS_MIN:
            self._difference_ms = difference
            self.behind_ms = max(0, before - max(0, leap))
        self.behind_ms += max(0, self._reached_ms - now - self.ahead_ms)
        if abs(self.behind_ms - before) >= LEAP_MS_MIN:
            self._tell(leap)
        return now + self.ahead_ms

    def _tell(self, leap: int) -> None:
        values = {"leap_seconds": leap // 1000, "chain_ahead_seconds": self.ahead_ms // 1000}
        if leap <= -LEAP_MS_MIN:
            _log.warning("the machine's clock was set back; the chain's time goes on", **values)
        elif leap >= LEAP_MS_MIN:
            _log.warning("the machine's clock was put right", **values)
        else:
            _log.info("the head is ahead of the machine's clock; the chain's time goes on from there", **values)

    @property
    def ahead_ms(self) -> int:
        """How far the chain's time is ahead of the machine's."""
        return self.offset_ms + self.behind_ms

    def machine(self) -> int:
        """Return the time of the machine."""
        return self._base()

    def advance_to(self, time_ms: int) -> None:
        """Make it at least so late, now and from now on, by a leap of the chain."""
        self.offset_ms += max(0, time_ms - self())
        self._reached_ms = max(self._reached_ms, time_ms)

    def resume_from(self, time_ms: int) -> None:
        """Make it at least so late, now and from now on: where it isn't, the machine's clock is taken for one that was set back."""
        self._reached_ms = max(self._reached_ms, time_ms)
        self()

    def start(self) -> None:
        """Show the machine's time again, or the one that was given as the start."""
        self.set_offset(0 if self._start_ms is None else self._start_ms - self._base())

    def set_offset(self, lead_ms: int, behind_ms: int = 0) -> None:
        """Let it run so far ahead of the machine's, whatever it has reached before."""
        self.offset_ms, self.behind_ms, self._reached_ms = lead_ms, behind_ms, 0


class TimeLimit:
    """A limit of time that begins with the first question after a `renew`, so that only the work that asks is measured."""

    def __init__(self, milliseconds_max: int, clock: Clock = lambda: time.monotonic_ns() // 1_000_000) -> None:
        self._milliseconds_max = milliseconds_max
        self._clock = clock
        self._start: int | None = None

    def renew(self) -> None:
        """Begin again with the next question."""
        self._start = None

    def extend(self, seconds: float) -> None:
        """Let it take so much longer: others were at work."""
        if self._start is not None:
            self._start += round(seconds * 1000)

    def is_over(self) -> bool:
        """Return whether the time is up."""
        now = self._clock()
        if self._start is None:
            self._start = now
        return now - self._start > self._milliseconds_max
