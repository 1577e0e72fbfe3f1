"""`DirtyRows` and `DirtyMarks`: the rows that changed since a derived view last read them."""

from collections.abc import Callable, Iterable, Iterator
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
        self._source: Iterator[Iterable[int]] = iter(())
        self._in_source = 0
        # Bound once, because a new bound method in each record would cost memory and time.
        self._undo_add = self._add_again

    def __len__(self) -> int:
        return len(self.ids) + self._in_source + self.count_unread()

    def count_unread(self) -> int:
        """Return the number of ids that have never been read."""
        return max(self._next_id() - self.unread, 0)

    def add(self, row_id: int) -> None:
        """Mark a row dirty."""
        if row_id < self.unread:
            self.ids.add(row_id)
        # Unread rows are recorded as well, because such a row can be read before the change is undone.
        self._record((self._undo_add, row_id, None))

    def restart(self, source: Iterator[Iterable[int]], count: int) -> None:
        """Mark as dirty the rows whose ids `source` yields, about `count`, and all other rows as clean.

        A view that needs only some of the rows starts this way. Each item of `source` is read only when the items before it are processed,
        and the rows can change meanwhile.
        """
        self.ids.clear()
        self.unread = self._next_id()
        self._source, self._in_source = source, max(count, 1)

    def process(self, most: int, work: Callable[[int], object]) -> None:
        """Call `work` for at most `most` dirty rows, and mark them clean. `process_some` describes the handling of errors."""
        if not self.ids and self._in_source:
            some = next(self._source, None)
            if some is None:
                self._in_source = 0
            else:
                self.ids.update([row_id for row_id in some if row_id < self.unread])
                self._in_source = max(self._in_source - len(self.ids), 1)
        elif not self.ids:
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
        """Mark a name dirty, unless no row was ever read."""
        if self.rows.unread:
            self.names.add(name)
        self._record((set.add, self.names, name))
