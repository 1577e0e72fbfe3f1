"""Loads tables and lists in the background: in steps between other work, or at once when an attribute is read.

A start from a snapshot would take several times as long if all indices were built before the first reply, and nobody needs most of
them in the first seconds. `Deferred` holds the remaining steps.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from state.store.slices import SLICE, Reads

PARKED, DEFERRED = "_parked", "_deferred"


class Deferrable:
    """Mixin for an object that loads in the background. Reading an attribute early finishes the load; an incremental read gets Unsettled.

    While it loads, the object belongs to a subclass with `__getattr__`. A class with that method is slower at every attribute access,
    and writes to tables must be fast, so a loaded table doesn't have it.
    """

    def defer(self, deferred: "Deferred") -> None:
        """Hide all attributes until `deferred`, which fills those that `parked` returns, is finished."""
        self.take_back()
        own = dict(vars(self))
        vars(self).clear()
        vars(self).update({PARKED: own, DEFERRED: deferred})
        self.__class__ = waiting(type(self))  # type: ignore[arg-type]  # mypy doesn't treat classes as hashable

    @property
    def is_deferred(self) -> bool:
        """Whether the object is still loading: reading an attribute finishes the load."""
        return PARKED in vars(self)

    def abandon(self) -> None:
        """Cancel the load and restore all attributes, which the caller then fills in another way."""
        deferred: Deferred | None = vars(self).get(DEFERRED)
        if deferred is not None:
            deferred.abandon()

    def parked(self) -> dict[str, Any]:
        """Return the attributes, hidden or not."""
        found: dict[str, Any] = vars(self).get(PARKED, vars(self))
        return found

    def take_back(self) -> None:
        """Make all attributes accessible again."""
        own = vars(self).pop(PARKED, None)
        if own is not None:
            vars(self).clear()
            vars(self).update(own)
            self.__class__ = type(self).__mro__[1]  # the class that `waiting` derived this one from


@cache
def waiting(cls: type[Any]) -> type[Any]:
    """Return the subclass for objects that are still loading."""

    def finish(self: Any, name: str) -> Any:
        """Finish the load and return the attribute."""
        deferred = vars(self).get(DEFERRED)
        if deferred is None or name.startswith("__"):
            raise AttributeError(f"{cls.__name__} has no attribute {name}")
        deferred.reads.require_slice(SLICE + 1, deferred.proceed)
        deferred.finish()
        return getattr(self, name)

    return type(cls.__name__, (cls,), {"__getattr__": finish})


class Deferred:
    """The steps that load some objects. Steps access the objects only through `Deferrable.parked`."""

    def __init__(self, objects: tuple[Deferrable, ...], steps: Iterator[None], reads: Reads | None = None) -> None:
        self.reads = reads or Reads()
        self._objects, self._steps = objects, steps
        self._error: Exception | None = None
        self.is_done = False
        for each in objects:
            each.defer(self)

    def advance(self) -> None:
        """Do one step; the last one makes the objects accessible. After a step has raised, every call raises that error again."""
        if self._error is not None:
            raise self._error
        try:
            if not self.is_done and next(self._steps, self) is self:
                self.is_done = True
                for each in self._objects:
                    each.take_back()
        except Exception as error:
            self._error = error
            raise

    def proceed(self) -> bool:
        """Do one step. Return whether there are more."""
        self.advance()
        return not self.is_done

    def finish(self) -> None:
        """Do all remaining steps."""
        while not self.is_done:
            self.advance()

    def abandon(self) -> None:
        """Make the objects accessible as far as they are loaded, and drop the remaining steps."""
        self.is_done = True
        for each in self._objects:
            each.take_back()
