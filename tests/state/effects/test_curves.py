"""Reward curves by the page's check values, and edits that are patches."""

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
from state.effects.edits import edited, percent_decoded

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


# ------------------------------------------------------------------ edits

OLD = "The quick brown fox"


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("@@ -1,13 +1,12 @@\n The \n-quick\n+slow\n  bro\n", "The slow brown fox"),
        ("\n\n@@ -1,4 +1,2 @@\n-The \n+A \n", "A quick brown fox"),
        ("@@ -1 +1 @@\n-T\n+t", "the quick brown fox"),
        ("@@ -0,0 +1,6 @@\n+Hello \n", "Hello The quick brown fox"),
        ("@@ -16,4 +16,5 @@\n  fo\n-x\n+es\n@@ -1,3 +1,3 @@\n-T\n+t\n\n he\n", "the quick brown foes"),
        # No patches, or ones that can't be read: the text itself.
        ("new", "new"),
        ("\n", "\n"),
        ("@@ this is no patch", "@@ this is no patch"),
        ("@@ -1,3 +1,3\n-The\n", "@@ -1,3 +1,3\n-The\n"),
        ("@@ -1,3 +1,3 @@\n*bad\n", "@@ -1,3 +1,3 @@\n*bad\n"),
        ("@@ -1,3 +1,3 @@\n-%zz\n", "@@ -1,3 +1,3 @@\n-%zz\n"),
        ("@@ -1,3 +1,3 @@\n-The%4\n", "@@ -1,3 +1,3 @@\n-The%4\n"),
        # A patch that doesn't fit changes nothing.
        ("@@ -1,3 +1,3 @@\n-xyzxyz\n+a\n", OLD),
    ],
)
def test_edits(body: str, result: str) -> None:
    assert edited(OLD, body) == result


def test_characters_beyond_the_first_plane_vanish() -> None:
    assert edited("abc", "@@ -1,3 +1,5 @@\n-abc\n+a%F0%9F%99%82c%E2%82%AC\n") == "ac€"


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("plain + 100", "plain + 100"),
        ("%41%c3%A9%e2%82%ac", "Aé€"),
        ("%F0%9F%99%82", "\ud83d\ude42"),
        # What is not encoded is read like bytes: it falls out, or pairs up.
        ("xéy", "xy"),
        ("Ã©", "é"),
        ("日本", ""),
        # Broken sequences fall out, and what broke them is read anew.
        ("%C3A%E2%82B%F0%9FC%80D", "ABCD"),
        ("%C3", ""),
    ],
)
def test_percent_decoding(text: str, decoded: str) -> None:
    assert percent_decoded(text) == decoded
