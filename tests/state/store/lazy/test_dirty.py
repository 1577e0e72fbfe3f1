"""The ids of rows that changed since the last read."""

import pytest

from state.store import Journal
from state.store.lazy.dirty import DirtyRows


class Reader:
    """A model of the ids of a table's rows, and of those that changed since the last read."""

    def __init__(self, count: int) -> None:
        self.next_id, self.journal, self.read = count, Journal(), list[int]()
        self.noted = DirtyRows(self.journal.record, lambda: self.next_id)

    def take(self, most: int) -> list[int]:
        self.read.clear()
        self.noted.process(most, self.read.append)
        return sorted(self.read)


def test_unread_rows_are_dirty_without_their_ids() -> None:
    reader = Reader(5)
    reader.noted.add(3)
    assert len(reader.noted) == 5
    assert not reader.noted.ids
    assert reader.take(2) == [0, 1]
    reader.noted.add(1)
    reader.noted.add(4)
    assert (reader.noted.ids, len(reader.noted)) == ({1}, 4)
    assert reader.take(2) == [1]
    assert reader.take(9) == [2, 3, 4]
    assert reader.take(9) == []
    assert not reader.noted


def test_undo_marks_read_rows_as_dirty() -> None:
    reader = Reader(2)
    mark = reader.journal.position()
    reader.noted.add(1)
    assert reader.take(9) == [0, 1]
    reader.journal.undo(mark)
    reader.next_id = 1
    assert (reader.noted.ids, len(reader.noted)) == ({1}, 1)
    # Another row gets its id. This row must not count as unread.
    reader.next_id = 2
    reader.noted.add(1)
    assert reader.take(9) == [1]


def test_undoing_leaves_unread_rows_as_they_are() -> None:
    reader = Reader(2)
    mark = reader.journal.position()
    reader.noted.add(1)
    reader.journal.undo(mark)
    assert not reader.noted.ids


def test_adding_all_keeps_known_dirty_rows() -> None:
    reader = Reader(3)
    reader.take(9)
    reader.next_id = 1
    reader.noted.add_all([0, 2])
    assert reader.take(9) == [0, 2]
    assert reader.take(9) == [0]
    assert not reader.noted


def test_a_failing_row_does_not_stop_others() -> None:
    reader = Reader(3)
    with pytest.raises(ZeroDivisionError):
        reader.noted.process(3, lambda row: reader.read.append(1 // row))
    assert reader.read == [1, 0]
    assert not reader.noted
