"""Tables and lists that are filled later: in slices between other work, or all at once when somebody looks. They know no rule.

A start from a snapshot would take several times as long if all indices were there before the first answer, and most of them are of
data that nobody asks for in the first seconds. So what has been read, and not yet made, is left in a `Deferred`.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from state.store.slices import SLICE, Reads

PARKED, DEFERRED = "_parked", "_deferred"


class Deferrable:
    """An object whose attributes are taken away until they are needed: then the missing attribute calls for them.

    Meanwhile it is of another class, a subclass of its own with `__getattr__`. A class with that method is slower in every access to every
    attribute, so that tables, of which there is no quicker way to write, must not have it.
    """

    def defer(self, deferred: "Deferred") -> None:
        """Take all attributes away until `deferred` is finished, which has to fill the parked ones (`parked`)."""
        self.take_back()
        own = dict(vars(self))
        vars(self).clear()
        vars(self).update({PARKED: own, DEFERRED: deferred})
        self.__class__ = waiting(type(self))  # type: ignore[arg-type]  # of classes mypy doesn't know that they can be hashed

    @property
    def is_deferred(self) -> bool:
        """Whether the attributes are taken away, so that asking for one finishes what is deferred at once."""
        return PARKED in vars(self)

    def abandon(self) -> None:
        """Give all attributes back, and leave undone what would have filled them: the caller fills them in another way."""
        deferred: Deferred | None = vars(self).get(DEFERRED)
        if deferred is not None:
            deferred.abandon()

    def parked(self) -> dict[str, Any]:
        """Return the attributes, whether they are taken away or not."""
        found: dict[str, Any] = vars(self).get(PARKED, vars(self))
        return found

    def take_back(self) -> None:
        """Give all attributes back."""
        own = vars(self).pop(PARKED, None)
        if own is not None:
            vars(self).clear()
            vars(self).update(own)
            self.__class__ = type(self).__mro__[1]  # the class that `waiting` has made this one of


@cache
def waiting(cls: type[Any]) -> type[Any]:
    """Return the subclass of objects whose attributes are taken away."""

    def finish(self: Any, name: str) -> Any:
        """Finish what is deferred, and return the attribute."""
        deferred = vars(self).get(DEFERRED)
        if deferred is None or name.startswith("__"):
            raise AttributeError(f"{cls.__name__} has no attribute {name}")
        deferred.reads.require_slice(SLICE + 1, deferred.proceed)
        deferred.finish()
        return getattr(self, name)

    return type(cls.__name__, (cls,), {"__getattr__": finish})


class Deferred:
    """The steps that fill some objects. They may use of these only what `Deferrable.parked` returns."""

    def __init__(self, objects: tuple[Deferrable, ...], steps: Iterator[None], reads: Reads | None = None) -> None:
        self.reads = reads or Reads()
        self._objects, self._steps = objects, steps
        self._error: Exception | None = None
        self.is_done = False
        for each in objects:
            each.defer(self)

    def advance(self) -> None:
        """Make one step; after the last one the objects are as they should be. Raises what the steps raise, from then on always."""
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
        """Make one step; returns whether there are more."""
        self.advance()
        return not self.is_done

    def finish(self) -> None:
        """Make all steps that are left."""
        while not self.is_done:
            self.advance()

    def abandon(self) -> None:
        """Give the objects back as far as they are filled, and make no more steps."""
        self.is_done = True
        for each in self._objects:
            each.take_back()
