"""`Noted`, the rows of a table that have changed since what is derived of them was read. It knows no rows, and nothing of that."""

from collections.abc import Callable, Iterable
from typing import Any

from state.store.journal import Journal
from state.store.slices import take_some


class Noted:
    """The ids of rows that have changed since they were last read, on the undo journal: undoing a change is a change as well.

    All rows from the id `unread` on have never been read, so that their ids need not be held: on a chain that nobody reads that is all of
    them, and a set of ids takes 30 to 60 bytes for each. `next_id` is the next id of the table.
    """

    def __init__(self, journal: Journal, next_id: Callable[[], int]) -> None:
        self.ids: set[int] = set()
        self.unread = 0
        self._next_id, self._record = next_id, journal.record
        # Bound once: a fresh bound method in each record would cost memory and time.
        self._undo_note = self._note_again

    def __len__(self) -> int:
        return len(self.ids) + max(self._next_id() - self.unread, 0)

    def note(self, row_id: int) -> None:
        """Note that a row has changed."""
        if row_id < self.unread:
            self.ids.add(row_id)
        # An unread row may be read before it is undone.
        self._record((self._undo_note, row_id, None))

    def note_all(self, known: Iterable[int]) -> None:
        """Note all rows, and beside them those that what is derived still has."""
        self.ids.update(known)
        self.unread = 0

    def take(self, most: int, work: Callable[[int], object]) -> None:
        """Do some work for at most so many rows, which are no longer noted then (`take_some`)."""
        if not self.ids:
            begin, self.unread = self.unread, min(self.unread + most, self._next_id())
            self.ids.update(range(begin, self.unread))
        take_some(self.ids, most, work)

    def _note_again(self, row_id: int, _: Any) -> None:
        if row_id < self.unread:
            self.ids.add(row_id)
