"""Numbers as the rules hold them. Source: block-processing.md §0."""

from state.protocol.errors import DivisionByZero, IntegerOverflow, IntegerUnderflow, require
from state.protocol.values.asset import INT64_MAX, INT64_MIN

WORD16 = 2**16


def share(value: int) -> int:
    """A checked 64-bit number: overflow and underflow are refused."""
    if value > INT64_MAX:
        raise IntegerOverflow("")
    if value < INT64_MIN:
        raise IntegerUnderflow("")
    return value


def narrowed(value: int) -> int:
    """A 128-bit number as an amount takes it: from 2^64 on it is refused, from 2^63 on it turns negative."""
    require(value < 2**64, condition="hi == 0")
    return value if value <= INT64_MAX else value - 2**64


def quotient(number: int, divisor: int) -> int:
    """The quotient of two unsigned 128-bit numbers, rounded down; a division by zero is refused."""
    if divisor == 0:
        raise DivisionByZero
    return number // divisor
