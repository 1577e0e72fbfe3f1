"""Fuzzy search for a pattern (Bitap), with the positions and scores of the reference's library.

For each number of errors, the library stores one bit mask per character of the text. This module stores one integer per character of the
pattern, with a bit per position in the text. The result is the same, about ten times as fast. The reference's scores are 32-bit floats.
They decide between positions, so they are reproduced exactly, in integers.
"""

from functools import cache

from state.effects.body_patch.budget import WorkBudget
from state.effects.body_patch.buffer import PatchBuffer

PATTERN_LENGTH_MAX = 32
# Characters from the expected position at which the score is 1. A score above the threshold is not a match.
DISTANCE = 1000
FRACTION_BITS = 33
ONE = 1 << FRACTION_BITS
THRESHOLD = ONE // 2
DISTANCE_MAX = DISTANCE // 2
FLOAT_BITS = 24

# For each byte value, a translation table that maps it to "1" and all others to "0".
IS_BYTE = [bytes(b"1"[0] if value == byte else b"0"[0] for value in range(256)) for byte in range(PATTERN_LENGTH_MAX + 1)]


def find_match(body: PatchBuffer, pattern: str, expected: int, budget: WorkBudget) -> int:
    """Return the best position of a pattern near the expected one, -1 if there is none or the budget is used up."""
    place = max(0, min(expected, body.length))
    length = len(pattern)
    if body.length == length and body.read(0, length) == pattern:
        return 0
    if body.length == 0:
        return -1
    if place + length <= body.length and body.read(place, place + length) == pattern:
        return place
    if budget.left <= 0:
        return -1
    return find_similar(body, pattern, place, budget)


def find_similar(body: PatchBuffer, pattern: str, place: int, budget: WorkBudget) -> int:
    """Return the position of the best inexact match; -1 if no score reaches the threshold.

    For each number of errors, the search covers only the positions that could improve the best score.
    """
    length = len(pattern)
    threshold = first_threshold(body, pattern, place, budget)
    reach = reach_within(0, length, body.length + length, threshold)
    # Positions count from 1 here, and their bits from the end of the text to its beginning: bit `last + 1 - place`.
    first, last = max(1, place - reach + 1), min(place + reach, body.length) + length
    fits = places_of_characters(body.read(first - 1, last), pattern, last - first + 1)
    budget.spend(100 + last - first)
    previous: list[int] = []
    best = -1
    for errors in range(length):
        reach = reach_within(errors, length, reach, threshold)
        start, finish = max(1, place - reach + 1), min(place + reach, body.length) + length
        # `span` has the bits of positions `start` to `finish`. `outside` is the bit before them, which allows as many skipped characters as
        # errors.
        outside = 1 << last - finish
        span = (outside << max(0, finish - start + 1) + 1) - (outside << 1)
        previous = next_level(previous, fits, errors, span, outside)
        budget.spend(length * (5 + (last - start) // 200))
        found = nearest_place(previous[-1] & span, last + 1, place, errors, length, threshold)
        if found is not None:
            threshold, best = found
        if score(errors + 1, length, 0) > threshold:
            break
    return best


def next_level(previous: list[int], fits: list[int], errors: int, span: int, outside: int) -> list[int]:
    """Return, for each suffix of the pattern, the positions where it matches with this number of errors.

    `previous` is the result for one error fewer. `span` contains the bits of the searched positions, and `outside` is the bit before them.
    """
    level: list[int] = []
    fitting = skipping = 0
    for i, here in enumerate(fits):
        if not errors:
            fitting = (fitting << 1) & here & span if i else here & span
        else:
            last = previous[i]
            fitting = ((fitting << 1 & here | skipping | last << 1) if i else span) & span
            skipping = last << 1 | last
            if i < errors:
                fitting |= outside
        level.append(fitting)
    return level


def nearest_place(matches: int, origin: int, place: int, errors: int, length: int, threshold: int) -> tuple[int, int] | None:
    """Return the best score of some matches and its position, or None if none reaches the threshold.

    The library goes through the matches from right to left. All matches have the same number of errors, so their distance from the expected
    position decides. The library finds the nearest match on the right of that position, and then takes the nearest match on the left unless
    that is farther away.
    """
    found = None
    # Bit `origin - j` is position j - 1, so positions to the right of the expected one are the lower bits.
    right = matches & ((1 << max(0, origin - place - 1)) - 1)
    if right:
        candidate = origin - right.bit_length()
        points = score(errors, length, candidate - place)
        if points <= threshold:
            threshold = points
            found = points, candidate
    left = matches ^ right
    if left:
        candidate = origin - (left & -left).bit_length()
        points = score(errors, length, place - candidate)
        if points <= threshold:
            found = points, candidate
    return found


def first_threshold(body: PatchBuffer, pattern: str, place: int, budget: WorkBudget) -> int:
    """Return the score that a match must reach: that of the best exact match nearby, or the threshold if there is none.

    The library searches the whole text after the expected position. It searches the text before it only if there is a match after it.
    """
    length = len(pattern)
    start = max(0, place - DISTANCE_MAX)
    window = body.read(start, place + DISTANCE_MAX + length)
    offset = place - start
    after = window.find(pattern, offset)
    before = window.rfind(pattern, 0, offset + 2 * length)
    budget.spend(20 + len(window) * length // 100)
    if after < 0 and before >= 0:
        rest = body.rest(place)
        budget.spend(20 + len(rest) * length // 100)
        if pattern not in rest:
            before = -1
    distances = [abs(found - offset) for found in (after, before) if found >= 0]
    return min([THRESHOLD, *(score(0, length, distance) for distance in distances)])


def places_of_characters(window: str, pattern: str, width: int) -> list[int]:
    """Return the bits of each character's positions in a window, for the characters of a pattern from last to first.

    The last position of `width` has bit 1, even if the text ends before it.
    """
    # Character code 0 represents all characters that aren't in the pattern.
    codes = {character: code for code, character in enumerate(dict.fromkeys(pattern), 1)}
    get = codes.get
    data = bytes([get(character, 0) for character in window])
    shift = width - len(window) + 1
    places = {character: int(data.translate(IS_BYTE[code]) or b"0", 2) << shift for character, code in codes.items()}
    return [places[character] for character in reversed(pattern)]


def reach_within(errors: int, length: int, reach: int, threshold: int) -> int:
    """Return the distance, at most `reach`, within which a match with `errors` errors reaches the threshold; 0 if there is none."""
    if score(errors, length, 0) > threshold:
        return 0
    reach = min(reach, DISTANCE_MAX)
    while score(errors, length, reach) > threshold:
        # Rounding can make the estimate too large by one.
        estimate = ((threshold - float_of(errors, length)) * DISTANCE >> FRACTION_BITS) + 1
        reach = max(0, min(reach - 1, estimate))
    return reach


def score(errors: int, length: int, distance: int) -> int:
    """Return the score of a match, in units of 2^-33: the fraction of errors plus the relative distance. 0 is the best."""
    return rounded(float_of(errors, length) + float_of(distance, DISTANCE))


@cache
def float_of(numerator: int, denominator: int) -> int:
    """Return the 32-bit float nearest to a fraction (0, or at least 2^-10), in units of 2^-33."""
    return rounded(numerator << FRACTION_BITS, denominator)


def rounded(numerator: int, denominator: int = 1) -> int:
    """Round a fraction to 24 significant bits, half to even, as floats are rounded."""
    unit = denominator << max(0, (numerator // denominator).bit_length() - FLOAT_BITS)
    quotient, rest = divmod(numerator, unit)
    if 2 * rest > unit or (2 * rest == unit and quotient & 1):
        quotient += 1
    return quotient * (unit // denominator)
