"""Reads that are made in slices: what is sorted or worked out at a read may take long, and others have their turn in between.

Only the reader knows whether others wait, so it is the reader who asks for slices (`Reads`); rules and tests read at once.
What would have to do much work for such a read raises `Unsettled` instead, which holds the function that does a part of that work. The
reader calls it until all is done, lets others in meanwhile, and reads again from the start. So the result is of one moment, and equal to
that of a read at once.
"""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from state.protocol.errors import ChainError
from state.protocol.work import TooMuchWork

# So many things are sorted or worked out in a slice; a read that finds no more than these to do does them at once.
SLICE = 500

Value = TypeVar("Value")


class Unsettled(Exception):
    """What is read isn't ready: `advance` does a slice of the work, and returns whether there is more of it. It isn't sliced itself."""

    def __init__(self, advance: Callable[[], bool]) -> None:
        super().__init__("a read in slices has to be made again")
        self.advance = advance


class Reads:
    """How a state is read at the moment: at once, unless `attempt` or `in_slices` is under way. All tables of a state share one."""

    __slots__ = ("is_sliced",)

    def __init__(self) -> None:
        self.is_sliced = False

    def require_slice(self, count: int, advance: Callable[[], bool]) -> None:
        """Raise Unsettled when `count` things are to be done, if these are more than a slice and the read is one in slices."""
        if count > SLICE and self.is_sliced:
            raise Unsettled(advance)

    def attempt(self, read: Callable[..., Value], *given: Any) -> Value:
        """Return what is read, or raise Unsettled."""
        self.is_sliced = True
        try:
            return read(*given)
        finally:
            self.is_sliced = False

    def in_slices(self, read: Callable[[], Value]) -> Generator[None, None, Value]:
        """Return what is read; yields after each slice of what had to be done first. Meanwhile anything may change."""
        while True:
            try:
                return self.attempt(read)
            except Unsettled as unsettled:
                while unsettled.advance():
                    yield
            yield


def take_some(things: set[Value], most: int, work: Callable[[Value], object]) -> None:
    """Take at most `most` things out of a set, and do some work for each.

    A thing whose work raises is left out until it is added again, so that it can't block the others for ever. A refusal means that the
    rules give the thing no value, and is ignored. Any other error is a bug: the first one is raised after the work for the others.
    """
    fault: Exception | None = None
    for _ in range(min(most, len(things))):
        # By `pop`, since a walk would pass the places of all that are gone already, in each slice anew.
        thing = things.pop()
        try:
            work(thing)
        except (Unsettled, TooMuchWork):
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
