"""Incremental reads: long preparatory work of a read, such as sorting, is done in chunks between other work.

The caller chooses the mode (`ReadMode`); rules and tests read without interruption. In incremental mode, a read that needs much work raises
`NotReady`, which has a function that does one chunk of the work. The caller calls this function until the work is done, lets other tasks
run in between, and repeats the read from the start. The result is therefore consistent, and equal to that of an uninterrupted read.
"""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from state.protocol.errors import ChainError
from state.protocol.work import TooMuchWork
from state.store.lazy.memory import QueryMemory

# Items processed per chunk. A read with at most one chunk of work does this work at once.
CHUNK_ROWS = 500

Value = TypeVar("Value")


class NotReady(Exception):
    """Raised when a read needs preparatory work.

    Call `advance()`, which does one chunk of the work, until it returns False. Then repeat the read. `units` is the work that the caller
    has to pay for.
    """

    def __init__(self, advance: Callable[[], bool], units: int = 0) -> None:
        super().__init__("an incremental read must be repeated")
        self.advance, self.units = advance, units


class ReadMode:
    """Read mode of a state: uninterrupted except in `try_read` and `read_incrementally`. All tables of a state share one object.

    `memory` limits the memory of data that only queries read.
    """

    __slots__ = ("is_incremental", "memory")

    def __init__(self) -> None:
        self.is_incremental = False
        self.memory = QueryMemory()

    def raise_if_large(self, count: int, advance: Callable[[], bool], units: int = 0) -> None:
        """Raise NotReady if the read is incremental and `count`, the number of items to process, exceeds one chunk. `advance` processes a
        chunk, and `units` is the work that the caller has to pay for.
        """
        if count > CHUNK_ROWS and self.is_incremental:
            self.memory.hold_used()
            raise NotReady(advance, units)

    def try_read(self, read: Callable[..., Value], *given: Any) -> Value:
        """Read incrementally: return the result or raise NotReady."""
        self.is_incremental = True
        self.memory.begin_read()
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
    """Remove at most `most` items from a set and call `work` for each.

    If the work for an item raises an error, the item is not put back, so that it can't block the others. A ChainError means that the rules
    give the item no value; the error is ignored. Any other error is a bug. The first such error is raised after the work for all items.
    """
    fault: Exception | None = None
    for _ in range(min(most, len(things))):
        # `pop` is used because an iteration would visit the empty slots of all removed items again in each chunk.
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
