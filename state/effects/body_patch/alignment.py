"""Aligns differences with the boundaries of words and lines, and maps positions between two texts."""

from bisect import bisect_right

from state.effects.body_patch.budget import WorkBudget
from state.effects.body_patch.diff import DELETE, EQUAL, INSERT, Difference, common_suffix

# What the reference's library counts as letters, digits and spaces. It runs in the locale "C".
WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
SPACE = frozenset(" \t\n\v\f\r")
LINE_END = frozenset("\n\r")
EDGE_SCORE = 6


class PositionMap:
    """Map from positions in one text to positions in another, computed from the differences of the texts."""

    def __init__(self, found: list[Difference]) -> None:
        self._kinds = [kind for kind, _ in found]
        # The positions in both texts before each difference, and after the last one.
        self._old, self._new = [0], [0]
        for kind, text in found:
            self._old.append(self._old[-1] + (len(text) if kind != INSERT else 0))
            self._new.append(self._new[-1] + (len(text) if kind != DELETE else 0))

    def of(self, place: int) -> int:
        """Return the position in the new text that corresponds to `place` in the old text. `place` can be beyond the end."""
        i = bisect_right(self._old, place, lo=1) - 1
        if i < len(self._kinds) and self._kinds[i] == DELETE:
            return self._new[i]
        return self._new[i] + place - self._old[i]


def distance(found: list[Difference]) -> int:
    """Return the edit distance: the number of inserted, deleted or replaced characters."""
    total = inserted = deleted = 0
    for kind, text in found:
        if kind == INSERT:
            inserted += len(text)
        elif kind == DELETE:
            deleted += len(text)
        else:
            total += max(inserted, deleted)
            inserted = deleted = 0
    return total + max(inserted, deleted)


def align(found: list[Difference], budget: WorkBudget) -> None:
    """Shift each change that has equal text on both sides to the best boundary: a blank line, or the end of a line, sentence or word."""
    i = 1
    while i < len(found) - 1:
        (kind, change), before, after = found[i], found[i - 1], found[i + 1]
        if before[0] == after[0] == EQUAL:
            start = best_start(before[1], change, after[1], budget)
            if start != len(before[1]):
                text = before[1] + change + after[1]
                end = start + len(change)
                moved = [(EQUAL, text[:start])] if start else []
                moved.append((kind, text[start:end]))
                moved += [(EQUAL, text[end:])] if end < len(text) else []
                found[i - 1 : i + 2] = moved
                # Continue with the equal part after the change, or with the change again if that part is gone.
                i -= (not start) + (end == len(text))
        i += 1


def best_start(before: str, change: str, after: str, budget: WorkBudget) -> int:
    """Return the best start of a change between two equal parts, counted from the beginning of the first part.

    Among positions with equal scores this is the last one. If the budget is used up, it is the best position examined so far.
    """
    text = before + change + after
    size = len(change)
    start = len(before) - common_suffix(before, change)
    best, best_score = start, -1
    while True:
        end = start + size
        points = border_score(text, 0, start, end) + border_score(text, start, end, len(text))
        if points >= best_score:
            best, best_score = start, points
        if not size or end >= len(text) or text[start] != text[end] or not budget.spend(15):
            return best
        start += 1


def border_score(text: str, start: int, border: int, end: int) -> int:
    """Return the score of a boundary between two parts of a text in [start, end); higher is better."""
    if border in (start, end):
        return EDGE_SCORE
    left, right = text[border - 1], text[border]
    left_word, right_word = left in WORD, right in WORD
    if left_word and right_word:
        return 0
    left_space, right_space = left in SPACE, right in SPACE
    left_line, right_line = left in LINE_END, right in LINE_END
    if (left_line and is_blank_line_before(text, start, border)) or (right_line and is_blank_line_after(text, border, end)):
        return 5
    if left_line or right_line:
        return 4
    if not left_word and not left_space and right_space:
        return 3
    return 2 if left_space or right_space else 1


def is_blank_line_before(text: str, start: int, end: int) -> bool:
    """Whether a part of a text ends with a blank line."""
    return text.endswith(("\n\n", "\n\r\n"), start, end)


def is_blank_line_after(text: str, start: int, end: int) -> bool:
    """Whether a part of a text begins with a blank line."""
    return text.startswith(("\n\n", "\n\r\n", "\r\n\n", "\r\n\r\n"), start, end)
