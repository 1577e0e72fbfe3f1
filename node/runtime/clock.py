"""The wall clock as an injectable function, and the clock of a chain, which can differ from it."""

import time
from collections.abc import Callable

from rpc.log import Log

# Milliseconds since 1970.
Clock = Callable[[], int]
LEAP_MS_MIN = 1000  # smaller steps of the machine's clock count as passing time

_log = Log("clock")


def system_clock() -> int:
    """Return the machine's time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def steady_clock() -> int:
    """Return a monotonic time in milliseconds that continues while the machine sleeps."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1_000_000


class ChainClock:
    """The time of a chain in milliseconds since 1970: the machine's time plus `ahead_ms`, which can be negative.

    The block producer advances the clock to each block's time (`advance_to`). From then on the clock never returns an earlier time. If the
    machine's clock is set back, the chain's clock continues without a jump, and the difference is added to `behind_ms`. If the machine's
    clock is then corrected, the correction first reduces `behind_ms`, and only the remainder of the correction moves the chain's time.
    `offset_ms` is the offset set on purpose; corrections don't change it. Only `set_offset` moves the clock back, for a restored chain.
    `steady` is a monotonic clock that reveals when the machine's clock jumps.
    """

    def __init__(self, base: Clock = system_clock, start_ms: int | None = None, steady: Clock = steady_clock) -> None:
        self._base, self._steady = base, steady
        self._start_ms = start_ms
        self._difference_ms: int | None = None  # machine's clock minus steady clock, at the last comparison
        self._reached_ms = self.offset_ms = self.behind_ms = 0
        self.start()

    def __call__(self) -> int:
        """Return the chain's time in milliseconds since 1970."""
        now, before = self._base(), self.behind_ms
        difference = now - self._steady()
        leap = 0 if self._difference_ms is None else difference - self._difference_ms
        if self._difference_ms is None or abs(leap) >= LEAP_MS_MIN:
            self._difference_ms = difference
            self.behind_ms = max(0, before - max(0, leap))
        self.behind_ms += max(0, self._reached_ms - now - self.ahead_ms)
        if abs(self.behind_ms - before) >= LEAP_MS_MIN:
            self._log_change(leap)
        return now + self.ahead_ms

    def _log_change(self, leap: int) -> None:
        values = {"leap_seconds": leap // 1000, "chain_ahead_seconds": self.ahead_ms // 1000}
        if leap <= -LEAP_MS_MIN:
            _log.warning("the machine's clock was set back; the chain's time goes on", **values)
        elif leap >= LEAP_MS_MIN:
            _log.warning("the machine's clock was corrected", **values)
        else:
            _log.info("the head is ahead of the machine's clock; the chain's time continues from the head", **values)

    @property
    def ahead_ms(self) -> int:
        """The chain's time minus the machine's time, in milliseconds."""
        return self.offset_ms + self.behind_ms

    def machine(self) -> int:
        """Return the machine's time in milliseconds since 1970."""
        return self._base()

    def advance_to(self, time_ms: int) -> None:
        """Advance to at least `time_ms` by increasing the offset. From now on the clock never returns an earlier time."""
        self.offset_ms += max(0, time_ms - self())
        self._reached_ms = max(self._reached_ms, time_ms)

    def resume_from(self, time_ms: int) -> None:
        """Advance to at least `time_ms` without changing the offset, on the assumption that the machine's clock was set back."""
        self._reached_ms = max(self._reached_ms, time_ms)
        self()

    def start(self) -> None:
        """Reset to the machine's time, or to the configured start time."""
        self.set_offset(0 if self._start_ms is None else self._start_ms - self._base())

    def set_offset(self, lead_ms: int, behind_ms: int = 0) -> None:
        """Set the offset from the machine's time: `lead_ms`, plus `behind_ms` for times when the machine's clock was set back. This can set
        the chain's clock back.
        """
        self.offset_ms, self.behind_ms, self._reached_ms = lead_ms, behind_ms, 0


class TimeLimit:
    """A time limit that begins with the first call of `is_over` after `renew`, so that only the work that calls `is_over` is timed."""

    def __init__(self, milliseconds_max: int, clock: Clock = lambda: time.monotonic_ns() // 1_000_000) -> None:
        self._milliseconds_max = milliseconds_max
        self._clock = clock
        self._start: int | None = None

    def renew(self) -> None:
        """Make the time limit begin again with the next call of `is_over`."""
        self._start = None

    def extend(self, seconds: float) -> None:
        """Extend the limit by the `seconds` during which other tasks ran."""
        if self._start is not None:
            self._start += round(seconds * 1000)

    def is_over(self) -> bool:
        """Return whether the time limit has passed."""
        now = self._clock()
        if self._start is None:
            self._start = now
        return now - self._start > self._milliseconds_max
