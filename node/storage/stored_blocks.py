"""`StoredBlocks`, the base of readers of a file of blocks."""

from abc import ABC, abstractmethod
from pathlib import Path

from node.runtime.errors import FileError
from state.protocol.errors import UnreadableBlock


class MissingBlock(FileError, UnreadableBlock):
    """Error for a block that was in a file before."""


class StoredBlocks(ABC):
    """Random access, by number, to the blocks in the file `path`."""

    path: Path

    def packed(self, number: int) -> bytes | None:
        """Return the bytes of a block, or None if the file doesn't have it. Raises MissingBlock if another program truncated the file."""
        place = self._place(number)
        return None if place is None else self._read(number, *place)

    def part(self, number: int, left: int, size: int) -> bytes | None:
        """Return at most `size` bytes that begin `left` bytes before the end of a block, or None if the file doesn't have it. Raises
        MissingBlock as `packed` does.
        """
        place = self._place(number)
        if place is None:
            return None
        begin = max(place[1] - left, place[0])
        return self._read(number, begin, min(begin + size, place[1]))

    @abstractmethod
    def _place(self, number: int) -> tuple[int, int] | None:
        """Return the begin and the end of a block's bytes, or None if the file doesn't have it."""

    @abstractmethod
    def _read_at(self, begin: int, size: int) -> bytes:
        """Return the bytes at a position, or fewer at the end of the file. Raises OSError."""

    def _read(self, number: int, begin: int, end: int) -> bytes:
        data = self._read_at(begin, end - begin)
        if len(data) < end - begin:
            # Without this check, a client would get the parse error of the truncated block as an error in its own block.
            raise MissingBlock(number, f"{self.path}: block {number}, at byte {begin}, is gone: another program has cut the file")
        return data
