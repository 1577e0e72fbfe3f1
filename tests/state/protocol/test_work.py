"""Units of work: limits, kinds, interruptions."""

import contextlib

import pytest

from state.protocol.errors import ChainError
from state.protocol.work import PAUSE_UNITS, TooMuchWork, Work


def spend(work: Work, limit: int, *spent: tuple[int, str]) -> None:
    """Spend these units under a limit."""
    with work.limited(limit, "a call"):
        for units, kind in spent:
            work.spend(units, kind)


def test_work_beyond_a_limit_is_refused_with_what_it_was_for() -> None:
    work = Work()
    work.spend(1000, "before")
    with pytest.raises(TooMuchWork) as caught:
        spend(work, 100, (60, "trades"), (40, "votes"), (1, "keys"))
    error = caught.value
    assert (error.units, error.limit, error.kinds) == (101, 100, {"trades": 60, "votes": 40, "keys": 1})
    spend(work, 100, (100, "trades"))
    work.spend(10_000, "without a limit")
    assert work.spent == 11_201


def test_the_limit_holds_when_the_refusal_is_swallowed() -> None:
    work = Work()

    def swallow() -> None:
        with work.limited(10, "a transaction"), contextlib.suppress(ChainError):
            work.spend(11, "listener")

    with pytest.raises(TooMuchWork):
        swallow()


def test_another_error_passes() -> None:
    work = Work()

    def fail() -> None:
        with work.limited(10, "a transaction"), contextlib.suppress(ChainError):
            work.spend(11, "listener")
        raise AssertionError

    def other() -> None:
        with work.limited(10, "a transaction"):
            work.spend(10, "rows")
            raise KeyError

    with pytest.raises(TooMuchWork):
        fail()
    with pytest.raises(KeyError):
        other()


def test_limits_nest() -> None:
    work = Work()
    with work.limited(1000, "a call"):
        with work.limited(None, "a block"):
            work.spend(900, "block")
        with pytest.raises(TooMuchWork) as caught:
            work.spend(101, "call")
        assert caught.value.kinds == {"call": 101}
        work.limit_at = work.spent


def test_undoing_is_never_refused() -> None:
    work = Work()
    with work.limited(10, "a transaction"):
        work.spend(10, "rows")
        work.undo(1000)
        with pytest.raises(TooMuchWork):
            work.spend(1, "rows")
        work.limit_at = work.spent


def test_pauses_come_regularly_and_say_whether_they_are_in_an_undo() -> None:
    work = Work()
    pauses: list[tuple[int, bool]] = []
    work.on_pause = lambda can_raise: pauses.append((work.spent, can_raise))
    for _ in range(PAUSE_UNITS * 3):
        work.spend(1, "rows")
    work.undo(PAUSE_UNITS + 1)
    assert pauses == [(PAUSE_UNITS + 1, True), (2 * PAUSE_UNITS + 2, True), (4 * PAUSE_UNITS + 1, False)]
    work.on_pause = None
    work.spend(10 * PAUSE_UNITS, "rows")
    assert len(pauses) == 3


def test_pauses_come_under_a_limit_too() -> None:
    work = Work()
    pauses: list[int] = []
    work.on_pause = lambda can_raise: pauses.append(work.spent)
    with work.limited(250, "a transaction"):
        for _ in range(250):
            work.spend(1, "rows")
    assert pauses == [101, 202]


def test_a_function_runs_under_a_limit_as_in_a_context() -> None:
    work = Work()

    def swallow() -> None:
        with contextlib.suppress(ChainError):
            work.spend(11, "rows")

    work.run(10, "a call", work.spend, 10, "rows")
    for function in (lambda: work.spend(11, "rows"), swallow):
        with pytest.raises(TooMuchWork) as caught:
            work.run(10, "a call", function)
        assert (caught.value.units, caught.value.limit, caught.value.kinds) == (11, 10, {"rows": 11})
    work.spend(1000, "without a limit")
    with work.limited(100, "a job"):
        work.run(10, "a call", work.spend, 10, "rows")
        with pytest.raises(TooMuchWork):
            work.spend(100, "more")
        work.limit_at = work.spent
