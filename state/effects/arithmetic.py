"""Checked 64-bit arithmetic on amounts. Source: block-processing.md §0."""

from state.protocol.errors import DivisionByZero, IntegerOverflow, IntegerUnderflow, require
from state.protocol.values.integers import INT64_MAX, INT64_MIN, WORD64


def share(value: int) -> int:
    """Return a number that fits a signed 64-bit integer (the reference's share_type). Refuse any other as overflow or underflow."""
    if value > INT64_MAX:
        raise IntegerOverflow("")
    if value < INT64_MIN:
        raise IntegerUnderflow("")
    return value


def narrowed(value: int) -> int:
    """Convert a 128-bit number to an amount. Numbers from 2^63 on become negative, and numbers from 2^64 on are refused."""
    require(value < WORD64, condition="hi == 0")
    return value if value <= INT64_MAX else value - WORD64


def quotient(number: int, divisor: int) -> int:
    """Return the quotient of two unsigned 128-bit numbers, rounded down. Division by zero is refused."""
    if divisor == 0:
        raise DivisionByZero
    return number // divisor
