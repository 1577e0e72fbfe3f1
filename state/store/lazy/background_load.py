"""Loads tables and lists in the background: in steps between other work, or at once when an attribute is read.

A start from a snapshot would take several times as long if all indices were built before the first reply, and most of them are not needed
in the first seconds. `BackgroundLoad` contains the remaining steps.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from state.store.lazy.incremental import CHUNK_ROWS, ReadMode

RAW_ATTRIBUTES, LOADS = "_parked", "_deferred"


class BackgroundLoadable:
    """Mixin for an object that loads in the background. Reading an attribute early finishes the load, or raises NotReady in an incremental
    read.

    While it loads, the object belongs to a subclass with `__getattr__`. A class with that method is slower at every attribute access, and
    writes to tables must be fast, so the class of a loaded table doesn't have the method.
    """

    def load_in_background(self, deferred: "BackgroundLoad") -> None:
        """Hide all attributes until `deferred`, the background load, is finished. The load writes to the dict that `raw_attributes`
        returns.
        """
        self.restore_attributes()
        own = dict(vars(self))
        vars(self).clear()
        vars(self).update({RAW_ATTRIBUTES: own, LOADS: deferred})
        self.__class__ = pending_load(type(self))  # type: ignore[arg-type]  # mypy doesn't treat classes as hashable

    @property
    def is_loading(self) -> bool:
        """Whether the object is still loading, so that reading an attribute would finish the load."""
        return RAW_ATTRIBUTES in vars(self)

    def cancel_load(self) -> None:
        """Cancel the load and make all attributes accessible. The caller must then set them itself."""
        deferred: BackgroundLoad | None = vars(self).get(LOADS)
        if deferred is not None:
            deferred.cancel()

    def raw_attributes(self) -> dict[str, Any]:
        """Return the attributes, hidden or not."""
        found: dict[str, Any] = vars(self).get(RAW_ATTRIBUTES, vars(self))
        return found

    def restore_attributes(self) -> None:
        """Make all hidden attributes accessible again."""
        own = vars(self).pop(RAW_ATTRIBUTES, None)
        if own is not None:
            vars(self).clear()
            vars(self).update(own)
            self.__class__ = type(self).__mro__[1]  # the class that `pending_load` derived this one from


@cache
def pending_load(cls: type[Any]) -> type[Any]:
    """Return the subclass that objects of this class have while they are loading."""

    def finish(self: Any, name: str) -> Any:
        """Finish the load of the object, and return the attribute `name`."""
        deferred = vars(self).get(LOADS)
        if deferred is None or name.startswith("__"):
            raise AttributeError(f"{cls.__name__} has no attribute {name}")
        deferred.read_mode.raise_if_large(CHUNK_ROWS + 1, deferred.step)
        deferred.finish()
        return getattr(self, name)

    return type(cls.__name__, (cls,), {"__getattr__": finish})


class BackgroundLoad:
    """The steps that load objects, or only check data. Steps access the objects only through `BackgroundLoadable.raw_attributes`."""

    def __init__(self, objects: tuple[BackgroundLoadable, ...], steps: Iterator[None], read_mode: ReadMode | None = None) -> None:
        self.read_mode = read_mode or ReadMode()
        self._objects, self._steps = objects, steps
        self._error: Exception | None = None
        self.is_done = False
        for each in objects:
            each.load_in_background(self)

    @property
    def hides_data(self) -> bool:
        """Whether objects are hidden until the last step. Otherwise the steps only check data."""
        return bool(self._objects)

    def advance(self) -> None:
        """Do one step; the last one makes the objects accessible. If a step raises an error, every later call raises it again."""
        if self._error is not None:
            raise self._error
        try:
            if not self.is_done and next(self._steps, self) is self:
                self.is_done = True
                for each in self._objects:
                    each.restore_attributes()
        except Exception as error:
            self._error = error
            raise

    def step(self) -> bool:
        """Do one step. Return whether more steps remain."""
        self.advance()
        return not self.is_done

    def finish(self) -> None:
        """Do all remaining steps."""
        while not self.is_done:
            self.advance()

    def cancel(self) -> None:
        """Drop the remaining steps and make the objects accessible, with the data loaded so far."""
        self.is_done = True
        for each in self._objects:
            each.restore_attributes()
