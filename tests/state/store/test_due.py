"""The index `Due`, which finds the rows that are due, and the due times that it stores."""

from state.store import Due, Journal, Row, Table
from state.store.due import EMPTY_TIMES_MAX


class Task(Row):
    time: int


class Tasks(Table[Task]):
    by_time = Due("time")


def test_times_without_rows_do_not_pile_up() -> None:
    journal = Journal()
    tasks = Tasks(journal)
    position = journal.position()
    for time in range(3 * EMPTY_TIMES_MAX):
        tasks.insert(Task(time=time))
        journal.undo(position)
        assert len(tasks.by_time._times) <= EMPTY_TIMES_MAX
    for time in range(EMPTY_TIMES_MAX + 10):
        tasks.insert(Task(time=time))
    assert [task.time for task in tasks.by_time.earliest_before(1000)] == [0]
    tasks.check()
    assert Tasks(Journal()).by_time.earliest_before(100) == []
