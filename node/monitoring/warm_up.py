"""Cache warming: runs the first reads of typical clients in advance, so that the lazy indices are already sorted when clients read them.

It runs after the start, after each restored savepoint, and periodically, since changed rows need sorting.
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

# The pause is PAUSE_TIMES the duration of the last run, so that warming takes a small share of the time even if no client reads. The
# minimum is about a block interval. A run without changes takes 2 ms.
PAUSE_TIMES = 20
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 3, 60
# Sorting the orders of a larger table would take seconds of CPU time. They are sorted only when a client reads them.
TABLE_ROWS_MAX = 200_000
ORDER_ROW_SIZE = 8  # bytes per row of an order

Value = TypeVar("Value")

_log = Log("warm_up")


async def warm_periodically(state: State, gate: ReadGate = ALWAYS_OPEN) -> None:
    """Warm up periodically, and whenever an earlier state is restored. Ends when cancelled or when a read fails."""
    restored = trio.Event()

    def on_restored() -> None:
        restored.set()

    state.on_restored.append(on_restored)
    try:
        while True:
            restored = trio.Event()
            begun = trio.current_time()
            state.journal.read_mode.memory.end_period()
            await warm_up(state, gate)
            pause = PAUSE_TIMES * (trio.current_time() - begun)
            with trio.move_on_after(min(max(pause, PAUSE_SECONDS_MIN), PAUSE_SECONDS_MAX)):
                await restored.wait()
    except Exception:
        # A client with the same read gets the error. The node works without cache warming.
        _log.exception("warm-up failed and has stopped")
    finally:
        state.on_restored.remove(on_restored)


async def warm_up(state: State, gate: ReadGate = ALWAYS_OPEN) -> None:
    """Run the reads that the plugins declare, and sort the lazy indices of all tables, in chunks between other tasks.

    What the limit of the query memory leaves no room for is not read in advance. First, the memory of discarded copies is freed.
    """
    memory = state.journal.read_mode.memory
    while state.journal.discarded:
        await trio.sleep(0)
        await gate.wait_open()
        del state.journal.discarded[-1:]
    for plugin in PLUGINS.values():
        if plugin.is_on(state) and memory.has_room((memory.limit or 0) // 8):
            for read in await run_incrementally(state, gate, partial(plugin.warm_up_reads, state, plugin.of(state))):
                await run_incrementally(state, gate, read)
    # A list, since attributes can change while other tasks run.
    for _, _, table in list(tables(state)):
        if isinstance(table, Table):
            for read in await run_incrementally(state, gate, partial(lazy_index_reads, table)):
                await run_incrementally(state, gate, read)


def lazy_index_reads(table: Table[Any]) -> list[Callable[[], object]]:
    """Return functions that each read, and thereby sort, a lazy index of the table. Return none for a table with more than TABLE_ROWS_MAX
    rows, or if the query memory has no room for its indices.
    """
    size = ORDER_ROW_SIZE * len(table) * len(table.lazy_orders)
    is_small = len(table) <= TABLE_ROWS_MAX and table.journal.read_mode.memory.has_room(size)
    return [order.first for order in table.lazy_orders] if is_small else []


async def run_incrementally(state: State, gate: ReadGate, read: Callable[[], Value]) -> Value:
    """Run a read incrementally, with other tasks between its chunks, and return its result."""
    steps = state.journal.read_mode.read_incrementally(read)
    while True:
        await trio.sleep(0)
        await gate.wait_open()
        try:
            next(steps)
        except StopIteration as end:
            value: Value = end.value
            return value
