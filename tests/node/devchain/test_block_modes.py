"""Parsing and printing of block modes."""

import pytest

from node.devchain.block_modes import BlockMode, block_mode
from node.runtime.errors import NodeError
from tests.helpers.golden import fails


@pytest.mark.parametrize("text", ["interval", "interval:0.1", "interval:3", "instant", "manual", "mixed:10", "mixed:86400"])
def test_a_mode_prints_as_it_was_parsed(text: str) -> None:
    assert str(block_mode(text)) == text


def test_the_default_is_a_block_in_each_slot() -> None:
    assert BlockMode() == block_mode("interval")
    assert BlockMode().is_by_slots
    assert not block_mode("interval:3").is_by_slots


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "mixed",
        "mixed:",
        "instant:1",
        "manual:1",
        "interval:",
        "interval:0",
        "interval:nan",
        "mixed:inf",
        "mixed:-1",
        "mixed:1e9",
    ],
)
def test_an_invalid_mode_is_refused(text: str) -> None:
    with fails(NodeError):
        block_mode(text)
