"""The file `block_log.head`: which block was the last one when the log was last synced, and what the log held up to there.

It knows no block. A mark is written after what it names is on the disk, so that a log which holds less, or something else, has been
damaged, cut or exchanged. Two places take turns: while one is written, the other one holds the mark before.
"""

from typing import Self
from zlib import crc32

import msgspec
from msgspec import Struct

from node.storage.disk import File

PLACE_SIZE = 512  # bytes; a sector, so that no write touches the other mark


class SyncMark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a block log is known to hold.

    `end` is where the frame of the last block ends, `sums` the digest of the checksums of all frames up to there (`SumsDigest`). `boot`
    names the time since the machine was started; `is_closed` is set by a node that has ended in order.
    """

    serial: int
    number: int
    id: str
    end: int
    sums: str
    boot: str
    is_closed: bool = False

    def packed(self) -> bytes:
        """Return the bytes of the mark as it is kept."""
        return sealed(msgspec.json.encode(self))

    @classmethod
    def unpacked(cls, data: bytes) -> Self | None:
        """Return the mark in PLACE_SIZE bytes; None when a single bit is wrong."""
        found = unsealed(data)
        try:
            return None if found is None else msgspec.json.decode(found, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


def newest_mark(data: bytes) -> SyncMark | None:
    """Return the newest good mark in the bytes of a file; None if it has none."""
    found = [SyncMark.unpacked(data[start : start + PLACE_SIZE]) for start in (0, PLACE_SIZE)]
    return max((mark for mark in found if mark is not None), key=lambda mark: mark.serial, default=None)


def write_mark(file: File, mark: SyncMark) -> None:
    """Write a mark and sync it; the one before it stays."""
    file.write(mark.packed(), mark.serial % 2 * PLACE_SIZE)
    file.sync()


def sealed(text: bytes) -> bytes:
    """Return a line of PLACE_SIZE bytes with its checksum, which a person can read as well."""
    line = text + b" %08x" % crc32(text)
    assert len(line) < PLACE_SIZE
    return line.ljust(PLACE_SIZE - 1) + b"\n"


def unsealed(data: bytes) -> bytes | None:
    """Return the text of a line made by `sealed`; None if any bit of the line is wrong."""
    text = data.rstrip().rpartition(b" ")[0]
    return text if len(text) < PLACE_SIZE - 10 and sealed(text) == data else None
