"""How a node is run to its end: the signals that stop it, and the error that counts when several tasks fail. It knows no task."""

import signal
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import trio

from node.failures import NodeError
from rpc.log import Log

Failure = TypeVar("Failure", bound=BaseException)

_log = Log("node")


class Stoppable(Protocol):
    """What signals end: `stop` is set at the first, `is_interrupted` at the second."""

    stop: trio.Event
    is_interrupted: bool


def run_to_end(main: Callable[[], Awaitable[int]]) -> int:
    """Run an async function in trio. Of a group of errors that are all for the user, the first is raised alone."""
    try:
        return trio.run(main)
    except BaseExceptionGroup as group:
        expected, other = group.split(NodeError)
        if other is not None or expected is None:
            raise
        raise first_of(expected) from None


def first_of(group: BaseExceptionGroup[Failure]) -> Failure:
    """Return the first of the errors in a group of errors and groups."""
    error: BaseExceptionGroup[Failure] | Failure = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def watch_signals(
    site: Stoppable, everything: trio.CancelScope, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Stop the site at the first SIGINT or SIGTERM, and cancel everything at the second."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            if site.stop.is_set():
                site.is_interrupted = True
                everything.cancel()
            else:
                _log.info("stopping", signal=signal.Signals(number).name, hint="a second signal ends it at once")
                site.stop.set()
