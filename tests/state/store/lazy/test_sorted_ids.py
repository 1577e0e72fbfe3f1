"""SortedIds, with small buckets: random changes and reads, compared with a sorted list."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from state.store.keys import Entry
from state.store.lazy.incremental import NotReady, ReadMode
from state.store.lazy.sorted_ids import SortedIds
from tests.helpers.stores import use_small_buckets


@pytest.fixture(autouse=True)
def _small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_buckets(monkeypatch)


class Model:
    """Scores by id, and the order of the ids."""

    def __init__(self, random: Random, highest: int) -> None:
        self.random, self.highest = random, highest
        self.scores: dict[int, int] = {}
        self.read_mode, self.dirty = ReadMode(), set[int]()
        self.order = SortedIds(self.entry_of, self.entries_of, self.read_mode, self.dirty)

    def entry_of(self, row_id: int) -> Entry:
        return self.scores[row_id], row_id

    def entries_of(self, ids: Iterable[int]) -> list[Entry]:
        return [self.entry_of(row_id) for row_id in ids]

    def change(self, count: int) -> None:
        """Remove, add or move up to `count` ids."""
        random = self.random
        chosen = {random.randrange(self.highest) for _ in range(count)} | set(
            random.sample(sorted(self.scores), min(count, len(self.scores)))
        )
        self.order.remove(chosen, len(chosen))
        lowest = random.randrange(1000)
        for row_id in chosen:
            if random.random() < 0.4:
                self.scores.pop(row_id, None)
            else:
                self.scores[row_id] = lowest + random.randrange(random.choice((5, 1000)))
        self.order.put(sorted(self.entries_of(chosen & self.scores.keys())))

    def check(self) -> None:
        """Compare random reads with the sorted entries."""
        random, order = self.random, self.order
        order.check()
        expected = sorted(self.entries_of(self.scores))
        low, high = sorted((random.randrange(-10, 2000), random.randrange(-10, 2000)))
        bounds: list[Any] = [None, (low,), (low, 5), random.choice(expected or [(3, 3)])]
        inclusive = random.random() < 0.5, random.random() < 0.5
        first, last = random.choice(bounds), random.choice([None, (high,), (high, 5), random.choice(expected or [(3, 3)])])
        found = [
            entry
            for entry in expected
            if (first is None or entry > first or (inclusive[0] and entry == first))
            and (last is None or entry < last or (inclusive[1] and entry == last))
        ]
        assert list(order.irange(first, last, inclusive)) == found
        assert list(order.irange(first, last, inclusive, reverse=True)) == found[::-1]
        if expected:
            at = random.randrange(len(expected))
            assert order[at] == expected[at]
            assert order[at - len(expected)] == expected[at]
            assert order[at : at + 9] == expected[at : at + 9]
        assert order.bisect_left((low,)) == sum(entry < (low,) for entry in expected)
        assert (order.first(), order.last()) == ((expected[0][1], expected[-1][1]) if expected else (None, None))
        if random.random() < 0.1:
            assert list(order) == expected
            assert list(reversed(order)) == expected[::-1]
        assert len(order) == len(expected)
        assert all(order.has(row_id) == (row_id in self.scores) for row_id in [*range(-1, 20), self.highest])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("highest", [60, 1000, 100_000, 1 << 40], ids=["dense", "many", "sparse", "huge"])
def test_random_changes(seed: int, highest: int) -> None:
    random = Random(seed)
    model = Model(random, highest)
    for _ in range(60):
        model.change(random.choice((1, 3, 50, 300)))
        for _ in range(random.randrange(3)):
            model.check()
    if random.random() < 0.5:
        model.order.remove(list(model.scores), len(model.scores))
        model.scores.clear()
        model.check()
        model.change(40)
        model.check()


def test_an_order_that_becomes_sparse_takes_little_memory() -> None:
    model = Model(Random(1), 5000)
    for begin in range(0, 1_000_000, 500):
        ids = range(begin, begin + 500)
        for row_id in ids:
            model.scores[row_id] = row_id % 7
        model.order.put(sorted(model.entries_of(ids)))
        model.order.remove(ids[20:], 480)
        for row_id in ids[20:]:
            del model.scores[row_id]
        if begin > 2000:
            gone = range(begin - 2000, begin - 1980)
            model.order.remove(gone, 20)
            for row_id in gone:
                del model.scores[row_id]
    model.check()
    assert len(model.order) == 100
    assert model.order.size < 100_000


def test_iterators_continue_while_others_sort_buckets() -> None:
    model = Model(Random(2), 400)
    model.order.choose_bounds((), 1)
    for begin in range(0, 400, 50):
        for row_id in range(begin, begin + 50):
            model.scores[row_id] = row_id * 7919 % 400
        model.order.put(sorted(model.entries_of(range(begin, begin + 50))))
    expected = [row_id for _, row_id in sorted(model.entries_of(model.scores))]
    up, down = model.order.ids(), model.order.ids(reverse=True)
    assert [(next(up), next(down)) for _ in expected] == list(zip(expected, expected[::-1], strict=True))


def unsorted() -> Model:
    """Return a model whose order is one unsorted bucket."""
    model = Model(Random(3), 100)
    for begin in (0, 1):
        ids = range(begin, 16, 2)
        for row_id in ids:
            model.scores[row_id] = -row_id
        model.order.put(sorted(model.entries_of(ids)))
    return model


def test_an_incremental_read_sorts_a_large_bucket_in_a_step_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.store.lazy.incremental.CHUNK_ROWS", 5)
    model = unsorted()
    with pytest.raises(NotReady) as caught:
        model.read_mode.try_read(model.order.first)
    assert not caught.value.advance()
    assert model.read_mode.try_read(model.order.first) == 15
    assert not caught.value.advance()
    model.check()


def test_a_bucket_is_not_sorted_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.store.lazy.incremental.CHUNK_ROWS", 5)
    model = unsorted()
    with pytest.raises(NotReady) as caught:
        model.read_mode.try_read(model.order.first)
    model.dirty.add(3)
    del model.scores[3]
    assert not caught.value.advance()
    model.order.remove([3], 1)
    model.dirty.clear()
    model.check()
