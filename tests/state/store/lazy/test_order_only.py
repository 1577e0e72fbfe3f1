"""Fields that only lazy indices read: a change marks the row as dirty, and the next read returns the new order."""

import pytest

from state.store import Journal, Ordered, Row, Table, Unique
from tests.helpers.golden import fails


class Post(Row):
    """A row with two fields that only lazy indices read, and one that no index reads."""

    name: str
    score: int = 0
    votes: int = 0
    note: str = ""


class Posts(Table[Post]):
    """A table with one eager and two lazy indices."""

    by_name = Unique("name")
    by_score = Ordered("-score", lazy=True)
    by_both = Ordered("votes", "-score", lazy=True)


@pytest.fixture
def posts() -> Posts:
    table = Posts(Journal())
    for score, name in enumerate("abcd"):
        table.insert(Post(name=name, score=score))
    return table


def names(posts: Posts) -> str:
    return "".join(post.name for post in posts.by_score) + " " + "".join(post.name for post in posts.by_both)


def test_the_next_read_has_the_new_order_and_undo_the_old_one(posts: Posts) -> None:
    assert names(posts) == "dcba dcba"
    mark = posts.journal.position()
    a, d = posts.by_name.find("a"), posts.by_name.find("d")
    posts.modify(a, score=9)
    assert names(posts) == "adcb adcb"
    posts.modify(d, note="x", votes=1, score=-1)
    assert names(posts) == "acbd acbd"
    posts.check()
    posts.journal.undo(mark)
    assert names(posts) == "dcba dcba"
    posts.check()


def test_only_a_changed_value_ends_an_iterator(posts: Posts) -> None:
    a = posts.by_name.find("a")
    assert names(posts) == "dcba dcba"
    walk = iter(posts.by_score)
    next(walk)
    posts.modify(a, score=a.score, note="new")
    next(walk)
    posts.modify(a, score=7, votes=a.votes)
    assert list(posts.lazy_orders[1].dirty) == [a.id]
    with fails(RuntimeError):
        next(walk)


def test_a_field_that_is_not_there_changes_nothing(posts: Posts) -> None:
    a = posts.by_name.find("a")
    assert names(posts) == "dcba dcba"
    with pytest.raises(AttributeError):
        posts.modify(a, score=5, votes=5, nothing=5)
    assert (a.score, a.votes) == (0, 0)
    assert not posts.lazy_orders[0].dirty
    posts.check()
