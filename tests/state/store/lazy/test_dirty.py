"""The ids of rows that changed since the last read."""

import pytest

from state.store import Journal
from state.store.lazy.dirty import DirtyMarks, DirtyRows


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


def test_a_restart_reads_only_the_rows_of_its_source() -> None:
    reader = Reader(8)
    reader.take(3)
    reader.noted.restart(iter([[1, 3], [], [5, 9]]), 4)
    assert len(reader.noted) == 4
    assert reader.take(9) == [1, 3]
    reader.noted.add(2)
    reader.noted.add(8)
    reader.next_id = 10
    found = [reader.take(9) for _ in range(5)]
    assert found == [[2], [], [5], [], [8, 9]], "new rows are read last, since an undo doesn't mark those that weren't read"
    assert not reader.noted


def test_names_are_dirty_once_a_row_was_read() -> None:
    journal = Journal()
    marks = DirtyMarks(journal.record, lambda: 1)
    marks.name("amy")
    assert not marks.names
    marks.rows.process(9, lambda row: None)
    mark = journal.position()
    marks.name("amy")
    marks.names.clear()
    journal.undo(mark)
    assert marks.names == {"amy"}


def test_a_failing_row_does_not_stop_others() -> None:
    reader = Reader(3)
    with pytest.raises(ZeroDivisionError):
        reader.noted.process(3, lambda row: reader.read.append(1 // row))
    assert reader.read == [1, 0]
    assert not reader.noted
