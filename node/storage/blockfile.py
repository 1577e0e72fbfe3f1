"""Reads the blocks of a file one by one. The file is a binary block log or JSON lines, and can be compressed with gzip or zstd.

The format is detected by the first bytes, not by the name. JSON lines contain blocks as returned by `block_api.get_block`. Source:
wire-format.md §7.
"""

import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from node.runtime.errors import FileError
from node.storage.disk import Disk, Readable, SystemDisk
from node.storage.frames import CHUNK_SIZE, FRAME_SIZE_MAX, frame_start, last_number, whole_frame
from state.protocol.errors import ChainError, ParseError
from state.protocol.transaction import OFFSET, SignedBlock, Wire

# Bytes to decompress at a time. They expand to at most 32 MiB.
ZSTD_CHUNK_SIZE = 1 << 10
# Limit of a block's bytes in a compressed file: UNPACKED_PER_BYTE times the file's size, plus UNPACKED_FREE.
UNPACKED_PER_BYTE, UNPACKED_FREE = 64, 1 << 24
LINE_SIZE_MAX = 1 << 29
SYSTEM = SystemDisk()
# Sorted. The first byte of a block number is below all of them for the first 167 million blocks, which take 16 years.
LINE_STARTS = (b"\n", b" ", b"{")
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class BlockFile:
    """The blocks of a file from number `first` on, in file order. Memory is bounded by the largest block.

    `size` is the file's size in bytes. `last` is the number of its last block, or 0 if finding it would need reading the whole file. Raises
    FileError, including for a block log whose blocks or offsets are out of sequence. If a `pipe` is given, the blocks are read from it
    instead, and `path` is only its name in messages.
    """

    def __init__(self, path: Path, wire: Wire, first: int = 1, disk: Disk = SYSTEM, *, pipe: Readable | None = None) -> None:
        self.path, self._wire, self._first = path, wire, first
        self.is_pipe = pipe is not None
        try:
            self._file = pipe or disk.open_to_read(path)
        except OSError as error:
            raise FileError(f"{path}: {error.strerror}") from None
        except ValueError as error:  # a NUL in the name
            raise FileError(f"{str(path)!r}: {error}") from None
        self._raw = FileStream(self._file)
        self._number = self._end = 0
        try:
            self.size = self._file.size()
            magic = self._file.read(4, 0)
            self._is_plain = not magic.startswith((GZIP, ZSTD))
            self._stream = unpacked(self._raw, magic)
            is_bounded = not self._is_plain and not self.is_pipe
            self._most = UNPACKED_FREE + UNPACKED_PER_BYTE * self.size if is_bounded else LINE_SIZE_MAX
            self._is_log = self._peek()
            self.last = last_number(self._file, self.size) if self._is_plain and self._is_log else 0
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise FileError(f"{path}: {error.strerror}") from None
            raise

    @property
    def position(self) -> int:
        """The number of bytes read from the file, before decompression. In an uncompressed log, up to the end of the last block."""
        return self._end if self._is_plain and self._is_log else self._raw.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __iter__(self) -> Iterator[SignedBlock]:
        blocks = self._from_log() if self._is_log else self._from_lines()
        try:
            for block in blocks:
                self._number = block.number
                if block.number >= self._first:
                    yield block
        except (OSError, EOFError, zlib.error, zstd_error()) as error:
            raise FileError(f"{self.path}: can't be read after block {self._number}: {error}") from None

    def _peek(self) -> bool:
        """Return whether the file is a block log, whose first byte belongs to a block number; a line of JSON begins with a brace."""
        try:
            start = self._stream.peek(1)[:1]
        except (OSError, EOFError, zlib.error, zstd_error()) as error:
            raise FileError(f"{self.path}: {error}") from None
        is_log = b"" < start < LINE_STARTS[0]
        if start and not is_log and start not in LINE_STARTS:
            raise FileError(f"{self.path}: is neither a block log nor JSON lines of blocks")
        return is_log

    # -------------------------------------------------------------- block logs

    def _from_log(self) -> Iterator[SignedBlock]:
        base = self._seek_first() if self._first > 1 and self._is_plain else 0
        # `data` is a chunk of the file that begins at byte `base`, `at` is the position of the next block in it. Blocks have no length
        # prefix. Only unpacking reveals whether a block is complete, so a failure can mean that more bytes are needed. Then the chunk is at
        # least doubled, which bounds the cost of the repeated attempts.
        data, at = b"", 0
        while True:
            found = whole_frame(self._wire, data, at)
            if isinstance(found, ChainError):
                # Blocks of a pipe are yielded as they arrive, unless that takes too many attempts.
                read = self._stream.read1 if self.is_pipe and len(data) - at < CHUNK_SIZE else self._stream.read
                more = read(max(CHUNK_SIZE, len(data) - at))
                if not more and at == len(data):
                    return
                if not more or len(data) - at > min(FRAME_SIZE_MAX, self._most):
                    where = f"byte {base + at}, after block {self._number}"
                    raise FileError(f"{self.path}: no whole block at {where}: {found.message(self._wire.spec.spell)}")
                data, base, at = data[at:] + more, base + at, 0
                continue
            block, end = found
            if OFFSET.unpack_from(data, end)[0] != base + at:
                raise FileError(f"{self.path}: damaged at byte {base + end}, after block {block.number}")
            if self._number and block.number != self._number + 1:
                raise FileError(f"{self.path}: damaged at byte {base + at}, block {block.number} follows block {self._number}")
            at = end + OFFSET.size
            self._end = base + at
            yield block

    def _seek_first(self) -> int:
        """Seek to the block `first` if the offsets lead to it, else to the start. Return the position."""
        start = frame_start(self._file, self.size, self._first) or 0
        if start:
            self._stream.seek(start)
            self._end = start
        return start

    # -------------------------------------------------------------- JSON lines

    def _from_lines(self) -> Iterator[SignedBlock]:
        number, most = 0, min(LINE_SIZE_MAX, self._most)
        while line := self._stream.readline(most + 1):
            number += 1
            if len(line) > most:
                raise FileError(f"{self.path}: line {number} is too long")
            if line.isspace():
                continue
            try:
                yield block_from_line(self._wire, line)
            except (ChainError, msgspec.DecodeError, UnicodeDecodeError) as error:
                reason = error.message(self._wire.spec.spell) if isinstance(error, ChainError) else str(error)
                raise FileError(f"{self.path}: line {number} is not a block: {reason}") from None


def unpacked(raw: io.RawIOBase, magic: bytes) -> io.BufferedReader:
    """Return a stream of a file's content, decompressed if its first bytes are those of gzip or zstd."""
    if magic.startswith(GZIP):
        import gzip

        return io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=raw, mode="rb")), CHUNK_SIZE)
    if magic.startswith(ZSTD):
        return io.BufferedReader(ZstdStream(raw), CHUNK_SIZE)
    return io.BufferedReader(cast(Any, raw), CHUNK_SIZE)


class ZstdStream(io.RawIOBase):
    """Stream of decompressed zstd frames. Unlike zstandard's reader it raises EOFError if the last frame is truncated."""

    def __init__(self, raw: io.RawIOBase) -> None:
        import zstandard

        self._raw = raw
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._packed = self._ready = b""

    def readable(self) -> bool:
        """Return True, as required by io.BufferedReader."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, at least in part. Return the number of bytes read, 0 at the end of the file."""
        while not self._ready:
            self._packed = self._packed or self._raw.read(ZSTD_CHUNK_SIZE)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("Compressed file ended within a frame")
                return 0
            self._frame = self._frame or self._new_frame()
            self._ready, self._packed = self._frame.decompress(self._packed), b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


def zstd_error() -> type[Exception]:
    """Return zstandard's exception for invalid data. This is a function so that the library is only imported after an error."""
    import zstandard

    return zstandard.ZstdError


def block_from_line(wire: Wire, line: bytes) -> SignedBlock:
    """Parse a block from a line of JSON, in condenser or appbase form. The line is the block or an object with the member `block`."""
    value = msgspec.json.decode(line)
    if isinstance(value, dict) and isinstance(value.get("block"), dict):
        value = value["block"]
    if not isinstance(value, dict) or "previous" not in value:
        raise ParseError("a block has a member previous")
    return wire.block_from_json(value, legacy=is_legacy(value))


def is_legacy(block: dict[str, Any]) -> bool:
    """Return whether a block is in condenser form, in which header extensions and operations are pairs of name and fields."""
    variants = [*listed(block, "extensions")]
    for trx in listed(block, "transactions"):
        variants += listed(trx, "operations")[:1]
    return any(isinstance(variant, list) for variant in variants)


def listed(value: Any, key: str) -> list[Any]:
    """Return the list that an object has under a key, or an empty list if there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


class FileStream(io.RawIOBase):
    """Adapter from a Readable to a seekable raw stream."""

    def __init__(self, file: Readable) -> None:
        self._file, self._at = file, 0

    def readable(self) -> bool:
        """Return True, as required by io.BufferedReader."""
        return True

    def seekable(self) -> bool:
        """Return True, as required by io.BufferedReader."""
        return True

    def tell(self) -> int:
        """Return the position in bytes."""
        return self._at

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """Set the position, and return it."""
        assert whence == io.SEEK_SET
        self._at = place
        return place

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, at least in part. Return the number of bytes read, 0 at the end of the file."""
        data = self._file.read(len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
