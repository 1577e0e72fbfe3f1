"""A block stream for one client, as JSON lines. Blocks are read from the chain as fast as the client takes them, so a slow client has
no queue.
"""

from collections.abc import Callable

from rpc.push.events import BlocksRemoved, StreamEnd, encode_line
from state.store.lazy.incremental import NotReady

# Limits of one piece. Other tasks run between pieces.
PIECE_SIZE = 1 << 16  # bytes
PIECE_BLOCKS_MAX = 16


class BlockStream:
    """The blocks of the main branch from number `first` on.

    `last` returns the number of the last readable block, `line` the line of a block, or None if the node doesn't have it.
    With `has_before` the client already has the blocks before `first`, and perhaps `first`, so it is also notified when they are undone.
    """

    def __init__(self, first: int, last: Callable[[], int], line: Callable[[int], bytes | None], *, has_before: bool = False) -> None:
        self._first, self._next = 1 if has_before else first, first
        self._read = first if has_before else first - 1  # the last block that the client may have
        self._last, self._line = last, line
        self._removed: BlocksRemoved | None = None
        self.ended = ""  # why the stream has ended

    def undo(self, first: int) -> None:
        """Handle the removal of the blocks from `first` on from the main branch. The next line names those that the client has read."""
        first = max(first, self._first)
        if first <= self._read:
            self._removed = BlocksRemoved(first, self._read if self._removed is None else self._removed.last)
            self._read = first - 1
        self._next = min(self._next, max(first, self._first))

    def again(self, number: int) -> None:
        """Send a block whose line has changed, and the blocks after it, again."""
        self._next = min(self._next, max(number, self._first))

    def end(self, reason: str) -> None:
        """End the stream with a reason, which its last line gives."""
        self.ended = self.ended or reason

    def piece(self) -> bytes:
        """Return the next lines, b"" if there are none yet. Raises: NotReady if the next line is encoded incrementally."""
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
        """Return the line with the reason why the stream has ended."""
        return encode_line(StreamEnd(self.ended)) + b"\n"
