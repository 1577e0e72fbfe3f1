"""The store in cases that the random runs of test_store_model don't cover: errors, failed writes, iterators and nested sessions."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from state.protocol.errors import NotUnique, UnknownKey
from state.store import AppendList, AppendLists, ComputedKey, Due, Grouped, Journal, Ordered, Row, Table, Unique
from state.store.lazy.order import UNREAD
from state.store.rows import run_steps
from tests.helpers.golden import fails


class Order(Row):
    seller: str
    number: int
    price: int = 0
    amount: int = 0
    open: bool = True
    note: Any = ""


def ratio(price: int, amount: int) -> int:
    return price * 1000 // (amount + 1)


class Orders(Table[Order]):
    by_number = Unique("number")
    by_seller_number = Unique("seller", "number")
    due = Due("amount")
    of_note = Grouped("note")
    by_seller = Ordered("seller", "-price")
    by_price = Ordered("-price", "seller", unique=True)
    by_ratio = Ordered(ComputedKey(ratio, "price", "amount", descending=True))
    open_by_amount = Ordered("amount", where=(bool, "open"))
    by_amount_lazily = Ordered("-amount", lazy=True)


def filled(journal: Journal) -> Orders:
    """Return a table with five orders: ids 0 to 4, prices 10, 20, 30, 40, 50."""
    orders = Orders(journal)
    for n, seller in enumerate(["bob", "alice", "bob", "carol", "alice"]):
        orders.insert(Order(seller, n + 100, price=(n + 1) * 10, amount=n % 3))
    orders.check()
    return orders


def content(orders: Orders) -> object:
    """Return everything that can be read from a table."""
    indices = (
        orders.by_seller,
        orders.by_price,
        orders.by_ratio,
        orders.open_by_amount,
        orders.by_amount_lazily,
        orders.due,
        orders.of_note,
    )
    return orders.next_id, [(id(row), msgspec.structs.astuple(row)) for row in orders], [[row.id for row in index] for index in indices]


def ids(rows: Any) -> list[int]:
    return [row.id for row in rows]


# ------------------------------------------------------------------ rows


def test_rows_are_themselves() -> None:
    one, other = Order("bob", 1), Order("bob", 1)
    assert one != other
    assert len({one, other, one}) == 2
    assert one.id == -1


def test_only_rows_of_the_table_are_written() -> None:
    orders = filled(Journal())
    with pytest.raises(AssertionError):
        orders.insert(orders.find(0))
    with pytest.raises(AssertionError):
        orders.modify(Order("bob", 1, id=0), amount=5)
    removed = orders.find(1)
    orders.remove(removed)
    for write in (orders.insert, orders.remove, orders.modify):
        with pytest.raises(AssertionError):
            write(removed)


def test_keys_without_a_row() -> None:
    orders = filled(Journal())
    for find, key in (
        (orders.find, (6,)),
        (orders.by_number.find, (1,)),
        (orders.by_seller_number.find, ("bob", 101)),
        (orders.by_price.find, (30, "alice")),
    ):
        with pytest.raises(UnknownKey):
            find(*key)
    assert orders.find(2) is orders.by_number.find(102) is orders.by_seller_number.find("bob", 102) is orders.by_price.find(30, "bob")
    with pytest.raises(TypeError):
        orders.by_seller_number.get("bob")
    with pytest.raises(AssertionError):
        orders.by_seller.get("bob", 10)


# ------------------------------------------------------------------ indices


def test_lazy_index_sorts_at_the_next_read() -> None:
    journal = Journal()
    orders = filled(journal)
    index = orders.lazy_orders[0]
    assert ids(index) == [2, 1, 4, 0, 3]
    mark = journal.position()
    orders.modify(orders.find(0), amount=7)
    orders.remove(orders.find(4))
    assert index.dirty == {0, 4}
    assert index.first() is orders.find(0)
    assert not index.dirty
    assert ids(index) == [0, 2, 1, 3]
    journal.undo(mark)
    orders.check()
    assert len(index) == 5
    assert ids(index.starting(1)) == [1, 4, 0, 3]


def test_lazy_index_is_bounded_by_the_table() -> None:
    orders = filled(Journal())
    index = orders.lazy_orders[0]
    assert len(index) == 5
    for n in range(50):
        orders.remove(orders.insert(Order("dave", n)))
    assert index.dirty == {UNREAD}


def test_equal_values_do_not_end_an_iterator() -> None:
    orders = filled(Journal())
    walk = iter(orders.by_price)
    next(walk)
    orders.modify(orders.find(2), price=30, number=902, amount=5, note="same price")
    assert ids(walk) == [3, 2, 1, 0]


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda orders: orders.insert(Order("zoe", 100)), "could not insert object"),
        (lambda orders: orders.insert(Order("alice", 7, price=50)), "could not insert object"),
        (lambda orders: orders.modify(orders.find(1), note=1, price=5, number=100), "Could not modify object"),
        (lambda orders: orders.modify(orders.find(1), price=50, open=False), "Could not modify object"),
    ],
)
def test_a_clash_changes_nothing(write: Callable[[Orders], object], text: str) -> None:
    journal = Journal()
    orders = filled(journal)
    before, position = content(orders), journal.position()
    with pytest.raises(NotUnique) as caught:
        write(orders)
    assert caught.value.what == f"{text}, most likely a uniqueness constraint was violated"
    orders.check()
    assert (content(orders), journal.position()) == (before, position)


WRONG: list[Callable[[Orders], object]] = [
    lambda orders: orders.modify(orders.find(1), note=1, amount=2, nonsense=3),
    lambda orders: orders.modify(orders.find(1), note=1, price="text"),
    lambda orders: orders.modify(orders.find(1), note=1, number=5, seller=None),
    lambda orders: orders.modify(orders.find(1), note=1, number=[]),
    lambda orders: orders.modify(orders.find(1), id=77),
    lambda orders: orders.insert(Order(seller=None, number=7)),  # type: ignore[arg-type]
    lambda orders: orders.insert(Order("zoe", 7, amount=None)),  # type: ignore[arg-type]
    lambda orders: orders.insert(Order("zoe", 7, note=[])),
    lambda orders: orders.modify(orders.find(1), note=[]),
    # The last index to be updated refuses the row, whose other key is shared with other rows, new, or unchanged.
    lambda orders: orders.modify(orders.find(1), amount=0, note="other", seller=None),
    lambda orders: orders.modify(orders.find(1), amount=9, note="other", seller=None),
    lambda orders: orders.modify(orders.find(1), amount=1, note="", seller=None),
]


@pytest.mark.parametrize("write", WRONG)
def test_a_write_that_fails_changes_nothing(write: Callable[[Orders], object]) -> None:
    """The write fails because of an unknown field, or a value that can't be compared, hashed or negated."""
    journal = Journal()
    orders = filled(journal)
    before, mark = content(orders), journal.position()
    with pytest.raises((AttributeError, TypeError, AssertionError)):
        write(orders)
    orders.check()
    assert (content(orders), journal.position()) == (before, mark)


def test_a_copy_is_restored_into_the_same_rows() -> None:
    orders = filled(Journal())
    before, restore = content(orders), run_steps(orders.copying())
    orders.modify(orders.find(1), amount=9, note="other", number=7)
    orders.remove(orders.find(3))
    orders.insert(Order("dave", 8))
    restore()
    assert content(orders) == before
    orders.check()
    orders.restore(list(orders)[2:], 5)
    assert ids(orders) == [2, 3, 4]
    orders.check()


# ------------------------------------------------------------------ walking while writing


@pytest.mark.parametrize("name", ["by_seller", "by_price", "open_by_amount", "by_amount_lazily"])
@pytest.mark.parametrize("start", [0, 1, 4, 5])
def test_an_iterator_ends_when_its_index_changes(name: str, start: int) -> None:
    orders = filled(Journal())
    walk = iter(getattr(orders, name))
    for _ in range(start):
        next(walk)
    orders.insert(Order("zoe", 7))
    with fails(RuntimeError):
        next(walk)


def test_an_iterator_ends_when_another_reader_sorts_a_lazy_index() -> None:
    orders = filled(Journal())
    for n in range(100):
        orders.insert(Order("erin", 1000 + n, price=1000 + n))
    walk = iter(orders.by_amount_lazily)
    next(walk)
    orders.modify(orders.find(3), amount=50)
    assert orders.by_amount_lazily.first() is orders.find(3)
    with fails(RuntimeError):
        next(walk)


def test_an_iterator_ends_when_its_table_changes() -> None:
    journal = Journal()
    orders = filled(journal)
    walk, mark = iter(orders), journal.position()
    next(walk)
    orders.modify(orders.find(3), seller="zoe", amount=8)
    next(walk)
    orders.remove(orders.find(0))
    orders.insert(Order("zoe", 7))
    with fails(RuntimeError):
        next(walk)
    walk = iter(orders)
    journal.undo(mark)
    assert ids(orders) == [0, 1, 2, 3, 4]
    with fails(RuntimeError):
        next(walk)


def test_an_iterator_survives_changes_of_other_fields() -> None:
    orders = filled(Journal())
    seen = []
    for row in orders.by_seller:
        orders.modify(row, amount=row.amount + 1, note="seen")
        seen.append(row.id)
    assert seen == [4, 1, 2, 0, 3]


# ------------------------------------------------------------------ journal


def test_sessions_nest() -> None:
    """A failed inner session is undone without affecting the outer one."""
    journal = Journal()
    orders = filled(journal)

    def clashing_session() -> None:
        with journal.session():
            orders.modify(orders.find(0), note="inner")
            orders.insert(Order("zoe", 100))

    with journal.session():
        orders.modify(orders.find(0), note="outer")
        with pytest.raises(NotUnique):
            clashing_session()
        assert orders.find(0).note == "outer"
    assert orders.find(0).note == "outer"


def test_an_undone_row_can_be_inserted_again() -> None:
    journal = Journal()
    orders = filled(journal)
    row, mark = Order("zoe", 7), journal.position()
    orders.insert(row)
    journal.undo(mark)
    assert orders.insert(row).id == 5
    orders.check()


def test_commit_keeps_later_positions() -> None:
    journal = Journal()
    orders = filled(journal)
    orders.modify(orders.find(0), note="one")
    middle = journal.position()
    orders.modify(orders.find(0), note="two")
    journal.commit(middle)
    assert len(journal) == 1
    journal.commit(middle - 2)
    assert len(journal) == 1
    with pytest.raises(AssertionError):
        journal.undo(middle - 1)
    journal.undo(middle)
    assert (orders.find(0).note, journal.position(), len(journal)) == ("one", middle, 0)
    for wrong in (journal.undo, journal.commit):
        with pytest.raises(AssertionError):
            wrong(middle + 1)
    orders.modify(orders.find(0), note="three")
    journal.undo(middle)
    assert orders.find(0).note == "one"


# ------------------------------------------------------------------ declarations


def test_declarations_are_checked() -> None:
    with fails(TypeError):

        class Misspelled(Table[Order]):
            by_name = Unique("naem")

    with fails(TypeError):

        class Unknown(Table[Order]):
            by_price = Ordered("price", where=(bool, "shut"))

    partial: dict[str, Any] = {"unique": True, "where": (bool, "open")}
    computed = ComputedKey(ratio, "price", "amount")
    for wrong in (Unique, Ordered, lambda: ComputedKey(ratio), lambda: Ordered("price", **partial), lambda: Ordered(computed, unique=True)):
        with pytest.raises(TypeError):
            wrong()


def test_tables_of_one_class_are_apart() -> None:
    journal = Journal()
    one, other = filled(journal), Orders(journal)
    assert one.by_price.first() is one.find(4)
    assert (len(other), len(other.by_price), other.by_number.get(100)) == (0, 0, None)


# ------------------------------------------------------------------ lists


def test_lists_number_their_values() -> None:
    lists: AppendLists[str, str] = AppendLists(Journal())
    assert [lists.append("alice", text) for text in "abcde"] == [0, 1, 2, 3, 4]
    assert lists.append("bob", "x") == 0
    history = lists.get("alice")
    lists.drop_front("alice", 2)
    assert (history.first, history.next, len(history)) == (2, 5, 3)
    assert (history[0], history[-1], history[1:], history[::-1]) == ("c", "e", ["d", "e"], ["e", "d", "c"])
    assert list(history) == ["c", "d", "e"]
    assert list(reversed(history)) == ["e", "d", "c"]
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            history[wrong]
    assert lists.append("alice", "f") == 5
    assert list(lists) == ["alice", "bob"]


def test_an_unknown_key_has_an_empty_list() -> None:
    lists: AppendLists[str, str] = AppendLists(Journal())
    history: AppendList[str] = lists.get("nobody")
    assert (list(history), history.first, history.next, len(lists)) == ([], 0, 0, 0)
    lists.drop_front("nobody", 0)
    with pytest.raises(AssertionError):
        lists.drop_front("nobody", 1)


@pytest.mark.parametrize("typecode", ["", "I", "Q"])
def test_dropped_values_are_restored_by_undo(typecode: str) -> None:
    journal = Journal()
    lists: AppendLists[str, int] = AppendLists(journal, typecode)
    start = journal.position()
    for n in range(100):
        lists.append("alice", n)
    full = journal.position()
    for _ in range(9):
        lists.drop_front("alice", 11)
        lists.check()
    assert list(lists.get("alice")) == [99]
    lists.append("alice", 100)
    journal.undo(full)
    lists.check()
    history = lists.get("alice")
    assert (list(history), history.first, history.next) == (list(range(100)), 0, 100)
    journal.undo(start)
    assert len(lists) == 0


def test_dropped_values_are_freed() -> None:
    """Dropped values are freed from memory, which is bounded by the number of retained values."""
    journal = Journal()
    lists: AppendLists[str, int] = AppendLists(journal)
    for n in range(5000):
        lists.append("alice", n)
        if n >= 10:
            lists.drop_front("alice", 1)
            lists.check()
    history = lists.get("alice")
    assert (len(history), history.first, history[0]) == (10, 4990, 4990)
    assert len(history._values) < 100


def test_memory_of_many_dropped_records_is_freed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.store.journal.FREED_MIN", 10)
    journal = Journal()
    orders = Orders(journal)
    rows = [orders.insert(Order(seller="a", number=number, price=number)) for number in range(25)]
    journal.commit(journal.position() - 1)
    assert [row for _, (_, row, _) in journal.since(0)] == rows[-1:]
    held = [len(journal._dropped)]
    while held[-1]:
        orders.modify(rows[0], note=len(held))
        journal.commit(journal.position() - 1)
        held.append(len(journal._dropped))
    assert held == [14, 4, 0]
    journal.undo(journal.position() - 1)
    orders.check()
