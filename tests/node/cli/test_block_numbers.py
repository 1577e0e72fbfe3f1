"""Block numbers and ranges as a user types them."""

import pytest

from node.cli.block_numbers import block_range, count
from node.runtime.errors import NodeError
from tests.helpers.golden import fails


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("100000", 100_000), ("100_000", 100_000), ("100k", 100_000), ("1M", 1_000_000), ("1m", 1_000_000), ("1.5M", 1_500_000)],
)
def test_a_number_is_read(text: str, number: int) -> None:
    assert count(text, "--chunk") == number


@pytest.mark.parametrize("text", ["", "-1", "x", "1G", "1.5", "1.2345k", "9999999999", "1 000", "٣"])
def test_what_is_no_number_is_refused_by_name(text: str) -> None:
    with fails(NodeError):
        count(text, "--chunk")


RANGES = {"1M:2M": (1_000_000, 1_999_999), ":": (1, None), ":100": (1, 99), "5:": (5, None), "0:2": (1, 1)}


@pytest.mark.parametrize(("text", "found"), RANGES.items())
def test_a_range_ends_before_its_second_number(text: str, found: tuple[int, int | None]) -> None:
    assert block_range(text, "--blocks") == found


@pytest.mark.parametrize("text", ["5", "2:2", "3:1", ":1", "a:b"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with fails(NodeError):
        block_range(text, "--blocks")
