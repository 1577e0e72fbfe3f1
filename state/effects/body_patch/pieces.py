"""Prepares patches for matching: pads the ends of the text, and splits long patches into pieces that fit the matcher.

Both steps follow the reference's library where other ports differ. The library pads both ends of the first patch. The context of a piece is
longer than the margin if the previous piece had a short context.
"""

from collections.abc import Iterator

from msgspec import Struct

from state.effects.body_patch.diff import DELETE, EQUAL, INSERT, Difference
from state.effects.body_patch.match import PATTERN_LENGTH_MAX
from state.protocol.values.integers import as_int32

MARGIN = 4
PADDING = "\x01\x02\x03\x04"
BIG_DELETION_LENGTH = 2 * PATTERN_LENGTH_MAX


class Patch(Struct):
    """A patch: its position in the new text, the lengths of the old and new parts from its header, and its differences."""

    start: int
    old_length: int
    new_length: int
    differences: list[Difference] = []


def pad(patches: list[Patch]) -> None:
    """Shift patches by the padding at the beginning of the text, and include the padding in the first patch."""
    for patch in patches:
        patch.start += MARGIN
    patch = patches[0]
    found = patch.differences
    missing = MARGIN
    if found and found[0][0] == EQUAL:
        missing = max(0, MARGIN - len(found[0][1]))
        found[0] = (EQUAL, PADDING[MARGIN - missing :] + found[0][1])
    else:
        found.insert(0, (EQUAL, PADDING))
    patch.start -= missing
    extend(patch, missing)
    missing = MARGIN
    if found[-1][0] == EQUAL:
        missing = max(0, MARGIN - len(found[-1][1]))
        found[-1] = (EQUAL, found[-1][1] + PADDING[:missing])
    else:
        found.append((EQUAL, PADDING))
    extend(patch, missing)


def extend(patch: Patch, count: int) -> None:
    """Add `count` to the length of a patch's old and new parts, for equal characters."""
    patch.old_length = as_int32(patch.old_length + count)
    patch.new_length += count


def pieces(patch: Patch) -> Iterator[Patch]:
    """Split a patch into shorter patches, each with some context, if a length in its header is above the maximum of a pattern.

    Equal parts alone don't become a piece. A big deletion stays in one piece if it follows an equal part.
    """
    # `left` contains the remaining differences, the next one last, and `used` is the length of the next one that is already used.
    left = patch.differences[::-1]
    used = 0
    start, context = patch.start, ""
    while left:
        piece = Patch(start - len(context), len(context), len(context), [(EQUAL, context)] if context else [])
        is_empty = True
        while left and piece.old_length < PATTERN_LENGTH_MAX - MARGIN:
            kind, text = left[-1]
            available = len(text) - used
            follows_equal = len(piece.differences) == 1 and piece.differences[0][0] == EQUAL
            if kind == INSERT or (kind == DELETE and follows_equal and available > BIG_DELETION_LENGTH):
                count = available
            else:
                count = min(available, PATTERN_LENGTH_MAX - MARGIN - piece.old_length)
            piece.differences.append((kind, text[used : used + count]))
            if kind != INSERT:
                piece.old_length += count
            if kind != DELETE:
                piece.new_length += count
                start += count
            if kind != EQUAL:
                is_empty = False
            used += count
            if used == len(text):
                left.pop()
                used = 0
        context = text_after(piece.differences)[max(0, len(context) - MARGIN) :]
        following = next_old_characters(left, used)
        if following:
            piece.old_length += len(following)
            piece.new_length += len(following)
            if piece.differences and piece.differences[-1][0] == EQUAL:
                piece.differences[-1] = (EQUAL, piece.differences[-1][1] + following)
            else:
                piece.differences.append((EQUAL, following))
        if not is_empty:
            yield piece


def next_old_characters(left: list[Difference], used: int) -> str:
    """Return the next few characters of the old text.

    `left` contains the differences in reverse, and `used` is the length of the next difference that is already used.
    """
    out = ""
    for kind, text in reversed(left):
        if kind != INSERT:
            out += text[used : used + MARGIN]
            if len(out) >= MARGIN:
                break
        used = 0
    return out[:MARGIN]


def text_before(found: list[Difference]) -> str:
    """Return the old text that the differences describe."""
    return "".join([text for kind, text in found if kind != INSERT])


def text_after(found: list[Difference]) -> str:
    """Return the new text that the differences describe."""
    return "".join([text for kind, text in found if kind != DELETE])
