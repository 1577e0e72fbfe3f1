"""Reads that are made in slices: what is sorted or worked out at a read may take long, and others have their turn in between.

Only who reads knows whether others wait, so it is the reader who asks for slices (`attempt`, `in_slices`); rules and tests read at once.
Whatever is about to do much work in such a read raises `Unsettled` instead, which holds the function that does a part of that work. The
reader calls it until all is done, lets others in meanwhile, and reads again from the start. So what it gets in the end is of one moment,
and equal to what it would have got at once.
"""

from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, TypeVar

# So many things are sorted or worked out in a slice; a read that finds no more than these to do does them at once.
SLICE = 500

Value = TypeVar("Value")

# A variable of the context, as those who notice that there is much to do are called through many others, which don't care. It is looked at
# only where there is.
_is_sliced = ContextVar("is_sliced", default=False)


class Unsettled(Exception):
    """What is read isn't ready: `advance` does a slice of the work, and returns whether there is more of it. It isn't sliced itself."""

    def __init__(self, advance: Callable[[], bool]) -> None:
        super().__init__("a read in slices has to be made again")
        self.advance = advance


def require_slice(count: int, advance: Callable[[], bool]) -> None:
    """Raise Unsettled when so many things are to be done, more than fit into a slice, and whoever reads does so in slices."""
    if count > SLICE and _is_sliced.get():
        raise Unsettled(advance)


def take_some(things: set[Value], most: int, work: Callable[[Value], object]) -> None:
    """Take so many things out of a set, and do some work for each; one whose work raises stays in it."""
    for _ in range(min(most, len(things))):
        # Not in the order of a walk, which would pass the places of all that are gone already, slice after slice.
        thing = things.pop()
        try:
            work(thing)
        except BaseException:
            things.add(thing)
            raise


def attempt(read: Callable[..., Value], *given: Any) -> Value:
    """Return what is read, or raise Unsettled."""
    token = _is_sliced.set(True)
    try:
        return read(*given)
    finally:
        _is_sliced.reset(token)


def in_slices(read: Callable[[], Value]) -> Generator[None, None, Value]:
    """Return what is read; yields after each slice of what had to be done first. Meanwhile anything may change."""
    while True:
        try:
            return attempt(read)
        except Unsettled as unsettled:
            while unsettled.advance():
                yield
        yield
