"""Finds the frames of a block log, forward and backward, and detects the remains of an interrupted write. Read-only.

A frame is a block and the offset at which it begins. Source: wire-format.md §7.
"""

import sys
from array import array
from collections.abc import Iterator
from hashlib import blake2b
from typing import Self
from zlib import crc32

from node.runtime.errors import FileError
from node.storage.disk import File, Readable
from state.protocol.codec.codecs import past_end
from state.protocol.constants import COIN_MAX_BLOCK_SIZE
from state.protocol.errors import ChainError
from state.protocol.transaction import OFFSET, SignedBlock, Wire, block_number

CHUNK_SIZE = 1 << 20
WINDOW_SIZE = 1 << 16
DIGEST_SIZE = 16
NO_SUMS = array("I")
FRAME_SIZE_MAX = COIN_MAX_BLOCK_SIZE + OFFSET.size
assert array("Q").itemsize == OFFSET.size
assert array("I").itemsize == 4


def whole_frame(wire: Wire, data: bytes, at: int) -> tuple[SignedBlock, int] | ChainError:
    """Return the block at `at` and the position of the offset after it, or the error if the block is invalid or incomplete."""
    try:
        block, end = wire.unpack_block(data, at)
    except ChainError as error:
        return error
    return past_end(data, end + OFFSET.size) if end + OFFSET.size > len(data) else (block, end)


def offset_before(file: Readable, end: int) -> int:
    """Return the offset stored before `end`, which is the start of the preceding block. Raises FileError if it can't be valid."""
    if end > OFFSET.size:
        start: int = OFFSET.unpack(file.read(OFFSET.size, end - OFFSET.size))[0]
        if start < end - OFFSET.size:
            return start
    raise FileError(f"damaged at byte {end}")


def number_at(file: Readable, start: int) -> int:
    """Return the number of the block at `start`. Its first bytes are the number of the previous block."""
    return block_number(file.read(4, start).ljust(4, b"\0")) + 1


def last_number(file: Readable, size: int) -> int:
    """Return the number of the last block of a block log, or 0 if the end of the log is torn."""
    try:
        return number_at(file, offset_before(file, size)) if size else 0
    except FileError:
        return 0


def frame_start(file: Readable, size: int, number: int) -> int | None:
    """Return the offset of a block, found by walking back from the end, or None."""
    end = size
    try:
        while end:
            end = offset_before(file, end)
            if number_at(file, end) <= number:
                break
    except FileError:
        return None
    return end if end < size and number_at(file, end) == number else None


def walk_back(file: File, end: int, stop: int = 0) -> "array[int] | None":
    """Return the start of each block between `stop` and `end`, by the offsets alone. Return None if they don't lead from `end` back to
    `stop`.

    The file is read in windows, so that one read serves hundreds of small blocks.
    """
    starts = array("Q")
    window, base = b"", end
    unpack, size = OFFSET.unpack_from, OFFSET.size
    at = end
    while at > stop:
        position = at - size
        if position < stop:
            return None
        if position < base:
            base = max(stop, at - WINDOW_SIZE)
            window = file.read(at - base, base)
            if len(window) < at - base:
                return None
        start: int = unpack(window, position - base)[0]
        if not stop <= start < position:
            return None
        starts.append(start)
        at = start
    starts.reverse()
    return starts


def frame_sums(file: File, starts: "array[int]", end: int) -> "array[int]":
    """Return the checksum (CRC-32) of each frame, including the offset after its block. The last frame ends at `end`."""
    sums = array("I")
    if not starts:
        return sums
    data, base = memoryview(b""), starts[0]
    ends = starts[1:]
    ends.append(end)
    for start, stop in zip(starts, ends, strict=True):
        if stop - base > len(data):
            base = start
            data = memoryview(file.read(min(max(CHUNK_SIZE, stop - start), end - start), start))
        sums.append(crc32(data[start - base : stop - base]))
    return sums


def frames_from(file: File, wire: Wire, at: int, number: int) -> Iterator[tuple[SignedBlock, int, int]]:
    """Yield each complete block from `at` on with its position and the size of its frame. Stop at the first invalid block.

    The first block must have the number `number`, each later block must follow its predecessor, and each offset must be correct.
    """
    base, data = at, b""
    while True:
        found = whole_frame(wire, data, at - base)
        if isinstance(found, ChainError):
            more = file.read(max(CHUNK_SIZE, base + len(data) - at), base + len(data))
            if not more or base + len(data) - at > FRAME_SIZE_MAX:
                return
            data, base = data[at - base :] + more, at
            continue
        block, end = found
        if OFFSET.unpack_from(data, end)[0] != at or block.number != number:
            return
        size = base + end + OFFSET.size - at
        yield block, at, size
        at, number = at + size, number + 1


def is_one_append(file: File, wire: Wire, start: int, size: int) -> bool:
    """Return whether one interrupted write of a frame can have left the bytes from `start` on in a log of `size` bytes.

    The answer is no if there are more bytes than a frame can have, or if the end of another frame is among these bytes. Each frame ends
    with the offset of its start, so complete frames are found even after a damaged one.
    """
    if size - start > FRAME_SIZE_MAX:
        return False
    data = file.read(size - start, start)
    # The positions from `start` to `size` differ only in their low bytes, so a search for the high bytes finds every offset.
    for high in range(start >> 16, (size >> 16) + 1):
        pattern = high.to_bytes(OFFSET.size - 2, "little")
        at = data.find(pattern, 2)
        while at >= 0:
            position = at - 2
            begin = OFFSET.unpack_from(data, position)[0] - start
            # Block 1 is full of zeros, which look like its offset.
            if begin == 0 and start and position:
                return False
            if 0 < begin < position:
                found = whole_frame(wire, data, begin)
                if not isinstance(found, ChainError) and found[1] == position:
                    return False
            at = data.find(pattern, at + 1)
    return True


def entries(data: bytes, kind: str) -> "array[int]":
    """Decode the little-endian numbers of an index (`kind` Q) or of checksums (`kind` I). An incomplete last number is dropped."""
    found = array(kind)
    found.frombytes(data[: len(data) - len(data) % found.itemsize])
    if sys.byteorder == "big":
        found.byteswap()
    return found


class SumsDigest:
    """Running digest (BLAKE2b) of the checksums of all frames up to a block.

    A CRC-32 of the CRC-32 checksums would be too weak: both are linear, so equal changes of two bytes at some distances cancel out.
    """

    __slots__ = ("_hash",)

    def __init__(self, sums: "array[int]" = NO_SUMS) -> None:
        self._hash = blake2b(packed_entries(sums), digest_size=DIGEST_SIZE)

    def after(self, entry: bytes) -> Self:
        """Return the digest after one more checksum. `entry` is that checksum as packed bytes."""
        made = type(self)()
        made._hash = self._hash.copy()
        made._hash.update(entry)
        return made

    def __str__(self) -> str:
        """Return the digest in hex."""
        return self._hash.hexdigest()


def packed_entries(values: "array[int]") -> bytes:
    """Encode numbers as little-endian bytes."""
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()
