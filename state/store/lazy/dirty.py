"""`DirtyRows` and `DirtyMarks`: the rows that changed since a derived view last read them."""

from collections.abc import Callable, Iterable
from typing import Any

from state.store.lazy.incremental import process_some

Record = Callable[[tuple[Callable[[Any, Any], None], Any, Any]], object]


class DirtyRows:
    """Ids of the rows that changed since a derived view last read them. Undoing a change also marks the row dirty.

    Rows whose id is at least `unread` have never been read and are not in the set. A set takes 30 to 60 bytes per id, and on a chain that
    no client queries all rows are unread. `next_id` returns the next id of the table.
    """

    def __init__(self, record: Record, next_id: Callable[[], int]) -> None:
        self.ids: set[int] = set()
        self.unread = 0
        self._next_id, self._record = next_id, record
        # Bound once, because a new bound method in each record would cost memory and time.
        self._undo_add = self._add_again

    def __len__(self) -> int:
        return len(self.ids) + max(self._next_id() - self.unread, 0)

    def add(self, row_id: int) -> None:
        """Mark a row dirty."""
        if row_id < self.unread:
            self.ids.add(row_id)
        # Unread rows are recorded as well, because such a row can be read before the change is undone.
        self._record((self._undo_add, row_id, None))

    def add_all(self, known: Iterable[int]) -> None:
        """Mark all rows dirty. `known` are the ids in the derived view, which are marked as well because their rows can be gone."""
        self.ids.update(known)
        self.unread = 0

    def process(self, most: int, work: Callable[[int], object]) -> None:
        """Call `work` for at most `most` dirty rows, and mark them clean. `process_some` describes the handling of errors."""
        if not self.ids:
            begin, self.unread = self.unread, min(self.unread + most, self._next_id())
            self.ids.update(range(begin, self.unread))
        process_some(self.ids, most, work)

    def _add_again(self, row_id: int, _: Any) -> None:
        if row_id < self.unread:
            self.ids.add(row_id)


class DirtyMarks:
    """Rows, and names of other objects, that changed since a derived view last read them. Undoing a change also marks them dirty."""

    def __init__(self, record: Record, next_id: Callable[[], int]) -> None:
        self.rows = DirtyRows(record, next_id)
        self.row = self.rows.add
        self.names: set[str] = set()
        self._record = record

    def name(self, name: str) -> None:
        """Mark a name dirty."""
        self.names.add(name)
        self._record((set.add, self.names, name))
