"""Numbers as the rules hold them. Source: block-processing.md §0."""

from state.protocol.asset import INT64_MAX
from state.protocol.errors import Refused


def share(value: int) -> int:
    """A checked 64-bit number: overflow and underflow are refused."""
    if -INT64_MAX - 1 <= value <= INT64_MAX:
        return value
    raise Refused("Integer Overflow", condition="checked share")
