"""Makes the reads that clients begin with right after the start, so that no client waits until all is sorted. It knows no rule."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import trio

from state.plugins.registry import PLUGINS
from state.tables import State

Value = TypeVar("Value")


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
