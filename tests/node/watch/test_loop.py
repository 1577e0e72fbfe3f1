"""How long turns of the event loop took."""

import time

import trio
import trio.testing

from node.watch import loop
from node.watch.loop import LoopTurns


async def test_turns_are_measured_while_it_runs() -> None:
    turns = LoopTurns()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        await trio.testing.wait_all_tasks_blocked()
        time.sleep(0.05)
        await trio.testing.wait_all_tasks_blocked()
        seconds, processor = turns.longest()
        assert seconds >= 0.05
        assert processor < seconds
        assert sum(turns.turns.counts[4:]) >= 1
        nursery.cancel_scope.cancel()
    counted = sum(turns.turns.counts)
    await trio.testing.wait_all_tasks_blocked()
    assert sum(turns.turns.counts) == counted


async def test_the_longest_turn_is_forgotten_after_two_windows() -> None:
    turns = LoopTurns()
    turns.after_io_wait(0)
    turns._begun -= 7
    turns.before_io_wait(0)
    turns._window -= loop.WINDOW_SECONDS
    assert turns.longest()[0] >= 7
    turns._window -= loop.WINDOW_SECONDS
    assert turns.longest()[0] < 7
    turns._longest = (9.0, 9.0)
    turns._window -= 3 * loop.WINDOW_SECONDS
    assert turns.longest() == (0.0, 0.0)
