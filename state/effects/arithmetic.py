"""Checked 64-bit arithmetic, as the rules do it with amounts. Source: block-processing.md §0."""

from state.protocol.errors import IntegerOverflow, IntegerUnderflow
from state.protocol.values.integers import INT64_MAX, INT64_MIN


def share(value: int) -> int:
    """Return a number that fits a signed 64-bit integer, or refuse it as overflow or underflow (the reference's share_type)."""
    if value > INT64_MAX:
        raise IntegerOverflow("")
    if value < INT64_MIN:
        raise IntegerUnderflow("")
    return value
