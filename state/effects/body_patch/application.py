"""Applies patches to a text. The part that a patch replaces can have moved or changed, so it is searched for first."""

from state.effects.body_patch.alignment import PositionMap, align, distance
from state.effects.body_patch.budget import WorkBudget
from state.effects.body_patch.buffer import PatchBuffer, PatchRangeError
from state.effects.body_patch.diff import DELETE, INSERT, Difference, differences
from state.effects.body_patch.match import PATTERN_LENGTH_MAX, find_match
from state.effects.body_patch.pieces import MARGIN, PADDING, Patch, pad, pieces, text_after, text_before
from state.protocol.values.integers import as_int32

# Steps per patch, and per difference of a patch that matches inexactly.
PATCH_STEPS, CHANGE_STEPS = 15, 20


def apply_patches(patches: list[Patch], old: str, budget: WorkBudget) -> str:
    """Return a text with patches applied. Raises PatchRangeError if a patch leads beyond the end of the text.

    A patch without a match is skipped, and so are all patches after the budget is used up.
    """
    body = PatchBuffer(PADDING + old + PADDING, budget)
    pad(patches)
    # The distance between the last patch's expected and found positions.
    shift = 0
    for patch in patches:
        # Most patches need not be split.
        for piece in (patch,) if patch.old_length <= PATTERN_LENGTH_MAX else pieces(patch):
            if not budget.spend(PATCH_STEPS + len(piece.differences)):
                return unpadded(body)
            shift = apply_piece(piece, body, shift, budget)
    return unpadded(body)


def apply_piece(patch: Patch, body: PatchBuffer, shift: int, budget: WorkBudget) -> int:
    """Apply one patch if it matches. Return the shift for the next patch.

    Sums of positions and lengths are wrapped only before a comparison. The result is the same as if each sum wrapped.
    """
    expected = as_int32(patch.start + shift)
    if not patch.differences:
        return max(0, min(expected, body.length)) - expected
    pattern = text_before(patch.differences)
    if len(pattern) <= PATTERN_LENGTH_MAX and 0 <= expected <= body.length:
        # The usual case: an exact match at the expected position.
        if body.substitute(expected, pattern, text_after(patch.differences)):
            return 0
    start, end = find_part(body, pattern, expected, budget)
    if start < 0:
        # The later patches were made for a text that includes this one.
        return shift - (patch.new_length - patch.old_length)
    found = body.read(start, end)
    if found == pattern:
        body.replace(start, start + len(pattern), text_after(patch.differences))
    else:
        adapt(patch.differences, pattern, found, body, start, budget)
    return start - expected


def find_part(body: PatchBuffer, pattern: str, expected: int, budget: WorkBudget) -> tuple[int, int]:
    """Return start and end of the best match, (-1, -1) if there is none. For a long pattern, both of its ends are matched separately."""
    length = len(pattern)
    if length <= PATTERN_LENGTH_MAX:
        start = find_match(body, pattern, expected, budget)
        return (start, start + length) if start >= 0 else (-1, -1)
    start = find_match(body, pattern[:PATTERN_LENGTH_MAX], expected, budget)
    if start < 0:
        return -1, -1
    end = find_match(body, pattern[-PATTERN_LENGTH_MAX:], as_int32(expected + length - PATTERN_LENGTH_MAX), budget)
    return (start, end + PATTERN_LENGTH_MAX) if end > start else (-1, -1)


def adapt(changes: list[Difference], pattern: str, found: str, body: PatchBuffer, start: int, budget: WorkBudget) -> None:
    """Make the changes of a patch in a part of the text that matches inexactly.

    A long part that differs in more than half of its characters is not changed.
    """
    if not budget.spend(CHANGE_STEPS * len(changes)):
        return
    between = differences(pattern, found, budget)
    if len(pattern) > PATTERN_LENGTH_MAX and 2 * distance(between) > len(pattern):
        return
    align(between, budget)
    places = PositionMap(between)
    # As in the library, `at` includes insertions, although `places` maps positions in the text without them.
    at = 0
    for kind, text in changes:
        if kind == INSERT:
            place = start + places.of(at)
            body.replace(place, place, text)
        elif kind == DELETE:
            # The library checks only that the end is within the text.
            last = start + places.of(at + len(text))
            body.replace(min(start + places.of(at), last), last, "")
        if kind != DELETE:
            at += len(text)


def unpadded(body: PatchBuffer) -> str:
    """Return the text without the padding at both ends.

    If the text is shorter than both paddings together, only the padding at the beginning is removed.
    """
    if body.length < MARGIN:
        raise PatchRangeError
    end = body.length - MARGIN
    return body.read(MARGIN, end if end >= MARGIN else body.length)
