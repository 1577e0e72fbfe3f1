"""Ranges of the reference's machine integers.

The reference's arithmetic either wraps at the width of a type or refuses a result out of range. Python's integers do neither, so rules
specify the range where the reference depends on it: `% WORD32` wraps, `<= INT64_MAX` checks.
"""

WORD16, WORD32, WORD64, WORD128 = 2**16, 2**32, 2**64, 2**128
"""The number of values of an unsigned integer with this number of bits."""

UINT32_MAX, UINT64_MAX, UINT128_MAX = WORD32 - 1, WORD64 - 1, WORD128 - 1

HALF64 = 2**63
"""The first number beyond the signed 64-bit range. As an unsigned number it is the sign bit."""

INT64_MIN, INT64_MAX = -HALF64, HALF64 - 1


def as_int64(number: int) -> int:
    """Wrap a number to a signed 64-bit integer."""
    return (number + HALF64) % WORD64 - HALF64


def as_int32(number: int) -> int:
    """Wrap a number to a signed 32-bit integer."""
    return (number + WORD32 // 2) % WORD32 - WORD32 // 2
