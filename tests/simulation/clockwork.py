"""Time, scheduling, threads and the log of one simulated run: everything that would make two runs of one seed differ is taken over here.
It must not know what is run.
"""

import os
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import trio
from trio.testing import MockClock

Value = TypeVar("Value")
Event = dict[str, Any]
PROCESS = 4242
SIGNALS_MAX = 10


class Clockwork:
    """The times of a world. Trio's own is the one that passes; `wall` is what the machine's clock shows, which can leap.

    `milliseconds` reads the wall clock as the node does. `stopwatch` reads what the node measures its own work with: no time passes while
    it works, unless the world is slow (`seconds_per_look`).
    """

    def __init__(self, start: int) -> None:
        self.mock = MockClock(autojump_threshold=0)
        self.seconds_per_look = 0.0
        self._start = start * 1000
        self._leapt = 0
        self._looked = 0.0

    def milliseconds(self) -> int:
        """Return the wall clock's time, in milliseconds since 1970."""
        return self._start + self._leapt + round(self.mock.current_time() * 1000)

    def steady(self) -> int:
        """Return a steady time in milliseconds."""
        return round(self.mock.current_time() * 1000)

    def stopwatch(self) -> float:
        """Return a monotonic time in seconds; in a slow world each reading takes time."""
        self._looked += self.seconds_per_look
        return self._looked

    def leap(self, milliseconds: int) -> None:
        """Set the wall clock forward, or back where negative. Nobody's sleep becomes longer or shorter by it."""
        self._leapt += milliseconds

    def pause(self, seconds: float) -> None:
        """Let time pass in which nothing runs, as while the process is stopped or the machine sleeps."""
        self.mock.jump(seconds)


def run(clockwork: Clockwork, seed: int, main: Callable[[], Awaitable[Value]]) -> Value:
    """Run an async function under the mock clock, so that one seed always gives one order of tasks.

    Trio orders the tasks that can run by chance. It has a switch for tests, which makes that a matter of its own generator: pytest-trio
    sets it for hypothesis in the same way.
    """
    inside: Any = trio._core._run
    before = inside._ALLOW_DETERMINISTIC_SCHEDULING
    inside._ALLOW_DETERMINISTIC_SCHEDULING = True
    inside._r.seed(seed)
    try:
        return trio.run(main, clock=clockwork.mock)
    finally:
        inside._ALLOW_DETERMINISTIC_SCHEDULING = before


@contextmanager
def taken_over(delay: Callable[[], float], signals: "Signals") -> Iterator[None]:
    """Let what the node does in threads run in the one there is, after a time in seconds that `delay` returns; let only simulated signals
    reach it; and give the process one number in every run, since the node writes that to its disk.

    A real thread would be invisible to the mock clock, which leaps to the next timer as soon as no task can run.
    """

    async def run_sync(work: Callable[..., Any], *args: Any, **_options: Any) -> Any:
        await trio.sleep(delay())
        return work(*args)

    places: list[tuple[Any, str, Any]] = [
        (trio.to_thread, "run_sync", run_sync),
        (trio, "open_signal_receiver", signals.receiver),
        (os, "getpid", lambda: PROCESS),
    ]
    before = [getattr(module, name) for module, name, _ in places]
    for module, name, ours in places:
        setattr(module, name, ours)
    try:
        yield
    finally:
        for (module, name, _), own in zip(places, before, strict=True):
            setattr(module, name, own)


class Signals:
    """Signals to the node: `send` has the effect of kill(1) on its process."""

    def __init__(self) -> None:
        self._to_node: trio.MemorySendChannel[int] | None = None

    @contextmanager
    def receiver(self, *_numbers: int) -> Iterator[trio.MemoryReceiveChannel[int]]:
        """Replaces `trio.open_signal_receiver`."""
        self._to_node, received = trio.open_memory_channel[int](SIGNALS_MAX)
        yield received

    def send(self, number: int) -> None:
        """Send a signal."""
        assert self._to_node is not None
        self._to_node.send_nowait(number)


def dice(seed: int, name: str) -> random.Random:
    """Return the generator of one part of a world, independent of other parts."""
    return random.Random(f"{seed} {name}")
