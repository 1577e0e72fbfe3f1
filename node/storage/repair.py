"""Checks all blocks of a data folder, and truncates a damaged block log to its valid blocks, after copying it.

Blocks are not applied here, but at the next start.
"""

from contextlib import closing
from pathlib import Path

from msgspec import Struct

from node.runtime.errors import DiskError, NodeError
from node.storage.blockfile import SYSTEM
from node.storage.blocklog import INDEX_NAME, LOG_NAME, MARK_NAME, SUMS_NAME, SWITCH_NAME, BlockLog, copy_to_free_name
from node.storage.damage import Damaged, Layout, block_id, good_part, lay_out_known, lay_out_unknown
from node.storage.datafolder import VERSION, read_chain
from node.storage.disk import Disk, File, read_whole
from node.storage.frames import entries, packed_entries
from node.storage.sync_marks import newest_mark
from state.protocol.transaction import Wire


class Findings(Struct):
    """Result of checking a folder's block log.

    `good` is the layout of the valid blocks at the start of the log. The last of them has the id `head_id`. The log has `size` bytes.
    `known` is the number of blocks according to the folder's sync mark, or None without a mark.

    `damage` describes the damage for which a start would refuse the folder; it is empty without such damage. `is_loss` is true if a repair
    would lose blocks. `mended` lists the repairs that a start makes by itself.
    """

    good: Layout
    size: int
    head_id: str
    known: int | None
    damage: str
    is_loss: bool
    mended: list[str]


def check(folder: Path, wire: Wire, disk: Disk = SYSTEM) -> Findings:
    """Read all blocks of a folder and compare them with its sync mark, checksums and index. Raises NodeError. Read-only."""
    with closing(locked(folder, disk, is_read=True)) as log:
        return findings(log, folder, wire, disk)


def repair(folder: Path, wire: Wire, disk: Disk = SYSTEM, *, accept_loss: bool = False) -> list[str]:
    """Repair a folder so that a node can start from it. Return the repairs as sentences. Raises NodeError.

    Blocks are dropped only with `accept_loss`, after copying the log.
    """
    with closing(locked(folder, disk)) as log:
        found = findings(log, folder, wire, disk)
        if found.damage and found.is_loss and not accept_loss:
            raise NodeError(f"{folder / LOG_NAME}: {found.damage}; add --accept-loss to go on with {found.good.text} after copying the log")
        if not found.damage:
            return found.mended or ["nothing is damaged"]
        done = [f"{found.damage}: kept {found.good.text}"]
        copy = copy_to_free_name(disk, log, 0, folder, f"{LOG_NAME}.damaged")
        done.append(f"the original log was copied to {copy}")
        # The marks are changed first: then an interruption leaves a log that can be repaired again.
        for name in (MARK_NAME, SUMS_NAME, SWITCH_NAME, INDEX_NAME):
            if disk.exists(folder / name):
                disk.replace(folder / name, copy.with_name(f"{name}.{copy.name.removeprefix(f'{LOG_NAME}.')}"))
        disk.sync_folder(folder)
        log.truncate(found.good.end)
        log.sync()
    with closing(BlockLog(folder, wire, disk)) as again:
        again.adopt()
    return done


def locked(folder: Path, disk: Disk, *, is_read: bool = False) -> File:
    """Open and lock the log of a folder. With `is_read`, the disk can be read-only. Raises NodeError, including if a node uses the log."""
    path = folder / LOG_NAME
    try:
        log = disk.open_to_read(path) if is_read else disk.open(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NodeError(f"{path}: {error.strerror}; name the data folder of a node") from None
    except OSError as error:
        raise DiskError(f"{path}: {error.strerror}; the log must be a file that this user can {'read' if is_read else 'write'}") from None
    except ValueError as error:
        raise NodeError(f"{str(path)!r}: {error}") from None
    if not log.lock():
        log.close()
        raise NodeError(f"{folder} is in use by a node; stop it first")
    return log


def findings(log: File, folder: Path, wire: Wire, disk: Disk) -> Findings:
    """Check a folder whose log is open and locked."""
    path, size = folder / LOG_NAME, log.size()
    stored_sums = entries(read_whole(disk, folder / SUMS_NAME), "I")
    mark = newest_mark(read_whole(disk, folder / MARK_NAME))
    mended: list[str] = []
    reason, is_loss = "", False
    try:
        if mark is not None:
            is_strict = mark.is_closed or mark.boot in ("", disk.boot())
            layout = lay_out_known(log, wire, path, mark, stored_sums, is_strict=is_strict)
        else:
            layout = lay_out_unknown(log, wire, path)
            chain = read_chain(disk, folder)
            # A folder of an older version gets its mark at its next start.
            if chain is not None and chain.version == VERSION and (not len(layout) or layout.sums != stored_sums):
                reason, is_loss = f"{MARK_NAME} is missing", len(layout) < len(stored_sums)
        good = good_part(log, wire, layout.sums)
        if len(good) < len(layout):
            reason = f"damaged at byte {good.end}, after block {good.last}"
            is_loss = True
        elif good.end < size:
            mended.append(f"{size - good.end} bytes at the end are not whole, and are cut off at the next start")
        if read_whole(disk, folder / INDEX_NAME) != packed_entries(layout.starts):
            mended.append(f"{INDEX_NAME} doesn't agree with the log, and is rebuilt at the next start")
    except Damaged as error:
        reason, good, is_loss = error.reason, error.good, True
    if disk.exists(folder / SWITCH_NAME):
        mended.append("a switch to another branch was interrupted, and is finished or dropped at the next start")
    head_id = block_id(log, wire, good, good.last).hex() if len(good) else ""
    known = None if mark is None else mark.number - good.base
    return Findings(good, size, head_id, known, reason, is_loss, mended)
