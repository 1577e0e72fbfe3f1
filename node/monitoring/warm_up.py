"""Makes the reads that clients begin with before they ask, so that these needn't wait: after the start, after each return to an earlier
moment, and now and then, since what has changed meanwhile has to be sorted in.

What they read is sorted by then. It knows no rule.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import trio

from node.monitoring.metrics import tables
from rpc.jsonrpc.scheduler import ALWAYS_OPEN, ReadGate
from rpc.log import Log
from state.plugins.registry import PLUGINS
from state.store import Table
from state.tables import State

# The pause between two looks is so many times as long as the last one took, so that reading ahead takes a small part of the time: it may
# be for nobody. It is no shorter than about a block; where nothing has changed, a look takes two milliseconds.
PAUSE_TIMES = 20
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 3, 60
# The orders of a table take some 150 bytes of a row each. Beyond so many rows only those are sorted that somebody reads.
ROWS_MAX = 200_000

Value = TypeVar("Value")

_log = Log("ahead")


async def keep_warm(state: State, gate: ReadGate = ALWAYS_OPEN) -> None:
    """Read ahead now and then, and whenever the state has been put back to an earlier one, until cancelled or until a read fails."""
    is_back = trio.Event()

    def note() -> None:
        is_back.set()

    state.on_restored.append(note)
    try:
        while True:
            is_back = trio.Event()
            begun = trio.current_time()
            await warm_up(state, gate)
            pause = PAUSE_TIMES * (trio.current_time() - begun)
            with trio.move_on_after(min(max(pause, PAUSE_SECONDS_MIN), PAUSE_SECONDS_MAX)):
                await is_back.wait()
    except Exception:
        # Who makes that read will get the error; nobody else has to, as the node could do without this.
        _log.exception("reading ahead failed, and has ended")
    finally:
        state.on_restored.remove(note)


async def warm_up(state: State, gate: ReadGate = ALWAYS_OPEN) -> None:
    """Make the reads that the plugins of a state declare, and sort what is sorted when it is read, in slices between other tasks."""
    for plugin in PLUGINS.values():
        if plugin.is_on(state):
            for read in await in_chunks(state, gate, partial(plugin.warm_up_reads, state, plugin.of(state))):
                await in_chunks(state, gate, read)
    # As a list, since attributes may come and go in between.
    for _, _, table in list(tables(state)):
        if isinstance(table, Table):
            for read in await in_chunks(state, gate, partial(reads_of, table)):
                await in_chunks(state, gate, read)


def reads_of(table: Table[Any]) -> list[Callable[[], object]]:
    """Return the reads that sort a table's lazy orders, unless they take much memory."""
    return [order.first for order in table.lazy_orders] if len(table) <= ROWS_MAX else []


async def in_chunks(state: State, gate: ReadGate, read: Callable[[], Value]) -> Value:
    """Return what is read; other tasks have their turn in between."""
    steps = state.journal.read_mode.read_incrementally(read)
    while True:
        await trio.sleep(0)
        await gate.wait_open()
        try:
            next(steps)
        except StopIteration as end:
            value: Value = end.value
            return value
