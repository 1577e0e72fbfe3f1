"""Text buffer that consists of pieces, so that the cost of a change depends neither on its position nor on the length of the text."""

from state.effects.body_patch.budget import WorkBudget

PIECE_LENGTH = 4096
# Characters copied per step of the work budget, into the buffer and out of it.
CHARACTERS_PER_STEP = 25


class PatchRangeError(Exception):
    """A position is beyond the end of the text. In this case the reference's library throws, and the edit replaces the body."""


class PatchBuffer:
    """A text with a cursor. The pieces after the cursor are in reverse order, so that both lists of pieces change only at their ends."""

    def __init__(self, text: str, budget: WorkBudget) -> None:
        pieces = [text[i : i + PIECE_LENGTH] for i in range(0, len(text), PIECE_LENGTH)]
        budget.spend(len(text) // CHARACTERS_PER_STEP)
        self.length = len(text)
        self._budget = budget
        self._before: list[str] = []
        self._after = pieces[::-1]
        # The position of the cursor, between two pieces.
        self._place = 0

    def read(self, start: int, end: int) -> str:
        """Return the characters in [start, end), fewer at the end of the text."""
        self._seek(start)
        skipped = start - self._place
        if self._after and end <= self._place + len(self._after[-1]):
            return self._after[-1][skipped : end - self._place]
        missing = end - self._place
        parts: list[str] = []
        i = len(self._after)
        while missing > 0 and i:
            i -= 1
            parts.append(self._after[i][:missing])
            missing -= len(parts[-1])
        self._budget.spend(len(parts))
        return "".join(parts)[skipped:]

    def substitute(self, place: int, old: str, new: str) -> bool:
        """If the text at a position equals `old`, replace it with `new`. Return whether it was equal."""
        self._seek(place)
        start = place - self._place
        end = start + len(old)
        if self._after and self._after[-1].startswith(old, start):
            # The usual case: the text is within one piece.
            piece = self._after[-1]
            changed = piece[:start] + new + piece[end:]
            if 0 < len(changed) <= 2 * PIECE_LENGTH:
                self._after[-1] = changed
                self.length += len(changed) - len(piece)
                return True
        elif self.read(place, place + len(old)) != old:
            return False
        self.replace(place, place + len(old), new)
        return True

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace the characters in [start, end) with `new`."""
        if end > self.length:
            raise PatchRangeError
        if start == end and not new:
            return
        self._seek(start)
        skipped, missing = start - self._place, end - self._place
        head = self._after[-1][:skipped] if skipped else ""
        tail = ""
        # An insertion also takes the piece at the cursor, because a new piece per insertion would make too many.
        while self._after and (missing > 0 or (not head and not tail)):
            piece = self._after.pop()
            tail = piece[missing:]
            missing = max(0, missing - len(piece))
            self._budget.spend(1)
        self.length += len(new) - (end - start)
        merged = head + new + tail
        if len(merged) <= 2 * PIECE_LENGTH:
            if merged:
                self._after.append(merged)
            return
        for i in range((len(merged) - 1) // PIECE_LENGTH * PIECE_LENGTH, -1, -PIECE_LENGTH):
            self._after.append(merged[i : i + PIECE_LENGTH])
            self._budget.spend(1)

    def rest(self, start: int) -> str:
        """Return everything from `start` on."""
        return self.read(start, self.length)

    def _seek(self, place: int) -> None:
        """Move the cursor to the piece that contains a position, or to the end."""
        before, after, here = self._before, self._after, self._place
        moved = len(before)
        while place < here:
            piece = before.pop()
            here -= len(piece)
            after.append(piece)
        while after and place >= here + len(after[-1]):
            piece = after.pop()
            here += len(piece)
            before.append(piece)
        if here != self._place:
            self._place = here
            self._budget.spend(2 * abs(len(before) - moved))
