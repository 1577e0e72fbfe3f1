"""Lazy indices that nobody reads."""

import pytest

from state.store import Journal
from tests.state.store.test_store import Order, filled, ids


def test_a_lazy_index_that_nobody_reads_gives_its_memory_back() -> None:
    journal = Journal()
    orders = filled(journal)
    index = orders.by_amount_lazily
    orders.let_go(5)
    assert len(index.changed) == 5
    orders.let_go(4)
    assert len(index.changed) == 1
    mark = journal.mark()
    orders.insert(Order("zoe", 3))
    orders.modify(orders.find(0), amount=7)
    orders.check()
    journal.undo(mark)
    orders.check()
    assert index.first() is orders.find(2)
    assert ids(index) == [2, 1, 4, 0, 3]
    assert not index.changed
    walk = iter(index)
    orders.modify(orders.find(0), amount=7)
    orders.modify(orders.find(1), amount=8)
    orders.let_go(2)
    assert index.changed == {0, 1}
    orders.let_go(1)
    with pytest.raises(RuntimeError, match="while it was walked"):
        next(walk)
    orders.let_go(0)
    assert ids(index) == [1, 0, 2, 4, 3]
