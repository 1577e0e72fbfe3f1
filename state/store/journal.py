"""The undo journal: one flat list of what was written to all tables, newest last. It knows neither rows nor rules."""

from collections.abc import Callable, Iterator
from typing import Any

from state.store.slices import Reads

Undo = Callable[[Any, Any], None]
Record = tuple[Undo, Any, Any]
UNDO_CHUNK = 1000  # records


def nothing() -> None:
    """Do nothing."""


class Journal:
    """How to take back every write since the last cut.

    A write leaves one record `(undo, subject, data)`; taking it back calls `undo(subject, data)`. Positions count all
    records ever kept, so a mark stays valid when older records are cut. Grows with the writes of what is still
    reversible: its bound is the caller's `cut` at each irreversible block.
    """

    def __init__(self, reads: Reads | None = None) -> None:
        # How the tables with this journal are read. It is kept here, since the journal is the one object that they share.
        self.reads = reads or Reads()
        self._records: list[Record] = []
        self._cut = 0
        # Called after each UNDO_CHUNK records that an undo has taken back, and while a kept state is put back: a long one can be
        # interrupted there.
        self.on_undone: Callable[[], None] = nothing
        # The write path: a bound C function, kept by tables and lists. The list stays the same object for ever.
        self.record: Callable[[Record], None] = self._records.append

    def __len__(self) -> int:
        """How many writes can still be taken back."""
        return len(self._records)

    def mark(self) -> int:
        """The position after the newest write: what `undo` and `cut` take."""
        return self._cut + len(self._records)

    def since(self, mark: int) -> Iterator[tuple[int, Record]]:
        """Yield the writes since `mark` with their positions, oldest first; what is cut by then is left out."""
        records, cut = self._records, self._cut
        for i in range(max(mark - cut, 0), len(records)):
            yield cut + i, records[i]

    def undo(self, mark: int) -> None:
        """Take back all writes since `mark`, newest first: values, indices and id counters are exactly as they were then."""
        records = self._records
        count = self.mark() - mark
        assert 0 <= count <= len(records), f"mark {mark} is not between the last cut and now"
        pop = records.pop
        while count > 0:
            for _ in range(min(count, UNDO_CHUNK)):
                undo, subject, data = pop()
                undo(subject, data)
            count -= UNDO_CHUNK
            if count > 0:
                self.on_undone()

    def cut(self, mark: int) -> None:
        """Forget how to take back what was written before `mark`; a mark that is cut already changes nothing."""
        count = mark - self._cut
        assert count <= len(self._records), f"mark {mark} lies ahead"
        if count > 0:
            del self._records[:count]
            self._cut = mark

    def keep(self) -> Callable[[], None]:
        """Return a function that puts the journal back as it is now, with all positions. It says nothing of what its records refer to.

        Records are never changed, so that a copy of the list is enough.
        """
        records, cut = self._records.copy(), self._cut

        def put_back() -> None:
            self._records[:] = records
            self._cut = cut

        return put_back

    def subjects(self) -> Iterator[Any]:
        """Yield what was inserted or removed by the writes that can still be taken back, each as often as that: records without data."""
        return (subject for _, subject, data in self._records if data is None)

    def session(self) -> "Session":
        """A `with` block whose writes stay when it ends well, and are undone when anything is raised, which passes on."""
        return Session(self)


class Session:
    """See `Journal.session`. Sessions nest; none may be cut past its start while it is open."""

    __slots__ = ("_journal", "_mark")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._mark = 0

    def __enter__(self) -> int:
        self._mark = mark = self._journal.mark()
        return mark

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self._journal.undo(self._mark)
