"""The doubles of the social index: the scores by which posts are ranked, and reputations as they are shown.
Source: social.md §2.3, §2.4.
"""

from math import log10, modf

TREND_SECONDS, HOT_SECONDS = 240_000, 10_000  # in which ten times the votes are outweighed by age
SCORE_UNIT = 10_000_000  # rshares
REPUTATION_START, REPUTATION_STEP, REPUTATION_DIGITS = 25, 9, 9
LEADING_DIGITS = 4
TINY = 1e-8

LOW_REPUTATION = 1  # Below it posts outside communities are gray.


def trend(rshares: int, created: int) -> float:
    """The score by which posts are trending."""
    return score(rshares, created, TREND_SECONDS)


def hot(rshares: int, created: int) -> float:
    """The score by which posts are hot."""
    return score(rshares, created, HOT_SECONDS)


def score(rshares: int, created: int, seconds: int) -> float:
    """The order of magnitude of the votes, and the age."""
    order = log10(max(abs(rshares / SCORE_UNIT), 1))
    return (order if rshares > 0 else -order) + created / seconds


def shown_reputation(raw: int) -> float:
    """A reputation on the scale that people know: 25 for a new account, 9 more for ten times the rshares behind it."""
    if raw == 0:
        return REPUTATION_START
    digits = str(abs(raw))
    fraction, _ = modf(log10(int(digits[:LEADING_DIGITS])) + TINY)
    size = max(len(digits) - 1 + fraction - REPUTATION_DIGITS, 0)
    return round((size if raw > 0 else -size) * REPUTATION_STEP + REPUTATION_START, 2)


def is_low(raw: int) -> bool:
    """Whether somebody's posts are gray."""
    return raw < 0 and shown_reputation(raw) < LOW_REPUTATION


def cents(amount: str) -> str:
    """A decimal number with two digits behind the point."""
    return f"{float(amount):.2f}"
