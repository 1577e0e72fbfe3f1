"""Durations and times on the command line: every accepted form, and the error messages for others."""

import pytest

from node.cli.times import duration, moment, seconds_of, span_text
from node.runtime.errors import NodeError
from tests.helpers.golden import fails

NOON = 1_769_860_800  # 2026-01-31T12:00:00


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("90", 90), ("30m", 1800), ("2h30m", 9000), ("7d", 604_800), ("1w2d3h4m5s", 788_645), ("0s", 0)],
)
def test_a_duration_is_read(text: str, seconds: int) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "7y", "d", "-1d", "1.5h", "1s1d", "1d 1h", "99999999999d", "+1h"])
def test_what_is_no_duration_is_named(text: str) -> None:
    with fails(NodeError):
        duration(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-31T12:00:00", NOON),
        ("2026-01-31 12:00", NOON),
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31T13:00:00+01:00", NOON),
        ("2026-01-31", NOON - 43_200),
        ("+1h", 4600),
        ("1969-12-31T23:59:59", (1 << 32) - 1),
    ],
)
def test_a_time_is_read(text: str, seconds: int) -> None:
    assert moment(text, 1000) == seconds


@pytest.mark.parametrize(
    "text",
    ["soon", "+soon", "2200-01-01", "+9999999999d"],
)
def test_what_is_no_time_is_named(text: str) -> None:
    with fails(NodeError):
        moment(text, 0)


def test_times_of_nodes_and_spans() -> None:
    # Nodes write times after 2038 as signed numbers, which are dates before 1970.
    assert seconds_of("1969-12-31T23:59:59") == (1 << 32) - 1
    assert seconds_of("2026-01-31T12:00:00") == NOON
    assert [span_text(seconds) for seconds in (0, 59, 3600, 9000, 90_061, 604_800)] == ["0s", "59s", "1h", "2h 30m", "1d 1h", "1w"]
