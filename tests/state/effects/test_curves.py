"""Reward curves, tested with the check values of operations.md §20."""

import pytest

from state.effects.curves import (
    BOUNDED_CURATION,
    CONVERGENT_LINEAR,
    CONVERGENT_SQUARE_ROOT,
    LINEAR,
    QUADRATIC,
    SQUARE_ROOT,
    approximate_root,
    curve_value,
)

CONSTANT = 2 * 10**12

# operations.md §20
ROOTS = [(0, 0), (1, 1), (2, 1), (3, 1), (10**12, 1001125), (4 * 10**12, 2002250), (4000000856158, 2002250)]
VALUES = [
    (CONVERGENT_SQUARE_ROOT, 856158, 0),
    (CONVERGENT_SQUARE_ROOT, 10**9, 499),
    (CONVERGENT_SQUARE_ROOT, 10**11, 49356),
    (CONVERGENT_SQUARE_ROOT, 10**12, 446295),
    (CONVERGENT_SQUARE_ROOT, 3351842535167, 1196492),
    (CONVERGENT_SQUARE_ROOT, 10**13, 2655279),
    (CONVERGENT_SQUARE_ROOT, 10**15, 31507990),
    (CONVERGENT_LINEAR, 1, 0),
    (CONVERGENT_LINEAR, 10**6, 500000),
    (CONVERGENT_LINEAR, 10**9, 500062492),
    (CONVERGENT_LINEAR, 10**11, 50617283950),
    (CONVERGENT_LINEAR, 10**12, 555555555555),
    (CONVERGENT_LINEAR, 10**13, 7777777777777),
    (CONVERGENT_LINEAR, 10**15, 996031746031746),
    (BOUNDED_CURATION, 1, 4611686),
    (BOUNDED_CURATION, 10**9, 4610533385081117),
    (BOUNDED_CURATION, 10**12, 3689348814741910323),
    (LINEAR, 12345, 12345),
    (SQUARE_ROOT, 10**12, 1001125),
    (QUADRATIC, 10**12, 5 * 10**24),
]


@pytest.mark.parametrize(("x", "root"), ROOTS)
def test_roots(x: int, root: int) -> None:
    assert approximate_root(x) == root


@pytest.mark.parametrize(("curve", "rshares", "value"), VALUES)
def test_curves(curve: int, rshares: int, value: int) -> None:
    assert curve_value(curve, rshares, CONSTANT) == value


def test_quadratic_wraps() -> None:
    assert curve_value(QUADRATIC, 2**64, 0) == 0
