"""An incremental read has the same result as one without interruption, whatever changes between its chunks."""

from collections.abc import Callable
from random import Random

import pytest

from state.protocol.errors import require
from state.protocol.work import TooMuchWork
from state.store import Journal, Ordered, Row, Table
from state.store.lazy import incremental as slices_module
from state.store.lazy.background_load import BackgroundLoad, BackgroundLoadable
from state.store.lazy.incremental import NotReady, ReadMode, process_some
from tests.helpers.golden import fails
from tests.helpers.stores import use_small_buckets


class Thing(Row):
    score: int = 0


class Things(Table[Thing]):
    by_score = Ordered("-score", lazy=True)


@pytest.fixture(autouse=True)
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("incremental.CHUNK_ROWS", "order.CHUNK_ROWS", "order.CHUNK_IDS", "lazy_index.CHUNK_IDS"):
        monkeypatch.setattr(f"state.store.lazy.{name}".replace("lazy.lazy_index", "lazy_index"), 5)
    use_small_buckets(monkeypatch)


def change(random: Random, things: Things, count: int) -> None:
    """Insert, modify and remove `count` random rows."""
    for _ in range(count):
        rows = list(things)
        kind = random.random()
        if kind < 0.4 or not rows:
            things.insert(Thing(score=random.randrange(20)))
        elif kind < 0.8:
            things.modify(random.choice(rows), score=random.randrange(20))
        else:
            things.remove(random.choice(rows))


def scores(things: Things) -> list[tuple[int, int]]:
    return [(row.score, row.id) for row in things.by_score]


@pytest.mark.parametrize("seed", range(20))
def test_an_incremental_read_has_the_order_at_its_end(seed: int) -> None:
    random, journal = Random(seed), Journal()
    things = Things(journal)
    change(random, things, 100)
    for _ in range(6):
        mark = journal.position()
        steps = journal.read_mode.read_incrementally(lambda: scores(things))
        slices = 0
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found = end.value
                break
            slices += 1
            # Change fewer rows than a slice processes, so that the read ends.
            change(random, things, random.randrange(4))
            if random.random() < 0.1:
                journal.undo(mark)
            if random.random() < 0.05:
                assert scores(things) == sorted(((row.score, row.id) for row in things), key=lambda one: (-one[0], one[1]))
        assert found == sorted(((row.score, row.id) for row in things), key=lambda one: (-one[0], one[1]))
        things.check()
        journal.commit(journal.position())
        change(random, things, 60)
    assert slices


def test_only_incremental_reads_are_interrupted() -> None:
    things = Things(Journal())
    change(Random(1), things, 50)
    read_mode = things.journal.read_mode
    with pytest.raises(NotReady):
        read_mode.try_read(scores, things)
    assert not read_mode.is_incremental
    assert len(scores(things)) == len(things)
    assert read_mode.try_read(scores, things) == scores(things)


def test_an_iterator_ends_when_its_order_was_refreshed_incrementally() -> None:
    things = Things(Journal())
    rows = [things.insert(Thing(score=i)) for i in range(20)]
    walk = iter(things.by_score)
    next(walk)
    for row in rows:
        things.modify(row, score=-row.score)
    for _ in things.journal.read_mode.read_incrementally(lambda: scores(things)):
        pass
    with fails(RuntimeError):
        next(walk)


def test_failing_work_is_dropped_and_the_rest_is_done() -> None:
    things, done = {1, 2, 3, 4}, set[int]()

    def work(thing: int) -> None:
        if thing == 3:
            raise ValueError("three")
        require(thing != 2, "two")
        done.add(thing)

    with pytest.raises(ValueError, match="three"):
        process_some(things, 4, work)
    assert (things, done) == (set(), {1, 4})


@pytest.mark.parametrize("error", [NotReady(bool), KeyboardInterrupt(), TooMuchWork("a call", 1, {})])
def test_interrupted_work_stays(error: BaseException) -> None:
    things = {1}

    def work(thing: int) -> None:
        raise error

    with pytest.raises(type(error)):
        process_some(things, 1, work)
    assert things == {1}


class Holder(BackgroundLoadable):
    def __init__(self) -> None:
        self.values: list[int] = []


def filling(holder: Holder, reads: ReadMode) -> Callable[[], list[int]]:
    """Make an object load in the background. Return a function that reads its content."""

    def steps() -> object:
        for number in range(4):
            holder.raw_attributes()["values"].append(number)
            yield

    BackgroundLoad((holder,), steps(), reads)  # type: ignore[arg-type]
    return lambda: holder.values


def test_an_incremental_read_finishes_a_background_load_in_steps() -> None:
    holder, read_mode = Holder(), ReadMode()
    steps = read_mode.read_incrementally(filling(holder, read_mode))
    assert sum(1 for _ in steps) == 5
    assert holder.values == [0, 1, 2, 3]
    assert slices_module.CHUNK_ROWS == 5
