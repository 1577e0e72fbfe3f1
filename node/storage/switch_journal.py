"""The file `block_log.switch`: a fork switch that is about to be made in the block log, so that it can be made whole after an interruption.

While the log is cut and the other branch written, neither branch is whole in it; this file, synced before, holds what to cut and what
to write. A file that isn't whole means that the log has not been touched yet.
"""

from pathlib import Path
from typing import Self
from zlib import crc32

import msgspec
from msgspec import Struct

from node.storage.disk import Disk, read_whole
from node.storage.sync_marks import PLACE_SIZE, sealed, unsealed


class SwitchRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do: keep blocks 1 to `number`, which end at byte `end` and whose checksums have the digest `sums`; then write `size` bytes.

    `serial` is that of the mark before it: a mark with a greater one was written after the switch was made.
    """

    serial: int
    number: int
    end: int
    sums: str
    size: int
    check: int


class InterruptedSwitch(Struct, frozen=True):
    """A whole switch that was found: what to do, and the bytes to write."""

    switch: SwitchRecord
    data: bytes

    @classmethod
    def unpacked(cls, content: bytes) -> Self | None:
        """Return the switch that a file holds; None when a single bit is wrong."""
        text = unsealed(content[:PLACE_SIZE])
        try:
            switch = None if text is None else msgspec.json.decode(text, type=SwitchRecord)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        data = content[PLACE_SIZE:]
        return None if switch is None or len(data) != switch.size or crc32(data) != switch.check else cls(switch, data)


def write_switch(disk: Disk, path: Path, switch: SwitchRecord, data: bytes) -> None:
    """Write a switch to a file and sync it with its name; when this fails, there may be no such file, or one that isn't whole."""
    file = disk.open(path, create=True)
    try:
        file.truncate(0)
        file.write(sealed(msgspec.json.encode(switch)) + data, 0)
        file.sync()
    finally:
        file.close()
    disk.sync_folder(path.parent)


def read_switch(disk: Disk, path: Path) -> InterruptedSwitch | None:
    """Return the switch that was interrupted, if there is one and its file is whole."""
    return InterruptedSwitch.unpacked(read_whole(disk, path))


def drop_switch(disk: Disk, path: Path) -> None:
    """Remove the file of a switch that has been made or given up, and sync that."""
    disk.remove(path)
    disk.sync_folder(path.parent)
