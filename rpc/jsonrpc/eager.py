"""Starts awaitables eagerly, running each until it first blocks. Most of them complete without blocking."""

from collections.abc import Awaitable, Generator
from types import coroutine
from typing import Any, Generic, TypeVar

from msgspec import Struct

Value = TypeVar("Value")


class Completed(Struct, Generic[Value], frozen=True):
    """Result of an awaitable that completed without blocking."""

    value: Value


def start_eagerly(work: Awaitable[Value]) -> Completed[Value] | Awaitable[Value]:
    """Run an awaitable until it first blocks. Return its result if it has completed.

    Otherwise return an awaitable for the rest, which the task must await next. The caller can thus postpone preparations that are needed
    only if the work blocks, for example watching the client's connection.

    The work may have entered cancel scopes and nurseries, which trio requires to be exited in reverse order. The caller must therefore not
    enter any before it awaits the rest. To cancel the rest, use a scope that was entered before the start.
    """
    steps = work.__await__()
    try:
        waited_for = next(steps)
    except StopIteration as end:
        return Completed(end.value)
    return _resume(steps, waited_for)


@coroutine
def _resume(steps: Generator[Any, Any, Value], waited_for: Any) -> Generator[Any, Any, Value]:
    """Pass the requests that the awaitable yields to trio, and send trio's outcomes back. Errors are sent as outcomes, too, so no exception
    is thrown into the awaitable.
    """
    while True:
        outcome = yield waited_for
        try:
            waited_for = steps.send(outcome)
        except StopIteration as end:
            value: Value = end.value
            return value
