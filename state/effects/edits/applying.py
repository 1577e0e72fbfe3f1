"""Applies patches to a text: finds the place of each, which may have moved or changed, and puts the new text there."""

from state.effects.edits.aligning import Places, align, distance
from state.effects.edits.body import Body, UnfitError
from state.effects.edits.diffing import DELETE, INSERT, Difference, differences
from state.effects.edits.matching import PATTERN_LENGTH_MAX, find_match
from state.effects.edits.splitting import MARGIN, PADDING, Patch, pad, pieces, text_after, text_before
from state.effects.edits.steps import Steps
from state.protocol.values.integers import as_int32

# Steps that one patch takes at least, and one difference of a patch whose place has changed.
PATCH_STEPS, CHANGE_STEPS = 15, 20


def apply_patches(patches: list[Patch], old: str, steps: Steps) -> str:
    """Return a text with patches applied; raises UnfitError where a patch leads beyond the end of the text.

    A patch that fits nowhere is left out, and so are all that come when no steps are left.
    """
    body = Body(PADDING + old + PADDING, steps)
    pad(patches)
    # By how much the last patch was found away from its place.
    shift = 0
    for patch in patches:
        # Most patches need no cutting.
        for piece in (patch,) if patch.old_length <= PATTERN_LENGTH_MAX else pieces(patch):
            if not steps.take(PATCH_STEPS + len(piece.differences)):
                return unpadded(body)
            shift = apply_piece(piece, body, shift, steps)
    return unpadded(body)


def apply_piece(patch: Patch, body: Body, shift: int, steps: Steps) -> int:
    """Apply one patch if it is found; returns the shift for the next one.

    Places and lengths wrap where they are compared, which comes to the same as if each sum did.
    """
    expected = as_int32(patch.start + shift)
    if not patch.differences:
        return max(0, min(expected, body.length)) - expected
    pattern = text_before(patch.differences)
    if len(pattern) <= PATTERN_LENGTH_MAX and 0 <= expected <= body.length:
        # Nearly always it stands where it is expected.
        if body.substitute(expected, pattern, text_after(patch.differences)):
            return 0
    start, end = find_part(body, pattern, expected, steps)
    if start < 0:
        # The patches after it were made for a text that has this one.
        return shift - (patch.new_length - patch.old_length)
    found = body.read(start, end)
    if found == pattern:
        body.replace(start, start + len(pattern), text_after(patch.differences))
    else:
        adapt(patch.differences, pattern, found, body, start, steps)
    return start - expected


def find_part(body: Body, pattern: str, expected: int, steps: Steps) -> tuple[int, int]:
    """Return where a text like the pattern begins and ends; (-1, -1) if it is nowhere. Of a long one both ends are looked for."""
    length = len(pattern)
    if length <= PATTERN_LENGTH_MAX:
        start = find_match(body, pattern, expected, steps)
        return (start, start + length) if start >= 0 else (-1, -1)
    start = find_match(body, pattern[:PATTERN_LENGTH_MAX], expected, steps)
    if start < 0:
        return -1, -1
    end = find_match(body, pattern[-PATTERN_LENGTH_MAX:], as_int32(expected + length - PATTERN_LENGTH_MAX), steps)
    return (start, end + PATTERN_LENGTH_MAX) if end > start else (-1, -1)


def adapt(changes: list[Difference], pattern: str, found: str, body: Body, start: int, steps: Steps) -> None:
    """Make the changes of a patch in a part of the text that isn't quite what the patch was made for.

    A long part that differs in more than half of its characters stays as it is.
    """
    if not steps.take(CHANGE_STEPS * len(changes)):
        return
    between = differences(pattern, found, steps)
    if len(pattern) > PATTERN_LENGTH_MAX and 2 * distance(between) > len(pattern):
        return
    align(between, steps)
    places = Places(between)
    # As in the library this counts what was inserted, although `places` knows the text without it.
    at = 0
    for kind, text in changes:
        if kind == INSERT:
            place = start + places.of(at)
            body.replace(place, place, text)
        elif kind == DELETE:
            # In the library only the end must lie within the text.
            last = start + places.of(at + len(text))
            body.replace(min(start + places.of(at), last), last, "")
        if kind != DELETE:
            at += len(text)


def unpadded(body: Body) -> str:
    """Return the text without its padding, or without what stands there now; of less than both paddings all but the first."""
    if body.length < MARGIN:
        raise UnfitError
    end = body.length - MARGIN
    return body.read(MARGIN, end if end >= MARGIN else body.length)
