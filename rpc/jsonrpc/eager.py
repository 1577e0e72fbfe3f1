"""Replies that may have to wait for something, begun at once, since most of them turn out not to wait. It knows nothing of requests."""

from collections.abc import Awaitable, Generator
from types import coroutine
from typing import Any, Generic, TypeVar

from msgspec import Struct

Value = TypeVar("Value")


class Completed(Struct, Generic[Value], frozen=True):
    """The result of work that did not wait."""

    value: Value


def start_eagerly(work: Awaitable[Value]) -> Completed[Value] | Awaitable[Value]:
    """Do work up to where it first waits: return its result, or what goes on with it, which must be the next thing that this task awaits.

    So what only work that waits needs, as having its client watched, isn't prepared for all.

    Work may have entered cancel scopes and nurseries by then, and trio demands that they are left in the reverse order: so its caller
    enters none between the two. What is to cancel work that waits is a scope that was entered before.
    """
    steps = work.__await__()
    try:
        waited_for = next(steps)
    except StopIteration as end:
        return Completed(end.value)
    return _resume(steps, waited_for)


@coroutine
def _resume(steps: Generator[Any, Any, Value], waited_for: Any) -> Generator[Any, Any, Value]:
    """Pass to trio what work waits for, and to the work the outcomes that trio sends; errors are outcomes too, and none is thrown."""
    while True:
        outcome = yield waited_for
        try:
            waited_for = steps.send(outcome)
        except StopIteration as end:
            value: Value = end.value
            return value
