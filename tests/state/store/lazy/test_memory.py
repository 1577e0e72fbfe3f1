"""The limit of the memory of lazy orders: which are dropped, and that reads end nevertheless."""

from collections.abc import Callable
from random import Random

import pytest

from state.store import Journal, LazyOrder, Ordered, Row, Table
from state.store.lazy.incremental import NotReady, ReadMode
from state.store.lazy.memory import HELD_PERIODS, QueryData, QueryMemory
from state.store.lazy.order_cache import OrderCache

COUNT = 2000


class Post(Row):
    score: int = 0
    votes: int = 0
    author: str = ""


class Posts(Table[Post]):
    by_score = Ordered("-score", lazy=True)
    by_votes = Ordered("votes", lazy=True)
    by_author = Ordered("author", lazy=True)


@pytest.fixture
def posts() -> Posts:
    """Return a table whose orders together exceed the limit, which one of them doesn't."""
    table, random = Posts(Journal()), Random(1)
    for n in range(COUNT):
        table.insert(Post(score=random.randrange(100), votes=n, author=f"a{n % 7}"))
    table.journal.commit(table.journal.position())
    table.by_score.first()
    memory_of(table).limit = int(memory_of(table).size * 1.5)
    table.restore(list(table), table.next_id)
    return table


def memory_of(posts: Posts) -> QueryMemory:
    return posts.journal.read_mode.memory


def sorted_orders(posts: Posts) -> list[int]:
    """Return which of the orders are not dropped."""
    return [n for n, order in enumerate(posts.lazy_orders) if not order.dirty]


def queried(posts: Posts, read: Callable[[], object]) -> int:
    """Run a query as the service does. Return how often it started."""
    count = 0

    def counted() -> object:
        nonlocal count
        count += 1
        return read()

    for _ in posts.journal.read_mode.read_incrementally(counted):
        assert count < 20, "the query has no end"
    return count


def test_the_order_that_was_used_longest_ago_is_dropped(posts: Posts) -> None:
    queried(posts, posts.by_score.first)
    assert sorted_orders(posts) == [0]
    queried(posts, posts.by_votes.first)
    assert sorted_orders(posts) == [1]
    memory = memory_of(posts)
    assert memory.limit is not None
    assert memory.size < memory.limit
    assert memory.dropped == 1
    memory.limit *= 2
    queried(posts, posts.by_score.first)
    queried(posts, posts.by_votes.first)
    queried(posts, posts.by_author.first)
    assert sorted_orders(posts) == [0, 1, 2]
    posts.check()


def test_a_dropped_order_is_sorted_again(posts: Posts) -> None:
    queried(posts, posts.by_score.first)
    walk = posts.journal.read_mode.try_read(lambda: iter(posts.by_score))
    best = next(walk)
    queried(posts, posts.by_votes.first)
    with pytest.raises(RuntimeError, match="changed"):
        next(walk)
    assert posts.by_score.first() is best
    posts.check()


def test_orders_of_replaced_rows_take_no_memory(posts: Posts) -> None:
    queried(posts, posts.by_score.first)
    assert memory_of(posts).size > 0
    posts.restore(list(posts), posts.next_id)
    assert (memory_of(posts).size, len(memory_of(posts))) == (0, 0)


def test_a_query_that_needs_more_than_the_limit_ends(posts: Posts) -> None:
    indices = posts.by_score, posts.by_votes, posts.by_author
    for _ in range(2):
        assert queried(posts, lambda: [index.first() for index in indices]) == 4
        assert memory_of(posts).size > (memory_of(posts).limit or 0)
        for _ in range(HELD_PERIODS + 1):
            memory_of(posts).end_period()
        assert memory_of(posts).size <= (memory_of(posts).limit or 0)


def test_what_a_rule_reads_is_held(posts: Posts) -> None:
    posts.by_score.first()
    for _ in range(HELD_PERIODS - 1):
        queried(posts, posts.by_votes.first)
        assert 0 in sorted_orders(posts)
        memory_of(posts).end_period()
    memory_of(posts).end_period()
    queried(posts, posts.by_author.first)
    assert sorted_orders(posts) == [2]


def test_an_order_whose_reader_is_gone_can_be_dropped(posts: Posts) -> None:
    with pytest.raises(NotReady) as caught:
        posts.journal.read_mode.try_read(posts.by_score.first)
    while caught.value.advance():
        pass
    for _ in range(HELD_PERIODS + 1):
        memory_of(posts).end_period()
    queried(posts, posts.by_votes.first)
    assert sorted_orders(posts) == [1]


def test_only_sorting_again_costs_units(posts: Posts) -> None:
    def units() -> int:
        with pytest.raises(NotReady) as caught:
            posts.journal.read_mode.try_read(posts.by_score.first)
        return caught.value.units

    assert units() == 0
    queried(posts, posts.by_score.first)
    queried(posts, posts.by_votes.first)
    assert 0 < units() <= COUNT
    assert units() == 0, "the work was paid for"


def test_an_order_of_another_owner() -> None:
    read_mode, dropped = ReadMode(), list[int]()
    order = LazyOrder(lambda n: (-n, n), range(10), read_mode, drop_all=lambda: dropped.append(1))
    assert order.refreshed().first() == 9
    assert len(read_mode.memory) == 1
    assert read_mode.memory.size == order.memory_size > 0
    read_mode.memory.limit = 1
    for _ in range(HELD_PERIODS):
        read_mode.memory.end_period()
    assert (len(read_mode.memory), read_mode.memory.size, dropped) == (0, 0, [1])


class View(QueryData):
    """A view with lists, which are dropped with it."""

    memory_size = 1000

    def __init__(self, read_mode: ReadMode) -> None:
        super().__init__()
        self.lists = OrderCache(read_mode)

    def drop(self) -> None:
        self.lists.clear()


def test_a_view_and_its_lists_are_dropped_together() -> None:
    read_mode = ReadMode()
    memory, views = read_mode.memory, [View(read_mode) for _ in range(2)]
    for view in views:
        memory.used(view, is_query=True)
        memory.resized(view)
        for name in "ab":
            view.lists.refreshed("all", name, lambda: (lambda n: (n, n), range(10)))
    memory.limit = 1
    for _ in range(HELD_PERIODS):
        memory.end_period()
    assert (len(memory), memory.size, [len(view.lists) for view in views]) == (0, 0, [0, 0])


def test_a_step_of_a_list_that_was_dropped_meanwhile() -> None:
    read_mode = ReadMode()
    memory, lists = read_mode.memory, OrderCache(read_mode)

    def read() -> object:
        return lists.refreshed("all", "a", lambda: (lambda n: (n, n), range(10_000))).first()

    with pytest.raises(NotReady) as caught:
        read_mode.try_read(read)
    lists.clear()
    while caught.value.advance():
        pass
    memory.limit = 1
    for _ in range(HELD_PERIODS + 1):
        memory.end_period()
    assert (len(memory), memory.size, len(lists)) == (0, 0, 0)
    assert read() == 0
