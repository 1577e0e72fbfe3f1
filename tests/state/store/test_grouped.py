"""An index of all rows with the same value."""

import pytest

from state.protocol.errors import NotUnique
from state.store import Grouped, Journal, Ordered, Row, Table, Unique
from state.store.rows import run_steps


class Task(Row):
    name: str
    owner: str


class Tasks(Table[Task]):
    by_name = Unique("name")
    of_owner = Grouped("owner")


def filled(journal: Journal) -> Tasks:
    tasks = Tasks(journal)
    for name, owner in (("a", "bob"), ("b", "alice"), ("c", "bob"), ("d", "bob")):
        tasks.insert(Task(name=name, owner=owner))
    return tasks


def names(tasks: Tasks, owner: str) -> list[str]:
    return sorted(task.name for task in tasks.of_owner.of(owner))


def test_rows_with_a_value_are_found() -> None:
    tasks = filled(Journal())
    assert names(tasks, "bob") == ["a", "c", "d"]
    assert names(tasks, "alice") == ["b"]
    assert names(tasks, "zoe") == []
    assert [task.name for task in tasks.of_owner] == ["a", "b", "c", "d"]
    for task in tasks.of_owner.of("bob"):
        tasks.remove(task)
    assert names(tasks, "bob") == []
    tasks.check()


def test_rows_move_and_come_back() -> None:
    journal = Journal()
    tasks = filled(journal)
    mark = journal.position()
    tasks.modify(tasks.find(0), owner="alice")
    tasks.remove(tasks.find(2))
    tasks.insert(Task(name="e", owner="zoe"))
    assert (names(tasks, "bob"), names(tasks, "alice"), names(tasks, "zoe")) == (["d"], ["a", "b"], ["e"])
    tasks.check()
    journal.undo(mark)
    assert (names(tasks, "bob"), names(tasks, "alice"), names(tasks, "zoe")) == (["a", "c", "d"], ["b"], [])
    tasks.check()


def test_a_refused_row_is_in_no_index() -> None:
    tasks = filled(Journal())
    with pytest.raises(NotUnique):
        tasks.insert(Task(name="a", owner="zoe"))
    with pytest.raises(TypeError):
        tasks.insert(Task(name="e", owner=["zoe"]))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tasks.modify(tasks.find(0), owner=["zoe"])
    assert names(tasks, "bob") == ["a", "c", "d"]
    tasks.check()


def test_what_is_kept_is_put_back() -> None:
    tasks = filled(Journal())
    put_back = run_steps(tasks.copying())
    rows = list(tasks)
    for task in rows[:3]:
        tasks.remove(task)
    put_back()
    assert names(tasks, "bob") == ["a", "c", "d"]
    tasks.check()
    tasks.restore(rows[1:], 4)
    assert names(tasks, "bob") == ["c", "d"]
    tasks.check()


class Ranked(Table[Task]):
    """Two indices of a field each, of which the second one refuses what it can't compare."""

    of_owner = Grouped("owner")
    by_rank = Ordered("name")


def test_a_row_that_another_index_refuses_stays_where_it_is() -> None:
    tasks = Ranked(Journal())
    first, _ = tasks.insert(Task(name="a", owner="bob")), tasks.insert(Task(name="b", owner="bob"))
    for owner in ("alice", "bob"):
        with pytest.raises(TypeError):
            tasks.modify(first, owner=owner, name=None)
    assert sorted(task.name for task in tasks.of_owner.of("bob")) == ["a", "b"]
    assert tasks.of_owner.of("alice") == []
    tasks.check()
