"""Work units: limits, kinds of work, and interruptions."""

import contextlib

import pytest

from state.protocol.errors import ChainError
from state.protocol.work import ADVICE, ANNOUNCED_UNITS_MIN, PAUSE_UNITS, TooMuchWork, Work


def spend(work: Work, *spent: tuple[int, str]) -> None:
    """Spend units of work. Each item of `spent` is a number of units and their kind."""
    for units, kind in spent:
        work.spend(units, kind)


def test_work_beyond_a_limit_is_refused_with_its_kinds() -> None:
    work = Work()
    work.spend(1000, "before")
    with pytest.raises(TooMuchWork) as caught:
        work.run(100, "a call", spend, work, (60, "trades"), (40, "votes"), (1, "keys"))
    error = caught.value
    assert (error.units, error.limit, error.kinds) == (101, 100, {"trades": 60, "votes": 40, "keys": 1})
    work.run(100, "a call", spend, work, (100, "trades"))
    work.spend(10_000, "without a limit")
    assert work.spent == 11_201


def test_the_limit_holds_when_the_refusal_is_swallowed() -> None:
    work = Work()

    def swallow() -> None:
        with contextlib.suppress(ChainError):
            work.spend(11, "listener")

    with pytest.raises(TooMuchWork):
        work.run(10, "a transaction", swallow)


def test_another_error_passes() -> None:
    work = Work()
    with pytest.raises(KeyError):
        work.run(10, "a transaction", {}.__getitem__, "missing")
    work.spend(1000, "without a limit")


def test_limits_nest() -> None:
    work = Work()

    def nested() -> None:
        work.run(90, "an explanation", work.spend, 90, "keys")
        work.spend(11, "rows")

    with pytest.raises(TooMuchWork) as caught:
        work.run(100, "a call", nested)
    assert caught.value.kinds == {"rows": 11}


def test_the_first_of_a_kind_may_be_allowed_beyond_the_limit() -> None:
    work = Work()

    def allowed(*units: int) -> None:
        for each in units:
            work.allow(each, "feeds")
            work.spend(each, "feeds")

    work.run(10, "a transaction", allowed, 1000, 10)
    with pytest.raises(TooMuchWork):
        work.run(10, "a transaction", allowed, 1000, 11)
    work.allow(1000, "feeds")
    with pytest.raises(TooMuchWork):
        work.run(10, "a transaction", work.spend, 11, "feeds")


def test_a_refusal_says_what_to_do() -> None:
    work = Work()
    for what, advice in ADVICE.items():
        with pytest.raises(TooMuchWork) as caught:
            work.run(10, what, work.spend, 11, "rows")
        assert caught.value.message(str).endswith(advice)


def test_undo_is_never_refused() -> None:
    work = Work()

    def undone(units: int) -> None:
        work.spend(10, "rows")
        work.undo(1000)
        work.spend(units, "rows")

    work.run(10, "a transaction", undone, 0)
    with pytest.raises(TooMuchWork):
        work.run(10, "a transaction", undone, 1)


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


def test_long_work_is_announced_before_it_begins() -> None:
    work = Work()
    pauses: list[tuple[bool, bool]] = []
    work.announce(ANNOUNCED_UNITS_MIN)
    work.on_pause = lambda can_raise: pauses.append((can_raise, work.is_announced))
    work.announce(ANNOUNCED_UNITS_MIN - 1)
    assert pauses == []
    work.announce(ANNOUNCED_UNITS_MIN)
    assert pauses == [(True, True)]
    assert (work.is_announced, work.spent) == (False, 0)


def test_pauses_come_under_a_limit_too() -> None:
    work = Work()
    pauses: list[int] = []
    work.on_pause = lambda can_raise: pauses.append(work.spent)
    work.run(250, "a transaction", spend, work, *[(1, "rows")] * 250)
    assert pauses == [101, 202]
