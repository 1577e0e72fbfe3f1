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
        """Return the bytes of a block, or None if the file doesn't have it. Raises MissingBlock if another program has changed the file."""
        place = self._place(number)
        if place is None:
            return None
        data = self._read(number, *place)
        if not self._is_unchanged(number, place[0], data):
            raise MissingBlock(number, f"{self.path}: block {number}, at byte {place[0]}, was changed by another program")
        return data

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

    def _is_unchanged(self, number: int, begin: int, data: bytes) -> bool:
        """Whether the bytes of a block, which begin at byte `begin`, are those that were there before, as far as a checksum is known."""
        return True

    @abstractmethod
    def _read_at(self, begin: int, size: int) -> bytes:
        """Return the bytes at a position, or fewer at the end of the file. Raises OSError."""

    def _read(self, number: int, begin: int, end: int) -> bytes:
        data = self._read_at(begin, end - begin)
        if len(data) < end - begin:
            # Without this check, a client would get the parse error of the truncated block as an error in its own block.
            raise MissingBlock(number, f"{self.path}: block {number}, at byte {begin}, is gone: another program has cut the file")
        return data
