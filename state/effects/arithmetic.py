"""Numbers as the rules hold them. Source: block-processing.md §0."""

from state.protocol.errors import IntegerOverflow, IntegerUnderflow
from state.protocol.values.integers import INT64_MAX, INT64_MIN


def share(value: int) -> int:
    """A checked 64-bit number: overflow and underflow are refused."""
    if value > INT64_MAX:
        raise IntegerOverflow("")
    if value < INT64_MIN:
        raise IntegerUnderflow("")
    return value
