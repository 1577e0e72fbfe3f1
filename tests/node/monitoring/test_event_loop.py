"""Durations of the event loop's iterations."""

import time

import trio
import trio.testing

from node.monitoring import event_loop
from node.monitoring.event_loop import EventLoopMonitor


async def test_loop_iterations_are_measured_while_running() -> None:
    turns = EventLoopMonitor()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        await trio.testing.wait_all_tasks_blocked()
        time.sleep(0.05)
        await trio.testing.wait_all_tasks_blocked()
        seconds, processor = turns.longest()
        assert seconds >= 0.05
        assert processor < seconds
        assert sum(turns.iterations.counts[4:]) >= 1
        nursery.cancel_scope.cancel()
    counted = sum(turns.iterations.counts)
    await trio.testing.wait_all_tasks_blocked()
    assert sum(turns.iterations.counts) == counted


async def test_the_longest_iteration_is_dropped_after_two_windows() -> None:
    turns = EventLoopMonitor()
    turns.after_io_wait(0)
    turns._begun -= 7
    turns.before_io_wait(0)
    turns._window -= event_loop.WINDOW_SECONDS
    assert turns.longest()[0] >= 7
    turns._window -= event_loop.WINDOW_SECONDS
    assert turns.longest()[0] < 7
    turns._longest = (9.0, 9.0)
    turns._window -= 3 * event_loop.WINDOW_SECONDS
    assert turns.longest() == (0.0, 0.0)
