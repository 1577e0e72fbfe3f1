"""The ranges of the machine integers that the reference computes with. No chain, no state.

Its arithmetic wraps at the width of a type, or is refused where a result doesn't fit. Python's integers do neither, so a rule names
the range at the place where the reference depends on it: `% WORD32` wraps, `<= INT64_MAX` checks.
"""

WORD16, WORD32, WORD64, WORD128 = 2**16, 2**32, 2**64, 2**128
"""The number of values of an unsigned integer of so many bits."""

UINT32_MAX, UINT64_MAX, UINT128_MAX = WORD32 - 1, WORD64 - 1, WORD128 - 1

HALF64 = 2**63
"""The first number that a signed integer of 64 bits doesn't hold: as unsigned it has the sign bit."""

INT64_MIN, INT64_MAX = -HALF64, HALF64 - 1


def as_int64(number: int) -> int:
    """Return a number as a signed integer of 64 bits holds it: it wraps."""
    return (number + HALF64) % WORD64 - HALF64


def as_int32(number: int) -> int:
    """Return a number as a signed integer of 32 bits holds it: it wraps."""
    return (number + WORD32 // 2) % WORD32 - WORD32 // 2
