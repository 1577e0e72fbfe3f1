"""The store by example: what each write, index, session and history does, and that a refused write changes nothing."""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from state.protocol.errors import NotUnique, UnknownKey
from state.store import AppendList, AppendLists, ComputedKey, Journal, Ordered, Row, Table, Unique
from state.store.ordered import UNREAD
from tests.helpers.golden import fails

INSERT_CLASH = "could not insert object, most likely a uniqueness constraint was violated"
MODIFY_CLASH = "Could not modify object, most likely a uniqueness constraint was violated"


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
    by_seller = Ordered("seller", "-price")
    by_price = Ordered("-price", "seller", unique=True)
    by_ratio = Ordered(ComputedKey(ratio, "price", "amount", descending=True))
    open_by_amount = Ordered("amount", where=(bool, "open"))
    by_amount_lazily = Ordered("-amount", lazy=True)


def filled(journal: Journal) -> Orders:
    """Five orders: ids 0 to 4, prices 10, 20, 30, 40, 50."""
    orders = Orders(journal)
    for n, seller in enumerate(["bob", "alice", "bob", "carol", "alice"]):
        orders.insert(Order(seller, n + 100, price=(n + 1) * 10, amount=n % 3))
    orders.check()
    return orders


def content(orders: Orders) -> object:
    """All that can be seen of a table."""
    indices = (orders.by_seller, orders.by_price, orders.by_ratio, orders.open_by_amount, orders.by_amount_lazily)
    return orders.next_id, [(id(row), msgspec.structs.astuple(row)) for row in orders], [[row.id for row in index] for index in indices]


def ids(rows: Any) -> list[int]:
    return [row.id for row in rows]


# ------------------------------------------------------------------ rows


def test_rows_are_themselves() -> None:
    one, other = Order("bob", 1), Order("bob", 1)
    assert one != other
    assert len({one, other, one}) == 2
    assert one.id == -1


def test_insert_gives_ids_in_turn() -> None:
    orders = filled(Journal())
    row = orders.insert(Order("dave", 7))
    assert (row.id, orders.next_id, len(orders)) == (5, 6, 6)
    assert orders.get(5) is row is orders.find(5)
    assert orders.get(6) is None
    with pytest.raises(UnknownKey):
        orders.find(6)


def test_removed_ids_are_not_given_again() -> None:
    orders = filled(Journal())
    orders.remove(orders.find(4))
    assert orders.insert(Order("dave", 7)).id == 5
    assert ids(orders) == [0, 1, 2, 3, 5]


def test_a_row_is_inserted_once() -> None:
    orders = filled(Journal())
    with pytest.raises(AssertionError):
        orders.insert(orders.find(0))
    gone = orders.find(1)
    orders.remove(gone)
    for write in (orders.insert, orders.remove, orders.modify):
        with pytest.raises(AssertionError):
            write(gone)


def test_a_foreign_row_is_not_modified() -> None:
    orders = filled(Journal())
    with pytest.raises(AssertionError):
        orders.modify(Order("bob", 1, id=0), amount=5)


def test_undoing_removals_keeps_the_order_of_ids() -> None:
    journal = Journal()
    orders = filled(journal)
    mark = journal.position()
    for n in (1, 3, 0):
        orders.remove(orders.find(n))
    journal.undo(mark)
    orders.check()
    assert ids(orders) == [0, 1, 2, 3, 4]
    orders.insert(Order("dave", 7))
    assert ids(orders) == [0, 1, 2, 3, 4, 5]


# ------------------------------------------------------------------ indices


def test_unique_finds_rows() -> None:
    orders = filled(Journal())
    assert orders.by_number.get(102) is orders.find(2)
    assert orders.by_number.find(102) is orders.find(2)
    assert orders.by_seller_number.get("bob", 102) is orders.find(2)
    assert orders.by_seller_number.find("bob", 102) is orders.find(2)
    assert orders.by_number.get(1) is None
    assert orders.by_seller_number.get("bob", 101) is None
    with pytest.raises(UnknownKey):
        orders.by_number.find(1)
    with pytest.raises(UnknownKey):
        orders.by_seller_number.find("bob", 101)
    with pytest.raises(TypeError):
        orders.by_seller_number.get("bob")


def test_unique_ordered_finds_rows_in_declared_terms() -> None:
    orders = filled(Journal())
    assert orders.by_price.get(30, "bob") is orders.find(2)
    assert orders.by_price.find(30, "bob") is orders.find(2)
    assert orders.by_price.get(30, "alice") is None
    with pytest.raises(UnknownKey):
        orders.by_price.find(30, "alice")
    with pytest.raises(AssertionError):
        orders.by_seller.get("bob", 10)


def test_ordered_is_read_from_both_ends() -> None:
    orders = filled(Journal())
    assert ids(orders.by_seller) == [4, 1, 2, 0, 3]
    assert ids(reversed(orders.by_seller)) == [3, 0, 2, 1, 4]
    assert (orders.by_seller.first(), orders.by_seller.last()) == (orders.find(4), orders.find(3))
    assert len(orders.by_seller) == 5


def test_an_empty_index_has_no_ends() -> None:
    orders = Orders(Journal())
    for index in (orders.by_seller, orders.by_price, orders.by_amount_lazily):
        assert index.first() is None
        assert index.last() is None
        assert list(index) == list(index.starting()) == list(index.after()) == []


@pytest.mark.parametrize(
    ("prefix", "starting", "after", "equal", "before"),
    [
        ((), [4, 1, 2, 0, 3], [], [4, 1, 2, 0, 3], []),
        (("bob",), [2, 0, 3], [3], [2, 0], [1, 4]),
        (("bz",), [3], [3], [], [0, 2, 1, 4]),
        (("bob", 30), [2, 0, 3], [0, 3], [2], [1, 4]),
        (("bob", 29), [0, 3], [0, 3], [], [2, 1, 4]),
        (("bob", 10, 0), [0, 3], [3], [0], [2, 1, 4]),
        (("bob", 10, 1), [3], [3], [], [0, 2, 1, 4]),
        (("dave",), [], [], [], [3, 0, 2, 1, 4]),
    ],
)
def test_prefixes(prefix: tuple[Any, ...], starting: list[int], after: list[int], equal: list[int], before: list[int]) -> None:
    index = filled(Journal()).by_seller
    assert ids(index.starting(*prefix)) == starting
    assert ids(index.after(*prefix)) == after
    assert ids(index.equal(*prefix)) == equal
    assert ids(index.before(*prefix)) == before


def test_prefixes_of_a_unique_descending_index() -> None:
    index = filled(Journal()).by_price
    assert ids(index.starting(30)) == [2, 1, 0]
    assert ids(index.starting(30, "bob")) == [2, 1, 0]
    assert ids(index.after(30, "bob")) == [1, 0]
    assert ids(index.equal(30, "bob")) == [2]
    assert ids(index.before(30, "bob")) == [3, 4]


def test_computed_parts_take_what_the_function_returns() -> None:
    orders = filled(Journal())
    assert ids(orders.by_ratio) == [3, 4, 0, 1, 2]
    assert ids(orders.by_ratio.equal(ratio(10, 0))) == [0, 1, 2]
    assert ids(orders.by_ratio.starting(ratio(10, 0), 1)) == [1, 2]
    orders.modify(orders.find(2), amount=0)
    assert ids(orders.by_ratio) == [3, 2, 4, 0, 1]


def test_partial_index_follows_its_condition() -> None:
    journal = Journal()
    orders = filled(journal)
    assert ids(orders.open_by_amount) == [0, 3, 1, 4, 2]
    mark = journal.position()
    orders.modify(orders.find(3), open=False)
    orders.modify(orders.find(3), amount=9)
    orders.check()
    assert ids(orders.open_by_amount) == [0, 1, 4, 2]
    orders.modify(orders.find(3), open=True)
    assert ids(orders.open_by_amount) == [0, 1, 4, 2, 3]
    journal.undo(mark)
    orders.check()
    assert ids(orders.open_by_amount) == [0, 3, 1, 4, 2]


def test_lazy_index_sorts_at_the_next_read() -> None:
    journal = Journal()
    orders = filled(journal)
    index = orders.by_amount_lazily
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
    index = orders.by_amount_lazily
    assert len(index) == 5
    for n in range(50):
        orders.remove(orders.insert(Order("dave", n)))
    assert index.dirty == {UNREAD}


def test_lazy_index_tells_rows_with_one_id_apart() -> None:
    journal = Journal()
    orders = filled(journal)
    for n in range(100):
        orders.insert(Order("erin", 1000 + n, price=1000 + n))
    index = orders.by_amount_lazily
    mark = journal.position()
    orders.insert(Order("dave", 7, amount=1))
    assert len(index) == 106
    journal.undo(mark)
    other = orders.insert(Order("dave", 8, amount=1))
    assert [row for row in index.equal(1) if row.seller == "dave"] == [other]
    orders.check()


def test_only_changed_values_move_rows() -> None:
    orders = filled(Journal())
    walk = iter(orders.by_price)
    next(walk)
    orders.modify(orders.find(2), price=30, number=902, amount=5, note="same price")
    assert ids(walk) == [3, 2, 1, 0]


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize("row", [Order("zoe", 100), Order("alice", 7, price=50)], ids=["unique", "ordered"])
def test_refused_insert_changes_nothing(row: Order) -> None:
    journal = Journal()
    orders = filled(journal)
    before, mark = content(orders), journal.position()
    with pytest.raises(NotUnique) as refused:
        orders.insert(row)
    assert refused.value.what == INSERT_CLASH
    orders.check()
    assert (content(orders), journal.position(), row.id) == (before, mark, -1)


@pytest.mark.parametrize("changes", [{"note": 1, "price": 5, "number": 100}, {"price": 50, "open": False}], ids=["unique", "ordered"])
def test_refused_modify_changes_nothing(changes: dict[str, Any]) -> None:
    journal = Journal()
    orders = filled(journal)
    before, mark = content(orders), journal.position()
    with pytest.raises(NotUnique) as refused:
        orders.modify(orders.find(1), **changes)
    assert refused.value.what == MODIFY_CLASH
    orders.check()
    assert (content(orders), journal.position()) == (before, mark)


def test_a_key_is_free_after_removal_and_after_a_move() -> None:
    orders = filled(Journal())
    orders.remove(orders.find(0))
    orders.modify(orders.find(1), number=100)
    orders.insert(Order("zoe", 101))
    orders.check()
    assert orders.by_number.find(100).id == 1


WRONG: list[Callable[[Orders], object]] = [
    lambda orders: orders.modify(orders.find(1), note=1, amount=2, nonsense=3),
    lambda orders: orders.modify(orders.find(1), note=1, price="text"),
    lambda orders: orders.modify(orders.find(1), note=1, number=5, seller=None),
    lambda orders: orders.modify(orders.find(1), note=1, number=[]),
    lambda orders: orders.modify(orders.find(1), id=77),
    lambda orders: orders.insert(Order(seller=None, number=7)),  # type: ignore[arg-type]
    lambda orders: orders.insert(Order("zoe", 7, amount=None)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("write", WRONG)
def test_a_write_that_fails_changes_nothing(write: Callable[[Orders], object]) -> None:
    """Whatever is raised: a field that isn't there, a value that can't be compared, hashed or negated."""
    journal = Journal()
    orders = filled(journal)
    before, mark = content(orders), journal.position()
    with pytest.raises((AttributeError, TypeError, AssertionError)):
        write(orders)
    orders.check()
    assert (content(orders), journal.position()) == (before, mark)


# ------------------------------------------------------------------ walking while writing


@pytest.mark.parametrize("name", ["by_seller", "by_price", "open_by_amount", "by_amount_lazily"])
@pytest.mark.parametrize("start", [0, 1, 4, 5])
def test_a_walk_ends_when_its_index_changes(name: str, start: int) -> None:
    orders = filled(Journal())
    walk = iter(getattr(orders, name))
    for _ in range(start):
        next(walk)
    orders.insert(Order("zoe", 7))
    with fails(RuntimeError):
        next(walk)


def test_a_walk_ends_when_another_reader_sorts_a_lazy_index() -> None:
    orders = filled(Journal())
    for n in range(100):
        orders.insert(Order("erin", 1000 + n, price=1000 + n))
    walk = iter(orders.by_amount_lazily)
    next(walk)
    orders.modify(orders.find(3), amount=50)
    assert orders.by_amount_lazily.first() is orders.find(3)
    with fails(RuntimeError):
        next(walk)


def test_a_walk_ends_when_its_table_changes() -> None:
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


def test_a_walk_survives_changes_of_other_fields() -> None:
    orders = filled(Journal())
    seen = []
    for row in orders.by_seller:
        orders.modify(row, amount=row.amount + 1, note="seen")
        seen.append(row.id)
    assert seen == [4, 1, 2, 0, 3]


def test_the_head_can_be_asked_again_and_again() -> None:
    orders = filled(Journal())
    order = []
    while (head := orders.by_price.first()) is not None:
        order.append(head.id)
        orders.remove(head)
    assert order == [4, 3, 2, 1, 0]
    orders.check()


# ------------------------------------------------------------------ journal


def test_session_keeps_what_ends_well() -> None:
    journal = Journal()
    orders = filled(journal)
    with journal.session() as mark:
        orders.modify(orders.find(0), note="kept")
    assert orders.find(0).note == "kept"
    assert journal.position() == mark + 1


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, UnknownKey])
def test_session_undoes_what_fails(error: type[BaseException]) -> None:
    journal = Journal()
    orders = filled(journal)
    before = content(orders)
    new = Order("zoe", 7)

    def work() -> None:
        with journal.session():
            orders.modify(orders.find(0), note="gone", price=999)
            orders.remove(orders.find(1))
            orders.insert(new)
            raise error

    with pytest.raises(error):
        work()
    orders.check()
    assert (content(orders), new.id) == (before, -1)


def test_sessions_nest() -> None:
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


def test_cut_keeps_marks_and_forgets_the_rest() -> None:
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


def test_row_type_comes_from_the_base() -> None:
    assert Orders.ROW is Order
    assert isinstance(Orders.by_number, Unique)
    assert isinstance(Orders.by_price, Ordered)


def test_tables_of_one_class_are_apart() -> None:
    journal = Journal()
    one, other = filled(journal), Orders(journal)
    assert one.by_price.first() is one.find(4)
    assert (len(other), len(other.by_price), other.by_number.get(100)) == (0, 0, None)


# ------------------------------------------------------------------ many rows


def test_thousands_of_rows() -> None:
    """Enough for the order to be split into many pieces inside; everything undone in the end."""
    random, journal = Random(7), Journal()
    orders = Orders(journal)
    for n in range(4000):
        orders.insert(Order(f"s{random.randrange(50)}", n, price=n * 7919 % 4001, amount=random.randrange(100)))
    before, mark = content(orders), journal.position()
    for n in range(3000):
        row = orders.get(random.randrange(4000))
        if row is None:
            orders.insert(Order("new", 10_000 + n, price=10_000 + n))
        elif n % 3 == 0:
            orders.remove(row)
        else:
            orders.modify(row, amount=random.randrange(100), open=n % 2 == 0, seller=f"s{random.randrange(50)}", price=-n)
        if n % 500 == 0:
            orders.check()
            assert orders.by_amount_lazily.first() is not None
    orders.check()
    journal.undo(mark)
    orders.check()
    assert content(orders) == before


# ------------------------------------------------------------------ lists


def test_histories_number_their_values() -> None:
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


def test_an_unknown_key_has_an_empty_history() -> None:
    lists: AppendLists[str, str] = AppendLists(Journal())
    history: AppendList[str] = lists.get("nobody")
    assert (list(history), history.first, history.next, len(lists)) == ([], 0, 0, 0)
    lists.drop_front("nobody", 0)
    with pytest.raises(AssertionError):
        lists.drop_front("nobody", 1)


def test_histories_are_undone() -> None:
    journal = Journal()
    lists: AppendLists[str, int] = AppendLists(journal)
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


def test_dropped_values_are_let_go() -> None:
    """What lies in front of a long history is bounded by what is kept."""
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
