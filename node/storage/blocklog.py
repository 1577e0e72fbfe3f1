"""A block log on disk, in the reference's format, that always holds the chain's main branch up to its head.

The reference writes irreversible blocks only. Here the reversible ones are in it as well, so that a restart comes back to the same
head; a fork switch cuts them off again (`pop`). The format allows that, since each block is followed by the place where it
begins: the file can be walked from its end.

A block is handed to the operating system when `append` returns, so that it survives the end of the process. `sync`, which the node
calls every few seconds and at its end, makes it survive a loss of power; what a loss of power leaves of later blocks is a torn end,
which is cut off at the next start. It must not know any rule. Source: wire-format.md §7.
"""

import io
import os
from array import array
from collections.abc import Iterator
from pathlib import Path

from node.failures import FileError
from node.storage.blockfile import BlockFile, number_at, offset_before, whole_frame
from state.protocol.errors import ChainError
from state.protocol.transaction import OFFSET, ZERO_ID, SignedBlock, Wire, frame

LOG_NAME, INDEX_NAME = "block_log", "block_log.index"
ENTRY = OFFSET.size


class BlockLog:
    """The files `block_log` and `block_log.index` of a folder. A torn end is cut off when they are opened.

    `torn` is the number of bytes that were cut off. Raises FileError for a file that is damaged in another way, and OSError. The
    index, the places of all blocks, is a copy of what the log says, and is written anew where the two don't agree.
    """

    def __init__(self, folder: Path, wire: Wire) -> None:
        self.path = folder / LOG_NAME
        self._wire = wire
        self._log = open_file(self.path)
        self._index = open_file(folder / INDEX_NAME)
        self._size = size_of(self._log)
        self.torn = 0
        if os.pread(self._log.fileno(), len(ZERO_ID), 0).strip(b"\0"):
            raise FileError(f"{self.path} is no block log")  # block 1 begins with the id of no block
        if not self._is_indexed():
            self._repair()
        self._count = size_of(self._index) // ENTRY

    def __len__(self) -> int:
        """The number of blocks, which is that of the last one."""
        return self._count

    @property
    def size(self) -> int:
        """The bytes in the log, without the index."""
        return self._size

    def append(self, block: SignedBlock) -> None:
        """Add the block that follows the last one; when this fails, the files are as before."""
        assert block.number == self._count + 1, f"block {block.number} doesn't follow {self._count}"
        start = self._size
        data = frame(self._wire.pack_block(block), start)
        try:
            write_all(self._log, data, start)
            # The index comes last: whenever the process ends, what the index names is in the log.
            write_all(self._index, OFFSET.pack(start), self._count * ENTRY)
        except OSError:
            os.ftruncate(self._log.fileno(), start)
            os.ftruncate(self._index.fileno(), self._count * ENTRY)
            raise
        self._size += len(data)
        self._count += 1

    def pop(self, block: SignedBlock) -> None:
        """Cut off the last block, which must be this one; the index first, for the same reason as in `append`."""
        assert block.number == self._count, f"block {block.number} is not the last, {self._count} is"
        self._size = self._start_of(self._count)
        self._count -= 1
        os.ftruncate(self._index.fileno(), self._count * ENTRY)
        os.ftruncate(self._log.fileno(), self._size)

    def packed(self, number: int) -> bytes | None:
        """Return the bytes of a block, or None if there is none of this number."""
        if not 1 <= number <= self._count:
            return None
        start = self._start_of(number)
        end = (self._start_of(number + 1) if number < self._count else self._size) - ENTRY
        return os.pread(self._log.fileno(), end - start, start)

    def blocks(self, first: int = 1) -> BlockFile:
        """Open the log to read the blocks from a number on, oldest first."""
        return BlockFile(self.path, self._wire, first)

    def sync(self) -> None:
        """Wait until everything that was written is on the disk."""
        os.fsync(self._log.fileno())
        os.fsync(self._index.fileno())

    def close(self) -> None:
        """Sync and close the files."""
        self.sync()
        self._log.close()
        self._index.close()

    def _start_of(self, number: int) -> int:
        start: int = OFFSET.unpack(os.pread(self._index.fileno(), ENTRY, (number - 1) * ENTRY))[0]
        return start

    # -------------------------------------------------------------- after an interrupted write

    def _is_indexed(self) -> bool:
        """Return whether the index belongs to the log, as far as the last block of both shows.

        Only that block is read: a start must not take the time of reading a whole log.
        """
        count, rest = divmod(size_of(self._index), ENTRY)
        if rest or not count:
            return not rest and not self._size
        return self._is_last(self._start_of(count), count)

    def _is_last(self, start: int, number: int) -> bool:
        """Return whether a block of this number begins at `start` and ends, with its offset, where the log does."""
        if not 0 <= start < self._size:
            return False
        data = os.pread(self._log.fileno(), self._size - start, start)
        found = whole_frame(self._wire, data, 0)
        if isinstance(found, ChainError):
            return False
        block, end = found
        return block.number == number and len(data) == end + ENTRY and OFFSET.unpack_from(data, end)[0] == start

    def _repair(self) -> None:
        """Cut off a torn end, and write the index anew.

        Walking back reads 8 bytes a block and works unless the end is torn. Then the log is read from its beginning, up to the
        last whole block; before anything is cut off it is made sure that only one write can have been lost there.
        """
        starts = self._walk_back()
        if starts is None:
            starts, end = self._walk_forward()
            self._refuse_hole(end)
            self.torn = self._size - end
            os.ftruncate(self._log.fileno(), end)
            self._size = end
        os.ftruncate(self._index.fileno(), 0)
        write_all(self._index, starts.tobytes(), 0)

    def _walk_back(self) -> "array[int] | None":
        """Return where each block begins, by the offsets from the end on; None if they don't lead through the whole log."""
        starts = array("Q")
        end = self._size
        try:
            while end:
                end = offset_before(self._log, end)
                starts.append(end)
        except FileError:
            return None
        starts.reverse()
        return starts if not starts or self._is_last(starts[-1], len(starts)) else None

    def _walk_forward(self) -> "tuple[array[int], int]":
        """Return where each block begins, and where the last whole one ends."""
        starts, end = array("Q"), 0
        for start, size in self._frames():
            starts.append(start)
            end = start + size
        return starts, end

    def _frames(self) -> Iterator[tuple[int, int]]:
        """Yield the place and the size, with its offset, of each whole block, up to the first that isn't whole."""
        at = 0
        try:
            for number, block in enumerate(self.blocks(), 1):
                size = block.size + ENTRY
                if block.number != number:
                    return
                yield at, size
                at += size
        except FileError:
            return

    def _refuse_hole(self, end: int) -> None:
        """Raise FileError if a whole block ends the log after the place to cut at: that is damage, and no interrupted write."""
        try:
            start = offset_before(self._log, self._size)
        except FileError:
            return
        if start > end and self._is_last(start, number_at(self._log, start)):
            raise FileError(f"{self.path}: damaged at byte {end}, in front of whole blocks; put a good copy in its place")


def open_file(path: Path) -> io.FileIO:
    """Open a file to read and write without a buffer; it is made if it isn't there."""
    return io.FileIO(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+")


def size_of(file: io.FileIO) -> int:
    """Return the size of a file in bytes."""
    return os.fstat(file.fileno()).st_size


def write_all(file: io.FileIO, data: bytes, start: int) -> None:
    """Write all data at a place; the system may write only a part at a time."""
    view = memoryview(data)
    while view:
        written = os.pwrite(file.fileno(), view, start)
        view, start = view[written:], start + written
