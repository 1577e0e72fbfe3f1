"""Reading which rows of a table were written since a position in the journal."""

import pytest

from state.store import Journal, Row, Setter, Table, Unique
from tests.state.store.test_store import Order, filled


class Note(Row):
    text: str = ""
    read: int = 0
    since: int = 0


class Notes(Table[Note]):
    by_text = Unique("text")
    set_read = Setter("read", "since")


def test_writes_are_read_with_the_replaced_values() -> None:
    journal = Journal()
    orders, others = filled(journal), filled(journal)
    start = journal.position()
    orders.modify(orders.find(0), note="one")
    others.modify(others.find(0), note="another table")
    new = orders.insert(Order("new", 99, price=5))
    orders.modify(orders.find(0), note="two")
    orders.remove(new)
    written = [(position - start, row, None if old is None else old["note"]) for position, row, old in orders.writes_since(start)]
    assert written == [(0, orders.find(0), ""), (2, new, None), (3, orders.find(0), "one")]
    journal.commit(start + 3)
    assert [position - start for position, _, _ in orders.writes_since(start)] == [3]
    journal.undo(start + 3)
    assert list(orders.writes_since(start)) == []


def test_writes_of_setters_are_read_with_the_replaced_values() -> None:
    journal = Journal()
    notes = Notes(journal)
    row = notes.insert(Note("one"))
    start = journal.position()
    notes.set_read(row, 1, 100)
    notes.modify(row, read=2)
    notes.set_read(row, 3, 300)
    assert [old for _, _, old in notes.writes_since(start)] == [{"read": 0, "since": 0}, {"read": 1}, {"read": 2, "since": 100}]
    journal.undo(start)
    assert (row.read, row.since) == (0, 0)
    with pytest.raises(AssertionError, match="not in this table"):
        Notes(journal).set_read(row, 1, 100)


def test_setters_of_unknown_and_of_indexed_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="doesn't have"):
        type("Unknown", (Notes,), {"set_none": Setter("none")})
    kept = type("Keyed", (Notes,), {"set_text": Setter("text")})
    with pytest.raises(TypeError, match="modify must set"):
        kept(Journal())
