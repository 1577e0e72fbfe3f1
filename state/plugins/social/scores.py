"""Floating-point numbers of the social index: scores for ranking posts, and displayed reputations. Source: social.md §2.3, §2.4."""

from math import log10, modf

TREND_SECONDS, HOT_SECONDS = 240_000, 10_000  # a post that is this much younger needs a tenth of the votes
SCORE_UNIT = 10_000_000  # rshares
REPUTATION_START, REPUTATION_STEP, REPUTATION_DIGITS = 25, 9, 9
LEADING_DIGITS = 4
TINY = 1e-8

LOW_REPUTATION = 1  # on the displayed scale; below it, posts outside communities are gray


def trend(rshares: int, created: int) -> float:
    """Return the score for the order `trending`."""
    return score(rshares, created, TREND_SECONDS)


def hot(rshares: int, created: int) -> float:
    """Return the score for the order `hot`."""
    return score(rshares, created, HOT_SECONDS)


def score(rshares: int, created: int, seconds: int) -> float:
    """Return the order of magnitude of the votes plus the time in units of `seconds`.

    The score of the plugin `tags` differs: it uses integer division and another sign for 0.
    """
    order = log10(max(abs(rshares / SCORE_UNIT), 1))
    return (order if rshares > 0 else -order) + created / seconds


def shown_reputation(raw: int) -> float:
    """Convert a raw reputation to the displayed scale: 25 for a new account, and 9 more for each factor of ten in the raw value.

    As in all indexers and clients of this family, the logarithm is computed from the first four digits and the number of digits. The
    logarithm of the full value could differ in the two decimal places that are displayed.
    """
    if raw == 0:
        return REPUTATION_START
    digits = str(abs(raw))
    fraction, _ = modf(log10(int(digits[:LEADING_DIGITS])) + TINY)
    size = max(len(digits) - 1 + fraction - REPUTATION_DIGITS, 0)
    return round((size if raw > 0 else -size) * REPUTATION_STEP + REPUTATION_START, 2)


def is_low(raw: int) -> bool:
    """Whether an account's raw reputation is so low that its posts are gray."""
    return raw < 0 and shown_reputation(raw) < LOW_REPUTATION


def cents(amount: str) -> str:
    """Round a decimal number, given as text, to two decimals."""
    return f"{float(amount):.2f}"
