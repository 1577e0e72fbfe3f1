"""Reading which rows of a table were written since a position in the journal."""

from state.store import Journal
from tests.state.store.test_store import Order, filled


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
