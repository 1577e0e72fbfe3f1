"""Lazy indices that are never read, and rows that change during a read."""

from collections.abc import Iterator

from state.store import Journal
from state.store.lazy.incremental import ReadMode
from state.store.lazy.order import CHUNK_IDS, UNREAD
from tests.helpers.golden import fails
from tests.state.store.test_store import Order, filled, ids


def test_an_unread_lazy_index_is_released() -> None:
    journal = Journal()
    orders = filled(journal)
    index = orders.lazy_orders[0]
    assert ids(index) == [2, 1, 4, 0, 3]
    orders.release_indices(0)
    assert not index.dirty
    for row in list(orders):
        orders.modify(row, amount=row.amount + 1)
    orders.release_indices(5)
    assert len(index.dirty) == 5
    orders.release_indices(4)
    assert index.dirty == {UNREAD}
    mark = journal.position()
    orders.insert(Order("zoe", 3))
    orders.modify(orders.find(0), amount=7)
    orders.check()
    journal.undo(mark)
    orders.check()
    assert index.first() is orders.find(2)
    assert ids(index) == [2, 1, 4, 0, 3]
    assert not index.dirty
    walk = iter(index)
    orders.modify(orders.find(0), amount=7)
    orders.modify(orders.find(1), amount=8)
    orders.release_indices(2)
    assert index.dirty == {0, 1}
    orders.release_indices(1)
    with fails(RuntimeError):
        next(walk)
    orders.release_indices(0)
    assert ids(index) == [1, 0, 2, 4, 3]


def test_unread_rows_are_one_dirty_mark() -> None:
    journal = Journal()
    orders = filled(journal)
    index = orders.lazy_orders[0]
    assert index.dirty == {UNREAD}
    assert ids(index) == [2, 1, 4, 0, 3]
    mark = journal.position()
    for n in range(3):
        orders.insert(Order("zoe", 1000 + n, price=1000 + n, amount=10 + n))
    orders.remove(orders.find(6))
    assert index.dirty == {UNREAD}
    orders.check()
    assert ids(index) == [7, 5, 2, 1, 4, 0, 3]
    journal.undo(mark)
    other = orders.insert(Order("zoe", 20, price=20, amount=20))
    orders.check()
    assert ids(index) == [other.id, 2, 1, 4, 0, 3]


def test_rows_are_found_among_many_removed_ids() -> None:
    orders = filled(Journal())
    index = orders.lazy_orders[0]
    for n in range(100):
        last = orders.insert(Order("zoe", 1000 + n, price=1000 + n, amount=10 + n))
        if n < 99:
            orders.remove(last)
    assert ids(index) == [last.id, 2, 1, 4, 0, 3]
    orders.check()


def test_rows_inserted_during_an_incremental_read_are_in_it() -> None:
    read_mode = ReadMode()
    orders = filled(Journal(read_mode))
    count = 8 * CHUNK_IDS
    for n in range(count):
        orders.insert(Order("zoe", 1000 + n, price=1000 + n, amount=10))
    index = orders.lazy_orders[0]
    found: list[int] = []

    def read() -> Iterator[None]:
        found.extend((yield from read_mode.read_incrementally(lambda: ids(index))))

    for n, _ in enumerate(read()):
        assert n < 100, "the read has no end"
        if n == 1:
            orders.release_indices(0)
        if n < 5:
            orders.insert(Order("zoe", 1000 + count + n, price=1000 + count + n, amount=10))
    assert sorted(found) == [row.id for row in orders]
    orders.check()
    assert len(orders) == 5 + count + 5
