"""LazyOrder: examples, and random changes compared with a sorted list."""

from random import Random
from typing import Any

import pytest

from state.protocol.errors import Refused
from state.store import LazyOrder
from state.store.keys import Entry
from tests.helpers.golden import fails
from tests.helpers.stores import use_small_buckets

MANY = 160


class Scored:
    """A table of things with scores, ordered by descending score."""

    def __init__(self, count: int) -> None:
        self.scores: dict[int, Any] = {thing: thing % 10 for thing in range(count)}
        self.scored_ids: list[int] = []
        self.order = LazyOrder(self.entry_of, self.scores)

    def entry_of(self, thing: int) -> Entry | None:
        self.scored_ids.append(thing)
        if isinstance(self.scores.get(thing), Exception):
            raise self.scores[thing]
        return (-self.scores[thing], thing) if thing in self.scores else None

    def give(self, thing: int, score: Any) -> None:
        self.scores[thing] = score
        self.order.dirty.add(thing)

    def best(self) -> list[int]:
        return list(self.order.refreshed().ids())


def test_the_first_read_sorts_all_and_the_next_none() -> None:
    scored = Scored(12)
    assert scored.scored_ids == []
    assert scored.best()[:4] == [9, 8, 7, 6]
    assert len(scored.scored_ids) == 12
    assert scored.best()[-2:] == [0, 10]
    assert len(scored.scored_ids) == 12


@pytest.mark.parametrize("changes", [1, MANY // 8], ids=["few", "many"])
def test_a_read_computes_only_the_entries_that_it_compares(changes: int) -> None:
    scored = Scored(MANY)
    scored.best()
    scored.scored_ids.clear()
    for thing in range(changes):
        for score in (100, 200, 300 + thing):
            scored.give(thing, score)
    assert scored.best()[:changes] == list(reversed(range(changes)))
    assert len(scored.scored_ids) <= changes * (2 + MANY.bit_length())
    scored.order.check()


@pytest.mark.parametrize("changes", [1, MANY // 8], ids=["few", "many"])
def test_removed_entries_are_taken_out(changes: int) -> None:
    scored = Scored(MANY)
    scored.best()
    for thing in range(changes):
        del scored.scores[thing]
        scored.order.forget(thing)
    assert sorted(scored.best()) == list(range(changes, MANY))
    scored.order.check()


def test_entries_added_and_removed_between_reads_leave_no_trace() -> None:
    scored = Scored(3)
    scored.best()
    for thing in range(100, 200):
        scored.give(thing, 5)
        del scored.scores[thing]
        scored.order.forget(thing)
    assert not scored.order.dirty
    assert len(scored.best()) == 3


@pytest.mark.parametrize("changes", [1, MANY // 8], ids=["few", "many"])
@pytest.mark.parametrize("had_one", [True, False], ids=["moves", "first"])
@pytest.mark.parametrize("wrong", ["text", ZeroDivisionError(), Refused("")], ids=["compared", "fault", "refusal"])
def test_a_failing_entry_is_left_out(wrong: object, had_one: bool, changes: int) -> None:
    scored = Scored(MANY)
    if had_one:
        scored.best()
    for thing in range(changes):
        scored.give(thing, 100)
    scored.give(0, wrong)
    if not isinstance(wrong, Refused):
        # A bug is reported once; a refusal says that the rules can't compute the value.
        with pytest.raises((TypeError, ZeroDivisionError)):
            scored.best()
    found = scored.best()
    assert found[: changes - 1] == [*range(1, changes)]
    assert sorted(found) == [*range(1, MANY)]
    scored.give(0, 50)
    assert scored.best()[:changes] == [*range(1, changes), 0]
    scored.order.check()


def test_a_missed_change_is_found() -> None:
    scored = Scored(3)
    scored.best()
    scored.scores[1] = 77
    with fails(AssertionError):
        scored.order.check()


@pytest.mark.parametrize("is_small", [True, False])
def test_many_random_changes(is_small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_small:
        use_small_buckets(monkeypatch)
    random, scored = Random(3), Scored(500)
    for step in range(300):
        for _ in range(random.choice((0, 1, 5, 200))):
            thing = random.randrange(600)
            if random.random() < 0.3:
                scored.scores.pop(thing, None)
                scored.order.forget(thing)
            else:
                scored.give(thing, random.randrange(50))
        scored.order.check()
        if step % 3 == 0:
            assert scored.best() == sorted(scored.scores, key=lambda thing: (-scored.scores[thing], thing))
