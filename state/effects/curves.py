"""Reward curves: what rshares are worth as claims on a fund, and as weights of curators. Unsigned 128-bit arithmetic,
which wraps. Source: operations.md §2.11; block-processing.md §3.15.
"""

from state.effects.arithmetic import quotient
from state.protocol.errors import require

WORD = 2**128
MASK64 = 2**64 - 1
CONTENT_CONSTANT = 2_000_000_000_000  # what hardforks before 17 calculate with; later it stands in the fund
QUADRATIC, BOUNDED_CURATION, LINEAR, SQUARE_ROOT, CONVERGENT_LINEAR, CONVERGENT_SQUARE_ROOT = range(6)


def approximate_root(x: int) -> int:
    """The reference's square root: the top bits of the mantissa, halved."""
    if x == 0:
        return 0
    top = x.bit_length() - 1
    half = top >> 1
    low = ((x ^ (1 << top)) >> (top - half)) & MASK64
    high = 1 << half if top & 1 else 0
    return 1 << half | (high | low) >> 1


def curve_value(curve: int, rshares: int, constant: int) -> int:
    """The value of a curve; rshares are not negative, the constant is the fund's."""
    if curve == CONVERGENT_SQUARE_ROOT:
        return rshares // approximate_root(rshares + 2 * constant)
    if curve == CONVERGENT_LINEAR:
        return ((rshares + constant) ** 2 - constant**2) % WORD // (rshares + 4 * constant)
    if curve == LINEAR:
        return rshares
    if curve == SQUARE_ROOT:
        return approximate_root(rshares)
    if curve == BOUNDED_CURATION:
        return ((rshares & MASK64) << 64) // (2 * constant + rshares)
    assert curve == QUADRATIC, curve
    return quadratic(rshares, constant)


def quadratic(rshares: int, constant: int = CONTENT_CONSTANT) -> int:
    """(r + s)² - s², the only curve of authors before hardfork 19."""
    return ((rshares + constant) ** 2 - constant**2) % WORD


def early_curation(rshares: int) -> int:
    """What a curator's weight was before hardfork 17: bounded by 2^64 - 1. Negative rshares count as large unsigned numbers."""
    weight = quotient(MASK64 * rshares % WORD, (2 * CONTENT_CONSTANT + rshares) % WORD)
    require(weight <= MASK64, condition="hi == 0")
    return weight
