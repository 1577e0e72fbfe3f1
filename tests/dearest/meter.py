"""Measures the cost of a piece of work: its longest uninterrupted stretch, its total, and its work units."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing
from msgspec import Struct

from tests.dearest.world import World


class Cost(Struct, frozen=True):
    """CPU milliseconds of the longest stretch and in total, work units (0 if none are counted), and the result."""

    longest: float
    total: float
    units: int
    outcome: bytes = b""


class Stretches(trio.abc.Instrument):
    """A trio instrument that measures each stretch between two checkpoints, for all tasks except one."""

    def __init__(self, but: trio.lowlevel.Task) -> None:
        self._but, self._begun = but, 0.0
        self.longest = self.total = 0.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Called before a task continues."""
        self._begun = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Called when a task reaches a checkpoint."""
        if task is not self._but:
            took = (time.thread_time() - self._begun) * 1000
            self.total += took
            self.longest = max(self.longest, took)


def units_spent(world: World) -> int:
    """Return the work units since the node's start."""
    work = getattr(world.state, "work", None)
    return 0 if work is None else int(work.spent)


async def measured(world: World, work: Callable[[], Awaitable[Any]]) -> Cost:
    """Run `work` in a separate task and return its cost."""
    stretches = Stretches(trio.lowlevel.current_task())
    outcome: list[Any] = []

    async def run() -> None:
        outcome.append(await work())

    before = units_spent(world)
    trio.lowlevel.add_instrument(stretches)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
    finally:
        trio.lowlevel.remove_instrument(stretches)
    came = outcome[0] if isinstance(outcome[0], bytes) else b""
    return Cost(stretches.longest, stretches.total, units_spent(world) - before, came)


@asynccontextmanager
async def served(world: World) -> AsyncIterator[None]:
    """Process the chain's jobs for the duration of the context."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.processor.run)
        await trio.testing.wait_all_tasks_blocked()
        yield
        nursery.cancel_scope.cancel()


async def asked(world: World, body: bytes) -> Cost:
    """Return the cost of a request from a remote client."""

    async def ask() -> bytes:
        reply = await world.service.answer_in_turn(body)
        return reply if isinstance(reply, bytes) else await reply

    return await measured(world, ask)
