"""A block log on disk, in the reference's format, that holds the chain's main branch up to its head.

The reference only writes irreversible blocks. This log also contains the reversible blocks, so that the chain has the same head after a
restart; a fork switch truncates them. When `append` returns, the operating system has the block, so it survives the end of the process.
`sync` makes it survive a power loss. Side files hold an index, a checksum of each frame, and the mark of the last sync, so that missing and
changed blocks are detected on startup. Source: wire-format.md §7.
"""

import os
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EIO
from pathlib import Path
from threading import Lock
from zlib import crc32

from msgspec import Struct, field

from node.runtime.errors import FileError, NodeError
from node.storage.blockfile import SYSTEM, BlockFile
from node.storage.damage import Damaged, Layout, block_id, lay_out_known, lay_out_unknown
from node.storage.disk import Disk, File, copy_part, read_whole
from node.storage.frames import SumsDigest, entries, frame_sums, packed_entries, walk_back
from node.storage.stored_blocks import StoredBlocks
from node.storage.switch_journal import InterruptedSwitch, SwitchRecord, drop_switch, read_switch, write_switch
from node.storage.sync_marks import SyncMark, newest_mark, write_mark
from state.protocol.transaction import OFFSET, SignedBlock, Wire, frame

LOG_NAME, INDEX_NAME, SUMS_NAME, MARK_NAME, SWITCH_NAME = (f"block_log{end}" for end in ("", ".index", ".sums", ".head", ".switch"))
SUM_SIZE = 4


class LogTip(Struct, frozen=True):
    """The last block of a log: number, id, end of its frame in bytes, and digest of the checksums of all frames including its own.

    In an empty log, number and id are those of the chain's base.
    """

    number: int
    id: bytes
    end: int = 0
    sums: SumsDigest = field(default_factory=SumsDigest)


class BlockLog(StoredBlocks):
    """The block log of a folder with its side files, locked against other processes until `close`.

    `notes` describes the repairs made on opening, as sentences for the node's log; `torn` is the number of bytes that were cut off. A log
    written by another program or an older version has no sync mark; `adopt` writes one after the caller has checked its blocks. With
    `is_marked`, a missing mark is an error. Raises FileError if blocks are missing or changed, NodeError if another process has the lock,
    and OSError.
    """

    def __init__(self, folder: Path, wire: Wire, disk: Disk = SYSTEM, *, is_marked: bool = False) -> None:
        self.path = folder / LOG_NAME
        self.notes: list[str] = []
        self.torn = 0
        self._folder, self._wire, self._disk = folder, wire, disk
        # The log begins with the block after the chain's base.
        self._base = wire.spec.base
        self._head = LogTip(self._base.number, self._base.block_id)
        self._starts, self._sums = array("Q"), array("I")
        self._mark: SyncMark | None = None
        self._sums_file: File | None = None
        self._mark_file: File | None = None
        # Held while a mark is written, possibly in a thread while blocks are appended.
        self._marking = Lock()
        # True during a sync or a fork switch. It stays true if that fails, because the content of the disk is then unknown.
        self._may_differ_from_disk = False
        # The path to which the blocks were written again after the log's file was removed or replaced.
        self._rescued: Path | None = None
        self._files: list[File] = []
        self._process = os.getpid()
        try:
            self._require_log()
            self._log = self._opened(LOG_NAME)
            if not self._log.lock():
                raise NodeError(f"{self.path} is in use by another node; stop that one, or use another folder")
            # The `previous` of the first block. After a power loss its last bytes can be zeros.
            if not self._base.block_id.startswith(self._log.read(len(self._base.block_id), 0).rstrip(b"\0")):
                raise FileError(f"{self.path} is not a block log; put a good copy in its place, or use another folder")
            self._index = self._opened(INDEX_NAME)
            self._open(is_marked=is_marked)
        except BaseException:
            self._close_files()
            raise

    def __len__(self) -> int:
        """The number of blocks."""
        return len(self._starts)

    @property
    def head(self) -> LogTip:
        """The last block."""
        return self._head

    @property
    def is_marked(self) -> bool:
        """Whether the folder has a sync mark, which proves that no block is missing or changed."""
        return self._mark is not None

    @property
    def is_synced(self) -> bool:
        """Whether all written blocks survive a power loss."""
        return self._has_mark_of(self._head)

    @property
    def size(self) -> int:
        """The size of the log in bytes, without the side files."""
        return self._head.end

    # -------------------------------------------------------------- writing

    def append(self, block: SignedBlock) -> None:
        """Append the next block. Raises OSError, in which case the files are unchanged."""
        head = self._head
        assert block.number == head.number + 1, f"block {block.number} doesn't follow {head.number}"
        self.require_in_place()
        data = frame(self._wire.pack_block(block), head.end)
        checksum = crc32(data)
        entry = checksum.to_bytes(SUM_SIZE, "little")
        try:
            self._log.write(data, head.end)
            self._index.write(OFFSET.pack(head.end), len(self) * OFFSET.size)
            # The checksum is written last: even if the process is killed, a block with a checksum is in the log.
            if self._sums_file is not None:
                self._sums_file.write(entry, len(self) * SUM_SIZE)
        except OSError:
            with suppress(OSError):
                self._cut_files(len(self), head.end)
            raise
        self._starts.append(head.end)
        self._sums.append(checksum)
        # One assignment, because `sync` reads it in another thread.
        self._head = LogTip(block.number, block.id, head.end + len(data), head.sums.after(entry))

    def switch(self, popped: Sequence[SignedBlock], applied: Sequence[SignedBlock]) -> None:
        """Replace the newest blocks (`popped`, newest first) with others (`applied`, oldest first) atomically.

        After an interruption or a failure the next start finds either all old blocks or all new ones. A switch is synced under
        every policy, because the removed blocks may have been synced. Raises OSError.
        """
        if not popped:
            for block in applied:
                self.append(block)
            return
        assert popped[0].number == self._head.number, f"block {popped[0].number} is not the last, {self._head.number} is"
        self.require_in_place()
        self.sync()
        with self._marking:
            number = popped[-1].number - 1
            kept = number - self._base.number
            end = self._starts[kept]
            parts, at = [], end
            for block in applied:
                parts.append(frame(self._wire.pack_block(block), at))
                at += len(parts[-1])
            data = b"".join(parts)
            assert self._mark is not None
            digest = str(SumsDigest(self._sums[:kept]))
            switch = SwitchRecord(serial=self._mark.serial, number=number, end=end, sums=digest, size=len(data), check=crc32(data))
            write_switch(self._disk, self._switch_path, switch, data)
            with self._failing_permanently():
                self._make_switch(InterruptedSwitch(switch, data))
            drop_switch(self._disk, self._switch_path)

    def sync(self) -> int:
        """Sync the log and write a sync mark. Return the number of the last synced block. Raises OSError.

        A thread can call it while blocks are appended; those blocks are not included. After a failure every further call fails, because the
        system may have dropped the unwritten data, and would report the next sync as successful.
        """
        with self._marking:
            head = self._head
            if not self._has_mark_of(head):
                with self._failing_permanently():
                    self._log.sync()
                    if self._mark is not None:
                        self._write_sync_mark(head)
            return head.number

    def adopt(self) -> None:
        """Start writing checksums and sync marks. The caller must have checked the blocks."""
        with self._marking:
            if self._mark is None:
                self._create_sync_marks(serial=1)

    def close(self) -> None:
        """Sync and close the files, and release the lock. After a failed sync or switch, only close them."""
        try:
            if not self._may_differ_from_disk:
                self._close_cleanly()
        finally:
            self._close_files()

    def require_in_place(self) -> None:
        """If the log's path no longer leads to the open file, write the blocks to the folder again and raise OSError."""
        if self._rescued is None and not self._log.is_at(self.path):
            self._rescued = self._restore_unlinked_files()
        if self._rescued is not None:
            what = f"{self.path} was removed or replaced while the node ran; its {len(self)} blocks are in {self._rescued} again"
            raise OSError(0, what if self._rescued == self.path else f"{what}, to be put in its place")

    # -------------------------------------------------------------- reading

    def reopen(self) -> None:
        """Reopen the log, read-only, in a forked child. The inherited file descriptors hold the parent's lock, which must not outlive the
        parent. The first read in a child calls this, too.

        Raises FileError if the path now leads to another file, and OSError.
        """
        self._log, self._process = self._disk.open_to_read(self.path), os.getpid()
        self.packed(self._head.number)

    def _place(self, number: int) -> tuple[int, int] | None:
        head, index = self._head, number - self._base.number - 1
        if index < 0 or number > head.number:
            return None
        return self._starts[index], (self._starts[index + 1] if number < head.number else head.end) - OFFSET.size

    def _is_unchanged(self, number: int, begin: int, data: bytes) -> bool:
        # The frame is not made, since that would copy the block.
        return crc32(OFFSET.pack(begin), crc32(data)) == self._sums[number - self._base.number - 1]

    def _read_at(self, begin: int, size: int) -> bytes:
        if self._process != os.getpid():
            self.reopen()
        return self._log.read(size, begin)

    def blocks(self, first: int = 0) -> BlockFile:
        """Open the log for reading from block `first` on, by default from its first one, oldest first."""
        return BlockFile(self.path, self._wire, first, self._disk)

    # -------------------------------------------------------------- opening

    @property
    def _switch_path(self) -> Path:
        return self._folder / SWITCH_NAME

    def _opened(self, name: str) -> File:
        """Open or create a file of the folder; `close` closes it."""
        file = self._disk.open(self._folder / name, create=True)
        self._files.append(file)
        return file

    def _require_log(self) -> None:
        """Raise FileError if the log is missing although its sync mark records blocks. Called before an empty log is created."""
        if self._disk.exists(self.path):
            return
        mark = newest_mark(read_whole(self._disk, self._folder / MARK_NAME))
        count = 0 if mark is None else mark.number - self._base.number
        if count > 0:
            raise FileError(f"{self.path} is missing: the folder's mark names {count} blocks; put it back, or use another folder")

    def _open(self, *, is_marked: bool) -> None:
        """Find the valid blocks, cut off the remains of an interrupted write, and make the side files consistent with the log."""
        disk, folder = self._disk, self._folder
        if disk.exists(folder / MARK_NAME):
            self._mark_file = self._opened(MARK_NAME)
            self._mark = newest_mark(self._mark_file.read(self._mark_file.size(), 0))
        stored_sums = array("I")
        if disk.exists(folder / SUMS_NAME):
            self._sums_file = self._opened(SUMS_NAME)
            stored_sums = entries(self._sums_file.read(self._sums_file.size(), 0), "I")
        mark = self._mark
        if self._finish_switch(stored_sums):
            mark = self._mark
        is_strict = mark is None or mark.is_closed or mark.boot in ("", disk.boot())
        if mark is not None:
            layout = lay_out_known(self._log, self._wire, self.path, mark, stored_sums, is_strict=is_strict)
        else:
            layout = lay_out_unknown(self._log, self._wire, self.path)
            if is_marked and (not len(layout) or layout.sums != stored_sums):
                raise Damaged(folder / MARK_NAME, "is missing or damaged", layout)
        size = self._log.size()
        if layout.end < size:
            self._cut_off(layout, size, is_copied=not is_strict)
        self._adopt_layout(layout)
        self._write_index()
        if mark is not None or stored_sums == layout.sums:
            # The new mark records that this start, in this boot, has verified everything up to it.
            self._create_sync_marks(serial=1 if mark is None else mark.serial + 1)

    def _adopt_layout(self, layout: Layout) -> None:
        self._starts, self._sums = layout.starts, layout.sums
        last = block_id(self._log, self._wire, layout, layout.last) if len(layout) else self._base.block_id
        self._head = LogTip(layout.last, last, layout.end, SumsDigest(layout.sums))

    def _cut_off(self, layout: Layout, size: int, *, is_copied: bool) -> None:
        """Cut off the bytes after the valid blocks. With `is_copied` these bytes are copied to a file first, since after a power loss they
        can contain several blocks.
        """
        self.torn = size - layout.end
        what = f"{self.path}: {self.torn} bytes after block {layout.last} were not whole, and are cut off"
        if is_copied:
            copy = copy_to_free_name(self._disk, self._log, layout.end, self._folder, f"{LOG_NAME}.unsynced")
            what += f"; a copy is in {copy.name}"
        self.notes.append(what)
        self._log.truncate(layout.end)

    def _write_index(self) -> None:
        """Rewrite the index if it is inconsistent with the log."""
        data = packed_entries(self._starts)
        found = self._index.read(self._index.size(), 0)
        if found != data:
            # An interruption leaves it shorter or longer, which is not reported.
            if not (data.startswith(found) or found.startswith(data)):
                self.notes.append(f"{self._folder / INDEX_NAME} didn't agree with the log, and was rebuilt")
            self._index.truncate(0)
            self._index.write(data, 0)

    def _create_sync_marks(self, serial: int) -> None:
        """Rewrite the file of checksums if it is wrong, write a sync mark, and sync all files and the folder."""
        self._sums_file = self._sums_file or self._opened(SUMS_NAME)
        self._mark_file = self._mark_file or self._opened(MARK_NAME)
        data = packed_entries(self._sums)
        if self._sums_file.size() != len(data) or self._sums_file.read(len(data), 0) != data:
            # Overwritten without truncating first: if the process ends in between, the next start needs the entries that were correct.
            self._sums_file.write(data, 0)
            self._sums_file.truncate(len(data))
        for file in (self._log, self._index, self._sums_file):
            file.sync()
        self._write_sync_mark(self._head, serial=serial)
        self._disk.sync_folder(self._folder)

    def _write_sync_mark(self, head: LogTip, *, serial: int = 0, is_closed: bool = False) -> None:
        assert self._mark_file is not None
        mark = SyncMark(
            serial=serial or (self._mark.serial + 1 if self._mark is not None else 1),
            number=head.number,
            id=head.id.hex(),
            end=head.end,
            sums=str(head.sums),
            boot=self._disk.boot(),
            is_closed=is_closed,
        )
        write_mark(self._mark_file, mark)
        self._mark = mark

    # -------------------------------------------------------------- a fork switch

    def _finish_switch(self, stored_sums: "array[int]") -> bool:
        """Finish a fork switch that was interrupted, and update the checksums `stored_sums` in place. Return whether there was one."""
        path, mark = self._switch_path, self._mark
        if not self._disk.exists(path):
            return False
        found = read_switch(self._disk, path)
        # If the file is incomplete, the switch had not started. If it is older than the mark, the switch was complete and only the file's
        # removal was missing.
        if found is None or mark is None or mark.serial > found.switch.serial:
            # After a kill the mark may not be synced. If it got lost, the switch would be needed again, so sync it first.
            for file in (self._log, self._mark_file):
                if file is not None:
                    file.sync()
            drop_switch(self._disk, path)
            return False
        switch = found.switch
        starts = walk_back(self._log, switch.end) if self._log.size() >= switch.end else None
        sums = array("I") if starts is None else frame_sums(self._log, starts, switch.end)
        if starts is None or self._base.number + len(starts) != switch.number or str(SumsDigest(sums)) != switch.sums:
            what = f"doesn't fit the first {switch.number - self._base.number} blocks of {LOG_NAME}; put a good copy in its place"
            raise FileError(f"{path}: {what}, or look at the log by `bin/coind blocks check {self._folder}`")
        self._starts, self._sums = starts, sums
        self._sums_file = self._sums_file or self._opened(SUMS_NAME)
        self._mark_file = self._mark_file or self._opened(MARK_NAME)
        self._make_switch(found)
        drop_switch(self._disk, path)
        stored_sums[:] = self._sums
        self.notes.append(f"an interrupted switch to another branch after block {switch.number} was finished")
        return True

    def _make_switch(self, pending: InterruptedSwitch) -> None:
        """Truncate the log, write the other branch, then sync it and write a sync mark."""
        switch = pending.switch
        kept = switch.number - self._base.number
        del self._starts[kept:]
        del self._sums[kept:]
        self._cut_files(kept, switch.end)
        self._log.write(pending.data, switch.end)
        end = switch.end + len(pending.data)
        added = walk_back(self._log, end, switch.end)
        assert added is not None
        self._starts.extend(added)
        self._sums.extend(frame_sums(self._log, added, end))
        self._index.write(packed_entries(added), kept * OFFSET.size)
        self._adopt_layout(Layout(self._starts, self._sums, end, self._base.number))
        assert self._sums_file is not None
        self._sums_file.write(packed_entries(self._sums[kept:]), kept * SUM_SIZE)
        self._log.sync()
        self._write_sync_mark(self._head)

    # -------------------------------------------------------------- private

    def _has_mark_of(self, head: LogTip) -> bool:
        return self._mark is not None and (self._mark.number, self._mark.sums) == (head.number, str(head.sums))

    @contextmanager
    def _failing_permanently(self) -> Iterator[None]:
        """Context manager for a sync or a fork switch. If it fails, the log writes no further sync mark, because the disk's content is
        unknown.

        The next start finishes an interrupted switch only if it finds no later mark. A failed sync must not be repeated, because the system
        may have dropped the unwritten data, and would report success.
        """
        if self._may_differ_from_disk:
            raise OSError(EIO, "an earlier sync or fork switch has failed", str(self.path))
        self._may_differ_from_disk = True
        yield
        self._may_differ_from_disk = False

    def _close_cleanly(self) -> None:
        self.sync()
        with self._marking:
            if self._mark is not None and self._sums_file is not None:
                # In a closed log every file is synced, so the next start treats any difference as damage, not as a power loss.
                self._index.sync()
                self._sums_file.sync()
                self._write_sync_mark(self._head, is_closed=True)

    def _cut_files(self, count: int, end: int) -> None:
        """Truncate the files after the first `count` blocks, which end at byte `end`. The checksums are truncated first, because `append`
        writes them last.
        """
        if self._sums_file is not None:
            self._sums_file.truncate(count * SUM_SIZE)
        self._index.truncate(count * OFFSET.size)
        self._log.truncate(end)

    def _restore_unlinked_files(self) -> Path:
        """Write removed files to the folder again, and return the log's path. The log gets a free name if another file has taken its
        name.
        """
        disk, folder = self._disk, self._folder
        disk.make_folder(folder)
        where = self.path
        if disk.exists(where):
            return copy_to_free_name(disk, self._log, 0, folder, f"{LOG_NAME}.rescued")
        for file, name in ((self._log, LOG_NAME), (self._sums_file, SUMS_NAME), (self._mark_file, MARK_NAME)):
            if file is not None and not disk.exists(folder / name):
                copy_part(disk, file, 0, folder / name)
        return where

    def _close_files(self) -> None:
        for file in self._files:
            file.close()


def copy_to_free_name(disk: Disk, file: File, start: int, folder: Path, name: str) -> Path:
    """Copy an open file, from byte `start` on, to the first unused name of `name-1`, `name-2` and so on. Return the path of the copy."""
    number = 1
    while disk.exists(folder / f"{name}-{number}"):
        number += 1
    path = folder / f"{name}-{number}"
    copy_part(disk, file, start, path)
    return path
