"""Sync marks: the file `block_log.head` names the last block at the last sync, and the digest of the log up to it.

A mark is written after the log is synced, so a log that is shorter or different was damaged, truncated or replaced. The file has two slots,
written alternately, so that the previous mark survives an interrupted write.
"""

from typing import Self
from zlib import crc32

import msgspec
from msgspec import Struct

from node.storage.disk import File

PLACE_SIZE = 512  # bytes; a sector, so that no write touches the other mark


class SyncMark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last synced block of a log.

    `end` is the end of its frame in bytes, `sums` the digest of the checksums of all frames up to there (`SumsDigest`). `boot` is the id
    of the machine's boot (`Disk.boot`). `is_closed` is set by a graceful shutdown.
    """

    serial: int
    number: int
    id: str
    end: int
    sums: str
    boot: str
    is_closed: bool = False

    def packed(self) -> bytes:
        """Encode the mark in PLACE_SIZE bytes."""
        return sealed(msgspec.json.encode(self))

    @classmethod
    def unpacked(cls, data: bytes) -> Self | None:
        """Parse PLACE_SIZE bytes. None if any bit is wrong."""
        found = unsealed(data)
        try:
            return None if found is None else msgspec.json.decode(found, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


def newest_mark(data: bytes) -> SyncMark | None:
    """Return the newest valid mark in the bytes of a file, or None."""
    found = [SyncMark.unpacked(data[start : start + PLACE_SIZE]) for start in (0, PLACE_SIZE)]
    return max((mark for mark in found if mark is not None), key=lambda mark: mark.serial, default=None)


def write_mark(file: File, mark: SyncMark) -> None:
    """Write a mark into the slot that doesn't hold the previous one, and sync it."""
    file.write(mark.packed(), mark.serial % 2 * PLACE_SIZE)
    file.sync()


def sealed(text: bytes) -> bytes:
    """Return a human-readable line of PLACE_SIZE bytes that ends with a checksum."""
    line = text + b" %08x" % crc32(text)
    assert len(line) < PLACE_SIZE
    return line.ljust(PLACE_SIZE - 1) + b"\n"


def unsealed(data: bytes) -> bytes | None:
    """Return the text of a line made by `sealed`, or None if any bit is wrong."""
    text = data.rstrip().rpartition(b" ")[0]
    return text if len(text) < PLACE_SIZE - 10 and sealed(text) == data else None
