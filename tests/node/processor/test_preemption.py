"""Functions that run in time slices: other tasks run in between, exceptions propagate, and cancellation waits for the end."""

import pytest
import trio

from node.processor.preemption import RUN_SECONDS_MAX, Preemption
from node.runtime.clock import TimeLimit
from rpc.jsonrpc.scheduler import ReadGate
from state.protocol.work import PAUSE_UNITS, Work
from tests.helpers.nodes import Watch


class Bench:
    """A `Preemption` with a stopwatch that advances by `slices` time slices at each reading, and a function that can be suspended at each
    step.
    """

    def __init__(self, slices: float = 1.0) -> None:
        self.units, self.gate, self.watch = Work(), ReadGate(), Watch(slices * RUN_SECONDS_MAX)
        self.time_limit = TimeLimit(200, lambda: int(self.watch.now * 1000))
        self.preemption = Preemption(self.units, self.gate, self.time_limit, self.watch)
        self.done: list[int] = []
        self.interrupted: list[float] = []

    def work(self, steps: int = 10) -> None:
        """Run steps that each count enough units of work for a suspension."""
        for step in range(steps):
            self.units.spend(PAUSE_UNITS + 1, "steps")
            self.done.append(step)

    async def run(self) -> None:
        """Run `work` to its end."""
        if not self.preemption.start(self.work):
            assert self.gate.is_closed
            await self.preemption.finish(self.interrupted.append)


async def test_a_short_job_is_not_interrupted() -> None:
    bench = Bench(0.01)
    with trio.testing.assert_no_checkpoints():
        await bench.run()
    assert bench.done == list(range(10))
    assert bench.interrupted == []


async def test_other_tasks_run_after_each_slice_with_the_gate_closed(nursery: trio.Nursery) -> None:
    bench = Bench(0.5)
    seen: list[tuple[int, bool]] = []

    async def watch() -> None:
        while True:
            await trio.lowlevel.checkpoint()
            seen.append((len(bench.done), bench.gate.is_closed))

    nursery.start_soon(watch)
    await bench.run()
    assert bench.done == list(range(10))
    assert len({count for count, is_shut in seen if is_shut}) == len(bench.interrupted) >= 3
    assert bench.interrupted == sorted(bench.interrupted)
    assert not bench.gate.is_closed
    bench.units.spend(10 * PAUSE_UNITS, "what others do")
    nursery.cancel_scope.cancel()


async def test_an_exception_propagates() -> None:
    bench = Bench()

    def fail() -> None:
        bench.work(3)
        raise ValueError("after three steps")

    assert not bench.preemption.start(fail)
    with pytest.raises(ValueError, match="after three steps"):
        await bench.preemption.finish(bench.interrupted.append)
    assert not bench.gate.is_closed
    assert bench.preemption.start(lambda: None)
    with pytest.raises(ZeroDivisionError):
        bench.preemption.start(lambda: 1 // 0)


async def test_a_cancelled_job_runs_to_its_end() -> None:
    bench = Bench()
    with trio.move_on_after(0) as scope:
        await bench.run()
    assert scope.cancelled_caught
    assert bench.done == list(range(10))
    assert not bench.gate.is_closed


async def test_the_time_limit_excludes_other_tasks() -> None:
    bench = Bench()
    over: list[bool] = []

    def work() -> None:
        for _ in range(5):
            bench.work(1)
            over.append(bench.time_limit.is_over())

    def interrupted(_: float) -> None:
        bench.watch.now += 1

    async def lag() -> None:
        for _ in range(20):
            bench.watch.now += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        assert not bench.preemption.start(work)
        nursery.start_soon(lag)
        await bench.preemption.finish(lambda _: None)
    assert over == [False] * 5


async def test_a_thrown_error_is_raised_at_the_pause() -> None:
    bench = Bench()

    def work() -> None:
        try:
            bench.work()
        finally:
            bench.done.append(-1)

    assert not bench.preemption.start(work)
    bench.preemption.throw(KeyError("left"))
    assert bench.done == [0, -1]
    with pytest.raises(KeyError, match="left"):
        await bench.preemption.finish(bench.interrupted.append)


async def test_a_pause_within_an_undo_can_not_raise() -> None:
    bench = Bench()

    def work() -> None:
        bench.units.spend(PAUSE_UNITS + 1, "steps")
        bench.units.spend(PAUSE_UNITS + 1, "steps")
        bench.units.undo(PAUSE_UNITS + 1)
        bench.units.undo(PAUSE_UNITS + 1)

    seen: list[bool] = []
    assert not bench.preemption.start(work)
    seen.append(bench.preemption.can_raise)
    await bench.preemption.finish(lambda _: seen.append(bench.preemption.can_raise))
    assert seen == [True, True, False]
