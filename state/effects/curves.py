"""Reward curves, which map rshares to claims on a reward fund and to weights of curators.

Unsigned 128-bit arithmetic that wraps, with integer division. Source: operations.md §2.11; block-processing.md §3.15.
"""

from state.effects.arithmetic import quotient
from state.protocol.errors import require
from state.protocol.values.integers import UINT64_MAX, WORD128

CONTENT_CONSTANT = 2_000_000_000_000  # before hardfork 17; since then each reward fund contains its constant
QUADRATIC, BOUNDED_CURATION, LINEAR, SQUARE_ROOT, CONVERGENT_LINEAR, CONVERGENT_SQUARE_ROOT = range(6)


def approximate_root(x: int) -> int:
    """Return the reference's approximation of a square root, which is too large by up to 6 %.

    The function treats exponent and mantissa as one fixed-point number and halves it. A more exact result would be wrong, because the
    chain's rewards depend on this approximation.
    """
    if x == 0:
        return 0
    top = x.bit_length() - 1
    half = top >> 1
    low = ((x ^ (1 << top)) >> (top - half)) & UINT64_MAX
    high = 1 << half if top & 1 else 0
    return 1 << half | (high | low) >> 1


def curve_value(curve: int, rshares: int, constant: int) -> int:
    """Return the value of a curve for non-negative rshares. `constant` is the fund's content constant."""
    if curve == CONVERGENT_SQUARE_ROOT:
        return rshares // approximate_root(rshares + 2 * constant)
    if curve == CONVERGENT_LINEAR:
        return ((rshares + constant) ** 2 - constant**2) % WORD128 // (rshares + 4 * constant)
    if curve == LINEAR:
        return rshares
    if curve == SQUARE_ROOT:
        return approximate_root(rshares)
    if curve == BOUNDED_CURATION:
        return ((rshares & UINT64_MAX) << 64) // (2 * constant + rshares)
    assert curve == QUADRATIC, curve
    return quadratic(rshares, constant)


def quadratic(rshares: int, constant: int = CONTENT_CONSTANT) -> int:
    """Return (r + s)² - s² for r rshares and the constant s. Before hardfork 19 this was the only curve for authors."""
    return ((rshares + constant) ** 2 - constant**2) % WORD128


def early_curation(rshares: int) -> int:
    """Return the value of the curation curve before hardfork 17, at most 2^64 - 1. Negative rshares count as large unsigned numbers."""
    weight = quotient(UINT64_MAX * rshares % WORD128, (2 * CONTENT_CONSTANT + rshares) % WORD128)
    require(weight <= UINT64_MAX, condition="hi == 0")
    return weight
