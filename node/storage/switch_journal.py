"""Write-ahead journal of a fork switch in the block log: the file `block_log.switch`, with which the next start finishes an interrupted
switch.

While the log is truncated and the other branch is written, the log has neither branch in full. The journal is therefore synced first. It
holds the position to truncate at and the bytes to write. If it is incomplete, the log has not been changed yet.
"""

from contextlib import closing
from pathlib import Path
from zlib import crc32

from msgspec import Struct

from node.storage.disk import Disk, read_whole
from node.storage.sync_marks import PLACE_SIZE, decode_sealed, encode_sealed


class SwitchRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The steps of a switch: truncate after block `number`, at byte `end`, then write `size` bytes with the CRC-32 `check`.

    `sums` is the digest of the checksums of the blocks up to `number`. `serial` is the serial of the sync mark before the switch: a mark
    with a greater serial was written after the switch.
    """

    serial: int
    number: int
    end: int
    sums: str
    size: int
    check: int


class InterruptedSwitch(Struct, frozen=True):
    """A complete journal: the switch record and the bytes to write."""

    switch: SwitchRecord
    data: bytes


def write_switch(disk: Disk, path: Path, switch: SwitchRecord, data: bytes) -> None:
    """Write a switch to its file, then sync the file and the folder. After a failure the file can be missing or incomplete."""
    with closing(disk.open(path, create=True)) as file:
        file.truncate(0)
        file.write(encode_sealed(switch) + data, 0)
        file.sync()
    disk.sync_folder(path.parent)


def read_switch(disk: Disk, path: Path) -> InterruptedSwitch | None:
    """Return the interrupted switch, or None if the file is missing or incomplete."""
    content = read_whole(disk, path)
    switch, data = decode_sealed(content[:PLACE_SIZE], SwitchRecord), content[PLACE_SIZE:]
    return None if switch is None or len(data) != switch.size or crc32(data) != switch.check else InterruptedSwitch(switch, data)


def drop_switch(disk: Disk, path: Path) -> None:
    """Remove the file of a switch that is finished or was never started, and sync the folder."""
    disk.remove(path)
    disk.sync_folder(path.parent)
