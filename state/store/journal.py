"""The undo journal: one flat list of undo records for the writes to all tables, newest last."""

from collections.abc import Callable, Iterator
from sys import getsizeof
from typing import Any

from state.store.lazy.incremental import ReadMode

Undo = Callable[[Any, Any], None]
Record = tuple[Undo, Any, Any]
UNDO_CHUNK = 1000  # records
BLOCKS_BETWEEN_SHRINKING = 500
# A dict is rebuilt if it takes more than this per item and in addition. One that only grew takes up to 110 bytes per item.
ITEM_BYTES_MAX, SPARE_BYTES_MAX = 256, 1 << 16
FREED_MIN, FREED_SHARE = 50_000, 64  # `commit` frees the memory of FREED_MIN dropped records, or of one in FREED_SHARE if that is more


def shrink(kept: dict[Any, Any]) -> None:
    """Rebuild a dict in place if most of its memory is unused. Otherwise a dict keeps the memory of removed items."""
    if getsizeof(kept) > ITEM_BYTES_MAX * len(kept) + SPARE_BYTES_MAX:
        items = list(kept.items())
        kept.clear()
        kept.update(items)


def nothing() -> None:
    """Do nothing: the default of `Journal.on_undone`."""


class Journal:
    """Undo journal: reverts every write since the last `commit`.

    A write appends one record `(undo, subject, data)`; undoing it calls `undo(subject, data)`. Positions count all records ever written, so
    they stay valid when older records are dropped. The journal contains the writes of all reversible blocks. The caller bounds it by
    calling `commit` at each irreversible block.
    """

    def __init__(self, read_mode: ReadMode | None = None) -> None:
        # The read mode of all tables. It is an attribute of the journal because the tables share no other object.
        self.read_mode = read_mode or ReadMode()
        self._records: list[Record] = []
        self._dropped: list[Record] = []  # records whose memory is not freed yet
        # Parts of copies of the tables that are no longer used. Freeing millions of rows takes seconds, so they are freed one by one
        # between other work (node/monitoring/warm_up.py), at the latest when the next copy is discarded.
        self.discarded: list[object] = []
        self._committed = 0
        # Called after every UNDO_CHUNK undone records, and while a copy of the state is restored. A long job can be interrupted at these
        # points.
        self.on_undone: Callable[[], None] = nothing
        # The write path: a bound C function, of which tables and lists keep a reference. `_records` must therefore stay the same object.
        self.record: Callable[[Record], None] = self._records.append
        # Functions that pack settled rows, one per table that packs rows (state/store/packed.py).
        self.packing: list[Callable[[], None]] = []
        # The dicts of all tables, by id and by key.
        self.dicts: list[dict[Any, Any]] = []
        self._until_shrinking = BLOCKS_BETWEEN_SHRINKING

    def __len__(self) -> int:
        """Return the number of writes that can still be undone."""
        return len(self._records)

    def position(self) -> int:
        """Return the position after the newest write, for `undo` and `commit`."""
        return self._committed + len(self._records)

    def since(self, position: int) -> Iterator[tuple[int, Record]]:
        """Yield the writes since `position` with their positions, oldest first. Dropped writes are omitted."""
        records, cut = self._records, self._committed
        for i in range(max(position - cut, 0), len(records)):
            yield cut + i, records[i]

    def undo(self, position: int) -> None:
        """Undo all writes since `position`, newest first. All values, indices and id counters are then the same as at that position."""
        records = self._records
        count = self.position() - position
        assert 0 <= count <= len(records), f"position {position} is not between the last cut and the end"
        pop = records.pop
        while count > 0:
            for _ in range(min(count, UNDO_CHUNK)):
                undo, subject, data = pop()
                undo(subject, data)
            count -= UNDO_CHUNK
            if count > 0:
                self.on_undone()

    def commit(self, position: int) -> None:
        """Drop the records before `position`, so that their writes become permanent. If they are already dropped, nothing changes.

        Freeing millions of records takes a second. The memory of many records is therefore freed by this call and later ones, in parts.
        """
        count = position - self._committed
        assert count <= len(self._records), f"position {position} is beyond the end"
        if count > FREED_MIN:
            for begin in range(0, count, FREED_MIN):
                self._dropped += self._records[begin : min(begin + FREED_MIN, count)]
                self.on_undone()
        if count > 0:
            del self._records[:count]
            self._committed = position
        if self._dropped:
            del self._dropped[-max(FREED_MIN, len(self._dropped) // FREED_SHARE) :]

    def pack_rows(self) -> None:
        """Pack some of the settled rows of each table. Call it when a block becomes irreversible."""
        for pack in self.packing:
            pack()
        self._until_shrinking -= 1
        if not self._until_shrinking:
            self._until_shrinking = BLOCKS_BETWEEN_SHRINKING
            for each in self.dicts:
                shrink(each)

    def copy(self) -> Callable[[], None]:
        """Copy the journal and return a function that restores the copy, with its positions. The copy doesn't include rows.

        Records never change, so copying the list is enough.
        """
        records, cut = self._records.copy(), self._committed

        def put_back() -> None:
            self._records[:] = records
            self._committed = cut

        return put_back

    def touched_objects(self) -> Iterator[Any]:
        """Yield the subject of each record that has no data, such as the row of an insertion or a removal.

        A subject with several such records is yielded several times.
        """
        return (subject for _, subject, data in self._records if data is None)

    def session(self) -> "UndoSession":
        """Return a context manager. If an exception leaves it, it undoes the writes made inside it, and the exception propagates."""
        return UndoSession(self)


class UndoSession:
    """Undo session: see `Journal.session`. Sessions can be nested. While one is open, don't commit records made since its start."""

    __slots__ = ("_journal", "_position")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._position = 0

    def __enter__(self) -> int:
        self._position = mark = self._journal.position()
        return mark

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self._journal.undo(self._position)
