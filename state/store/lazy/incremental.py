"""Incremental reads: long preparatory work of a read, such as sorting, is done in chunks between other work.

The caller chooses the mode (`ReadMode`); rules and tests read at once. In incremental mode, a read that needs much work raises
`NotReady`, which holds a function that does one chunk of it. The caller calls this function until the work is done, lets other tasks
run in between, and repeats the read from the start. So the result is consistent, and equal to that of a read at once.
"""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from state.protocol.errors import ChainError
from state.protocol.work import TooMuchWork

# Things processed per chunk. A read with no more than one chunk of work does it at once.
CHUNK_ROWS = 500

Value = TypeVar("Value")


class NotReady(Exception):
    """Raised when a read needs preparatory work. Call `advance()`, one chunk, until it returns False, then repeat the read."""

    def __init__(self, advance: Callable[[], bool]) -> None:
        super().__init__("an incremental read must be repeated")
        self.advance = advance


class ReadMode:
    """Read mode of a state: uninterrupted, except during `try_read` and `read_incrementally`. All tables of a state share one."""

    __slots__ = ("is_incremental",)

    def __init__(self) -> None:
        self.is_incremental = False

    def raise_if_large(self, count: int, advance: Callable[[], bool]) -> None:
        """Raise Unsettled if the read is incremental and `count` things are more than one chunk."""
        if count > CHUNK_ROWS and self.is_incremental:
            raise NotReady(advance)

    def try_read(self, read: Callable[..., Value], *given: Any) -> Value:
        """Read incrementally: return the result or raise Unsettled."""
        self.is_incremental = True
        try:
            return read(*given)
        finally:
            self.is_incremental = False

    def read_incrementally(self, read: Callable[[], Value]) -> Generator[None, None, Value]:
        """Read incrementally and return the result. Yields after each chunk of preparatory work; the state can change meanwhile."""
        while True:
            try:
                return self.try_read(read)
            except NotReady as unsettled:
                while unsettled.advance():
                    yield
            yield


def process_some(things: set[Value], most: int, work: Callable[[Value], object]) -> None:
    """Remove at most `most` things from a set and call `work` for each.

    A thing whose work raises is not put back, so that it can't block the others. A ChainError means that the rules give the thing no
    value; it is ignored. Any other error is a bug; the first one is raised after the work for the others.
    """
    fault: Exception | None = None
    for _ in range(min(most, len(things))):
        # `pop`, because iterating would pass the empty slots of all removed things again in each chunk.
        thing = things.pop()
        try:
            work(thing)
        except (NotReady, TooMuchWork):
            things.add(thing)
            raise
        except ChainError:
            continue
        except Exception as error:
            fault = fault or error
        except BaseException:
            things.add(thing)
            raise
    if fault is not None:
        raise fault
