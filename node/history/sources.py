"""Sources of blocks: a file in any format, a folder of such files, a data folder, or a pipe."""

import os
import stat
from array import array
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Protocol

from node.runtime.errors import FileError
from node.storage.blockfile import SYSTEM, BlockFile
from node.storage.blocklog import LOG_NAME
from node.storage.disk import Readable
from node.storage.frames import number_at, walk_back
from node.storage.stored_blocks import MissingBlock, StoredBlocks
from state.protocol.transaction import OFFSET, SignedBlock, Wire

STANDARD_INPUT = Path("-")
STANDARD_INPUT_NAME = Path("standard input")


class BlockSource(Protocol):
    """Blocks in ascending order, read one by one. Memory is bounded by the largest block. Reading raises FileError.

    `size` is the total size in bytes (0: unknown). `last` is the number of the last block, or 0 if finding it would need reading
    everything. `is_pipe` means that a read can wait for the writing program.
    """

    path: Path
    size: int
    last: int
    is_pipe: bool

    @property
    def position(self) -> int:
        """The number of bytes read so far."""

    def __iter__(self) -> Iterator[SignedBlock]:
        """Yield the blocks."""

    def close(self) -> None:
        """Close open files."""


def open_source(path: Path, wire: Wire, first: int = 1) -> BlockSource:
    """Open the blocks at a path from number `first` on. The path leads to a block log or JSON lines (plain, gzip or zstd), a folder of such
    files, or a data folder.

    The path `-` is the standard input. Pipes, for example a shell's `<(...)`, are read in the same way. Raises FileError.
    """
    try:
        if path == STANDARD_INPUT:
            return BlockFile(STANDARD_INPUT_NAME, wire, first, pipe=Pipe(0))
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            log = path / LOG_NAME
            return BlockFile(log, wire, first) if log.exists() else BlockFiles(path, wire, first)
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            return BlockFile(path, wire, first, pipe=Pipe(os.open(path, os.O_RDONLY | os.O_CLOEXEC)))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # a NUL in the name
        raise FileError(f"{str(path)!r}: {error}") from None
    return BlockFile(path, wire, first)


def is_pipe(path: Path) -> bool:
    """Return whether the blocks at a path can be read only once."""
    return path == STANDARD_INPUT or path.is_fifo() or path.is_char_device()


class BlockFiles:
    """The blocks of all files in a folder, which is read in order of the files' first blocks. Each file must start after the last block of
    the previous one.

    Subfolders and hidden files are ignored. One file is open at a time.
    """

    is_pipe = False

    def __init__(self, path: Path, wire: Wire, first: int = 1) -> None:
        self.path, self._wire, self._first = path, wire, first
        self._files = self._in_order()
        if not self._files:
            raise FileError(f"{path}: has no block files")
        self.size = sum(size for _, _, size in self._files)
        self._open: BlockFile | None = BlockFile(self._files[-1][1], wire)
        self.last = self._open.last
        self._done = 0
        self.close()

    def _in_order(self) -> list[tuple[int, Path, int]]:
        """Return the first block's number, the path and the size of each file that has blocks, sorted by that number."""
        found = []
        try:
            paths = [path for path in self.path.iterdir() if not path.name.startswith(".") and path.is_file()]
        except OSError as error:
            raise FileError(f"{self.path}: {error.strerror}") from None
        for path in sorted(paths):
            with closing(BlockFile(path, self._wire)) as file:
                if (block := next(iter(file), None)) is not None:
                    found.append((block.number, path, file.size))
        return sorted(found)

    @property
    def position(self) -> int:
        """The number of bytes read from all files, before decompression."""
        return self._done + (0 if self._open is None else self._open.position)

    def close(self) -> None:
        """Close the open file."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def __iter__(self) -> Iterator[SignedBlock]:
        before: tuple[int, Path] | None = None
        for index, (begin, path, size) in enumerate(self._files):
            # Skip a file whose blocks all precede the first requested one, according to the start of the next file.
            if index + 1 < len(self._files) and self._files[index + 1][0] <= self._first:
                self._done += size
                continue
            if before is not None and begin != before[0] + 1:
                raise FileError(f"{path}: begins with block {begin}, and {before[1]}, the previous file, ends with block {before[0]}")
            self._open = BlockFile(path, self._wire, self._first)
            last = begin - 1
            for block in self._open:
                last = block.number
                yield block
            self.close()
            self._done += size
            before = last, path


class Pipe:
    """A pipe, which can be read only once, from start to end. The first bytes are kept, because the format is detected from them."""

    MAGIC_SIZE = 4

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._start = b""
        while len(self._start) < self.MAGIC_SIZE and (part := os.read(descriptor, self.MAGIC_SIZE - len(self._start))):
            self._start += part
        self._at = len(self._start)

    def size(self) -> int:
        """Return 0, which means unknown."""
        return 0

    def read(self, size: int, start: int) -> bytes:
        """Return up to `size` bytes that follow the last read, b"" at the end. `start` must be the position of these bytes."""
        if start < len(self._start):
            return self._start[start : start + size]
        assert start == self._at, "a pipe is read from its start to its end"
        part = os.read(self._descriptor, size)
        self._at += len(part)
        return part

    def close(self) -> None:
        """Close the pipe, unless it is the process's standard input."""
        if self._descriptor:
            os.close(self._descriptor)


class OlderBlocks(StoredBlocks):
    """Random access, by number, to the blocks before the head that a chain starts with. Works for an uncompressed block log; finds no block
    in other sources.

    The first read of a block also reads the offsets of all blocks, and keeps 8 bytes per block in memory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path / LOG_NAME if path.is_dir() else path
        self._starts: array[int] | None = None
        self._file: Readable | None = None
        self._begin, self._is_closed = 0, False
        self._process = os.getpid()
        self._files: list[Readable] = []

    def _place(self, number: int) -> tuple[int, int] | None:
        if self._starts is None:
            self._starts = self._look()
        index = number - self._begin
        if not 0 <= index < len(self._starts) - 1:
            return None
        return self._starts[index], self._starts[index + 1] - OFFSET.size

    def _read(self, number: int, begin: int, end: int) -> bytes:
        try:
            return super()._read(number, begin, end)
        except OSError as error:
            raise MissingBlock(number, f"{self.path}: block {number}, at byte {begin}, can't be read: {error.strerror}") from None

    def _read_at(self, begin: int, size: int) -> bytes:
        if self._file is not None and self._process != os.getpid():
            # A forked child has closed the file. The number of its descriptor can be that of another file, so it isn't closed again.
            self._files.append(self._file)
            self._file, self._process = SYSTEM.open_to_read(self.path), os.getpid()
        file = self._file or SYSTEM.open_to_read(self.path)
        with nullcontext() if self._file else closing(file):
            return file.read(size, begin)

    def close(self) -> None:
        """Close the file. Each later read opens it."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._is_closed = True

    def _look(self) -> "array[int]":
        path = self.path
        none: array[int] = array("Q")
        try:
            # The file stays open until `close`.
            file = SYSTEM.open_to_read(path) if path.is_file() else None
            if file is None:
                return none
            starts = walk_back(file, file.size())
            if not starts:
                file.close()
                return none
            self._begin = number_at(file, 0)
            starts.append(file.size())
            if self._is_closed:
                file.close()
            else:
                self._file = file
            return starts
        except OSError:
            return none
