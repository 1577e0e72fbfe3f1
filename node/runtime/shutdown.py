"""Shutdown: stops the process on signals, and selects the error to report if several tasks fail."""

import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

import trio

from node.runtime.errors import NodeError
from rpc.log import Log

Failure = TypeVar("Failure", bound=BaseException)

_log = Log("node")


def run_to_end(main: Callable[[], Awaitable[int]]) -> int:
    """Run an async function in trio. If it fails with a group that contains only NodeErrors, raise just the first of them."""
    with raised_alone():
        return trio.run(main)


@contextmanager
def raised_alone() -> Iterator[None]:
    """Context manager that raises just the first error of a group that contains only NodeErrors."""
    try:
        yield
    except BaseExceptionGroup as group:
        expected, other = group.split(NodeError)
        if other is not None or expected is None:
            raise
        raise first_error(expected) from None


def first_error(group: BaseExceptionGroup[Failure]) -> Failure:
    """Return the first error in a group. If it is itself a group, return the first error in that, and so on."""
    error: BaseExceptionGroup[Failure] | Failure = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@asynccontextmanager
async def stopped_by_signals(stop: trio.Event, interrupt: Callable[[], None] = lambda: None) -> AsyncGenerator[trio.Nursery, None]:
    """At the first SIGINT or SIGTERM, set `stop`. At the second, call `interrupt` and cancel the `with` block.

    Yields a nursery whose tasks are cancelled at the end of the block.
    """

    async def watch(*, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for number in signals:
                if stop.is_set():
                    interrupt()
                    nursery.cancel_scope.cancel()
                else:
                    _log.info("stopping", signal=signal.Signals(number).name, hint="a second signal ends it at once")
                    stop.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(watch)
        yield nursery
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def cancelled_by(event: trio.Event) -> AsyncGenerator[None, None]:
    """Cancel the `with` block once an event is set."""
    async with trio.open_nursery() as nursery:

        async def cancel() -> None:
            await event.wait()
            nursery.cancel_scope.cancel()

        nursery.start_soon(cancel)
        yield
        nursery.cancel_scope.cancel()
