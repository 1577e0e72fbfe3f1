"""An index of rows by when they are due."""

import pytest

from state.protocol.errors import NotUnique
from state.store import Due, Journal, Ordered, Row, Table, Unique
from state.store.due import EMPTY_TIMES_MAX
from state.store.rows import run_steps


class Task(Row):
    name: str
    time: int


class Tasks(Table[Task]):
    by_name = Unique("name")
    by_time = Due("time")


def filled(journal: Journal) -> Tasks:
    tasks = Tasks(journal)
    for name, time in (("a", 5), ("b", 3), ("c", 5), ("d", 3), ("e", 9)):
        tasks.insert(Task(name=name, time=time))
    return tasks


def due(tasks: Tasks, time: int) -> list[str]:
    return sorted(task.name for task in tasks.by_time.earliest_before(time))


def test_rows_of_the_earliest_time_are_found() -> None:
    tasks = filled(Journal())
    assert due(tasks, 3) == []
    assert due(tasks, 4) == due(tasks, 100) == ["b", "d"]
    for task in tasks.by_time.earliest_before(4):
        tasks.remove(task)
    assert due(tasks, 5) == []
    assert due(tasks, 6) == ["a", "c"]
    assert [task.name for task in tasks.by_time] == ["a", "c", "e"]
    tasks.check()
    assert Tasks(Journal()).by_time.earliest_before(100) == []


def test_rows_move_and_come_back() -> None:
    journal = Journal()
    tasks = filled(journal)
    mark = journal.position()
    tasks.modify(tasks.find(1), time=9)
    tasks.remove(tasks.find(3))
    assert due(tasks, 100) == ["a", "c"]
    tasks.insert(Task(name="f", time=1))
    assert due(tasks, 100) == ["f"]
    tasks.check()
    journal.undo(mark)
    assert due(tasks, 100) == ["b", "d"]
    tasks.check()


def test_a_refused_row_is_in_no_index() -> None:
    journal = Journal()
    tasks = filled(journal)
    with pytest.raises(NotUnique):
        tasks.insert(Task(name="a", time=1))
    with pytest.raises(TypeError):
        tasks.insert(Task(name="g", time=None))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tasks.modify(tasks.find(0), time=None)
    assert due(tasks, 100) == ["b", "d"]
    tasks.check()


def test_what_is_kept_is_put_back() -> None:
    journal = Journal()
    tasks = filled(journal)
    put_back = run_steps(tasks.copying())
    rows = list(tasks)
    for task in rows[:4]:
        tasks.remove(task)
    assert due(tasks, 100) == ["e"]
    put_back()
    assert due(tasks, 100) == ["b", "d"]
    tasks.check()
    tasks.restore(rows[2:], 5)
    assert due(tasks, 100) == ["d"]
    tasks.check()


class Ranked(Table[Task]):
    """Two indices of a field each, of which the second one refuses what it can't compare."""

    by_time = Due("time")
    by_rank = Ordered("name")


def test_a_row_that_another_index_refuses_stays_where_it_is() -> None:
    tasks = Ranked(Journal())
    first, _ = tasks.insert(Task(name="a", time=5)), tasks.insert(Task(name="b", time=9))
    with pytest.raises(TypeError):
        tasks.modify(first, time=9, name=None)
    assert tasks.by_time.earliest_before(100) == [first]
    tasks.check()
    with pytest.raises(TypeError):
        tasks.modify(first, time=7, name=None)
    assert tasks.by_time.earliest_before(100) == [first]
    tasks.check()


def test_times_of_rows_that_were_taken_back_do_not_pile_up() -> None:
    journal = Journal()
    tasks = filled(journal)
    mark = journal.position()
    for time in range(100, 100 + 3 * EMPTY_TIMES_MAX):
        tasks.insert(Task(name="f", time=time))
        journal.undo(mark)
        assert len(tasks.by_time._times) <= EMPTY_TIMES_MAX
    tasks.check()
    assert [task.time for task in tasks.by_time] == [3, 3, 5, 5, 9]
    for n in range(EMPTY_TIMES_MAX + 10):
        tasks.insert(Task(name=f"row {n}", time=1000 + n))
    assert due(tasks, 1000) == ["b", "d"]
    tasks.check()
