"""Makes the reads that clients begin with, after the start and after each return to an earlier moment, so that these needn't wait.

What they read is sorted by then. It knows no rule.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import trio

from state.plugins.registry import PLUGINS
from state.tables import State

Value = TypeVar("Value")


async def keep_ahead(state: State) -> None:
    """Read ahead, and again whenever the state has been put back to an earlier one, until cancelled: lazy orders are empty after that."""
    is_back = trio.Event()

    def note() -> None:
        is_back.set()

    state.on_put_back.append(note)
    try:
        while True:
            is_back = trio.Event()
            await read_ahead(state)
            await is_back.wait()
    finally:
        state.on_put_back.remove(note)


async def read_ahead(state: State) -> None:
    """Make the reads that the plugins of a state declare, in slices between other tasks."""
    for plugin in PLUGINS.values():
        if plugin.is_on(state):
            for read in await in_slices(state, partial(plugin.ahead, state, plugin.of(state))):
                await in_slices(state, read)


async def in_slices(state: State, read: Callable[[], Value]) -> Value:
    """Return what is read; other tasks have their turn in between."""
    steps = state.journal.reads.in_slices(read)
    while True:
        await trio.sleep(0)
        try:
            next(steps)
        except StopIteration as end:
            value: Value = end.value
            return value
