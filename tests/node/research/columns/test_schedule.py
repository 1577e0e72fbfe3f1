"""Intervals of blocks and of time at which rows are read."""

import pytest

from node.research.columns.schedule import is_due, period, period_text


@pytest.mark.parametrize(
    ("blocks", "seconds", "number", "time", "before", "due"),
    [
        (10, 0, 20, 0, 0, True),
        (10, 0, 21, 0, 0, False),
        (0, 0, 20, 0, 0, False),
        (0, 100, 7, 200, 199, True),
        (0, 100, 7, 299, 200, False),
        (0, 100, 7, 505, 199, True),
        (0, 100, 1, 505, 0, True),
        (10, 100, 20, 299, 200, True),
    ],
)
def test_rows_are_due_by_blocks_or_by_time(blocks: int, seconds: int, number: int, time: int, before: int, due: bool) -> None:
    assert is_due(blocks, seconds, number, time, before) is due


@pytest.mark.parametrize(("text", "seconds"), [("1d", 86_400), ("6h", 21_600), ("30min", 1_800), ("48h", 172_800)])
def test_a_period_is_parsed(text: str, seconds: int) -> None:
    assert period(text) == seconds
    assert period(period_text(seconds)) == seconds


@pytest.mark.parametrize("text", ["", "1", "5m", "1M", "100k", "0d", "1d2h", "-1d", "1s"])
def test_other_texts_are_not_periods(text: str) -> None:
    assert period(text) is None
