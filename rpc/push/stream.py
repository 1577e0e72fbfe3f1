"""A block stream for one client, as JSON lines.

Blocks are read from the chain only when the client can receive them, so a slow client needs no queue.
"""

from collections.abc import Callable

from rpc.push.events import BlocksRemoved, StreamEnd, encode_line
from state.store.lazy.incremental import NotReady

# Limits of one chunk. Other tasks run between chunks.
PIECE_SIZE = 1 << 16  # bytes
PIECE_BLOCKS_MAX = 16


class BlockStream:
    """A stream of the main branch's blocks from number `first` on.

    `last` returns the number of the newest block to send. `line` returns the line of a block, or None if the node doesn't have it.
    `has_before` means that the client already has the blocks before `first`, and perhaps `first`. The stream then also reports when one of
    those blocks is removed.
    """

    def __init__(self, first: int, last: Callable[[], int], line: Callable[[int], bytes | None], *, has_before: bool = False) -> None:
        self._first, self._next = 1 if has_before else first, first
        self._read = first if has_before else first - 1  # the newest block that the client may have
        self._last, self._line = last, line
        self._removed: BlocksRemoved | None = None
        self.ended = ""  # the reason why the stream has ended

    def undo(self, first: int) -> None:
        """Record that the blocks from `first` on left the main branch. The next line reports which of the sent blocks were removed."""
        first = max(first, self._first)
        if first <= self._read:
            self._removed = BlocksRemoved(first, self._read if self._removed is None else self._removed.last)
            self._read = first - 1
        self._next = min(self._next, max(first, self._first))

    def resend_from(self, number: int) -> None:
        """Send the blocks from `number` on again, because the line of block `number` has changed."""
        self._next = min(self._next, max(number, self._first))

    def end(self, reason: str) -> None:
        """End the stream. Its last line contains the reason."""
        self.ended = self.ended or reason

    def piece(self) -> bytes:
        """Return the next chunk of lines, or b"" if there are none yet. Raises NotReady if the next line must be encoded in steps."""
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
        """Return the last line, which contains the reason why the stream ended."""
        return encode_line(StreamEnd(self.ended)) + b"\n"
