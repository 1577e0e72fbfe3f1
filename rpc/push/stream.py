"""A stream of blocks for one reader, as JSON lines, read from the chain as fast as the reader takes them: nothing waits for a slow one.
It knows no HTTP.
"""

from collections.abc import Callable

from rpc.push.events import BlocksRemoved, StreamEnd, encode_line
from state.store.lazy.incremental import NotReady

# What is read for one piece before others have their turn: so many bytes, or so many blocks.
PIECE_SIZE = 1 << 16
PIECE_BLOCKS_MAX = 16


class BlockStream:
    """The blocks of the main branch from a number on.

    `last` returns the number of the last block that may be read, `line` the line of a block, None for one that the node doesn't have.
    With `has_before` the reader has the blocks before the first already, and perhaps that one: it hears when they are undone, too.
    """

    def __init__(self, first: int, last: Callable[[], int], line: Callable[[int], bytes | None], *, has_before: bool = False) -> None:
        self._first, self._next = 1 if has_before else first, first
        self._read = first if has_before else first - 1  # the last block that the reader has, or may have
        self._last, self._line = last, line
        self._removed: BlocksRemoved | None = None
        self.ended = ""  # why it has ended

    def undo(self, first: int) -> None:
        """Note that blocks from a number on are no longer on the main branch. The next line names the ones that were read."""
        first = max(first, self._first)
        if first <= self._read:
            self._removed = BlocksRemoved(first, self._read if self._removed is None else self._removed.last)
            self._read = first - 1
        self._next = min(self._next, max(first, self._first))

    def again(self, number: int) -> None:
        """Give a block once more whose line is another one now, and those after it."""
        self._next = min(self._next, max(number, self._first))

    def end(self, reason: str) -> None:
        """End the stream: its last line says why."""
        self.ended = self.ended or reason

    def piece(self) -> bytes:
        """Return the next lines, b"" when there are none for now. Raises Unsettled before one that is made in slices."""
        lines, size = [], 0
        if self._removed is not None:
            lines.append(encode_line(self._removed) + b"\n")
            self._removed = None
        while not self.ended and self._next <= self._last() and size < PIECE_SIZE and len(lines) < PIECE_BLOCKS_MAX:
            try:
                line = self._line(self._next)
            except NotReady:
                if lines:
                    break
                raise
            if line is None:
                self.end(f"the node doesn't have block {self._next}")
                break
            lines.append(line)
            size += len(line)
            self._read = max(self._read, self._next)
            self._next += 1
        return b"".join(lines)

    def last_line(self) -> bytes:
        """Return the line that says why the stream has ended."""
        return encode_line(StreamEnd(self.ended)) + b"\n"
