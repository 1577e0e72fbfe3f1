"""Sync marks: the file `block_log.head` contains the number and id of the last synced block, and the digest of the log up to it.

A mark is written after the log is synced, so a log that is shorter than its mark or differs from it was damaged, truncated or replaced. The
file has two slots, written alternately, so that the previous mark survives an interrupted write.
"""

from typing import TypeVar
from zlib import crc32

import msgspec
from msgspec import Struct

from node.storage.disk import File

PLACE_SIZE = 512  # bytes; a sector, so that no write touches the other mark

Record = TypeVar("Record", bound=Struct)


class SyncMark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last synced block of a log.

    `end` is the byte at which the block's frame ends. `sums` is the digest of the checksums of all frames up to that byte (`SumsDigest`).
    `boot` is the id of the machine's boot (`Disk.boot`). `is_closed` is set by a graceful shutdown.
    """

    serial: int
    number: int
    id: str
    end: int
    sums: str
    boot: str
    is_closed: bool = False


def newest_mark(data: bytes) -> SyncMark | None:
    """Return the newest valid mark in the bytes of a file, or None."""
    found = [decode_sealed(data[start : start + PLACE_SIZE], SyncMark) for start in (0, PLACE_SIZE)]
    return max((mark for mark in found if mark is not None), key=lambda mark: mark.serial, default=None)


def write_mark(file: File, mark: SyncMark) -> None:
    """Write a mark into the slot that doesn't hold the previous mark, and sync the file."""
    file.write(encode_sealed(mark), mark.serial % 2 * PLACE_SIZE)
    file.sync()


def encode_sealed(record: Struct) -> bytes:
    """Encode a record as a human-readable line of PLACE_SIZE bytes that ends with a checksum."""
    return _sealed(msgspec.json.encode(record))


def decode_sealed(data: bytes, kind: type[Record]) -> Record | None:
    """Parse a line made by `encode_sealed`. Return None if any bit is wrong."""
    text = data.rstrip().rpartition(b" ")[0]
    if len(text) >= PLACE_SIZE - 10 or _sealed(text) != data:
        return None
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _sealed(text: bytes) -> bytes:
    line = text + b" %08x" % crc32(text)
    assert len(line) < PLACE_SIZE
    return line.ljust(PLACE_SIZE - 1) + b"\n"
