"""Controls time, scheduling, threads and signals of a simulated run, so that two runs of a seed are identical. Doesn't depend on the code
that is simulated.
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
    """The clocks of a world. Trio's mock clock measures elapsed time; `wall` is the machine's clock, which can jump.

    `milliseconds` is the wall clock for the node. `stopwatch` is the clock with which the node measures its own work. It doesn't advance
    during that work, unless the world is slow (`seconds_per_look`).
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
        """Return a time in milliseconds that is unaffected by changes of the wall clock."""
        return round(self.mock.current_time() * 1000)

    def stopwatch(self) -> float:
        """Return a monotonic time in seconds. In a world that is slowed down, each reading takes time."""
        self._looked += self.seconds_per_look
        return self._looked

    def leap(self, milliseconds: int) -> None:
        """Move the wall clock forward, or back if negative. This doesn't affect sleeping tasks."""
        self._leapt += milliseconds

    def pause(self, seconds: float) -> None:
        """Advance time while nothing runs, as if the process were stopped or the machine were asleep."""
        self.mock.jump(seconds)


def run(clockwork: Clockwork, seed: int, main: Callable[[], Awaitable[Value]]) -> Value:
    """Run an async function under the mock clock with a task order that depends only on the seed.

    Trio runs ready tasks in random order. Trio has an internal switch for deterministic tests, with which this function seeds that order.
    pytest-trio's support for hypothesis uses the same switch.
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
def simulated_threads(delay: Callable[[], float], signals: "Signals") -> Iterator[None]:
    """Run the node's thread work in the main thread, after a simulated delay of `delay()` seconds. Replace real signals with `signals`, and
    use a fixed process id, since the node writes it to its disk.

    The mock clock jumps to the next timer as soon as no task can run, so it would not wait for a real thread.
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
    """Simulated signals to the node; `send` has the effect of kill(1)."""

    def __init__(self) -> None:
        self._to_node: trio.MemorySendChannel[int] | None = None

    @contextmanager
    def receiver(self, *_numbers: int) -> Iterator[trio.MemoryReceiveChannel[int]]:
        """Replacement for `trio.open_signal_receiver`."""
        self._to_node, received = trio.open_memory_channel[int](SIGNALS_MAX)
        yield received

    def send(self, number: int) -> None:
        assert self._to_node is not None
        self._to_node.send_nowait(number)


def dice(seed: int, name: str) -> random.Random:
    """Return the random generator of one component of a world. Components don't influence each other's generators."""
    return random.Random(f"{seed} {name}")
