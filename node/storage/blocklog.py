"""A block log on disk, in the reference's format, that always holds the chain's main branch up to its head.

The reference writes irreversible blocks only. Here the reversible ones are in it as well, so that a restart comes back to the same
head; a fork switch cuts them off again. A block is handed to the operating system when `append` returns, so that it survives the end of
the process; `sync` makes it survive a loss of power. Beside the log are its index, a checksum of each frame, and the mark of the last
sync, so that a start finds whatever is missing or differs. It must not know any rule. Source: wire-format.md §7.
"""

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
from node.storage.switch_journal import InterruptedSwitch, SwitchRecord, drop_switch, read_switch, write_switch
from node.storage.sync_marks import SyncMark, newest_mark, write_mark
from state.protocol.transaction import OFFSET, ZERO_ID, SignedBlock, Wire, frame

LOG_NAME, INDEX_NAME, SUMS_NAME, MARK_NAME, SWITCH_NAME = (f"block_log{end}" for end in ("", ".index", ".sums", ".head", ".switch"))
SUM_SIZE = 4


class LogTip(Struct, frozen=True):
    """The last block of a log: its number and id, where its frame ends, and the digest of all checksums up to its own."""

    number: int = 0
    id: bytes = ZERO_ID
    end: int = 0
    sums: SumsDigest = field(default_factory=SumsDigest)


class BlockLog:
    """The files of a folder that hold blocks; locked against other processes until they are closed.

    `notes` says what opening them has mended, in sentences for the node's log; `torn` is the number of bytes that it has cut off.
    A log that no node of this version has written has no mark: once its blocks have been checked, `adopt` makes one. With `is_marked`
    there must be one. Raises FileError where blocks are missing or differ, NodeError when another process has the lock, and OSError.
    """

    def __init__(self, folder: Path, wire: Wire, disk: Disk = SYSTEM, *, is_marked: bool = False) -> None:
        self.path = folder / LOG_NAME
        self.notes: list[str] = []
        self.torn = 0
        self._folder, self._wire, self._disk = folder, wire, disk
        self._head = LogTip()
        self._starts, self._sums = array("Q"), array("I")
        self._mark: SyncMark | None = None
        self._sums_file: File | None = None
        self._mark_file: File | None = None
        # Held by whoever writes a mark, which a thread may do while blocks are appended.
        self._marking = Lock()
        # Set during a sync or a fork switch, and for good when that fails: what the disk holds isn't known then.
        self._may_differ_from_disk = False
        # Where the blocks were written to when the log's name was gone.
        self._rescued: Path | None = None
        self._files: list[File] = []
        try:
            self._require_log()
            self._log = self._opened(LOG_NAME)
            if not self._log.lock():
                raise NodeError(f"{self.path} is in use by another node; stop that one, or use another folder")
            if self._log.read(len(ZERO_ID), 0).strip(b"\0"):
                # Block 1 begins with the id of no block.
                raise FileError(f"{self.path} is no block log; put a good copy in its place, or use another folder")
            self._index = self._opened(INDEX_NAME)
            self._open(is_marked=is_marked)
        except BaseException:
            self._close_files()
            raise

    def __len__(self) -> int:
        """The number of blocks, which is that of the last one."""
        return self._head.number

    @property
    def head(self) -> LogTip:
        """The last block."""
        return self._head

    @property
    def is_marked(self) -> bool:
        """Whether the folder has a mark of its blocks: none of them is missing, and not one bit differs."""
        return self._mark is not None

    @property
    def is_synced(self) -> bool:
        """Whether everything that was written survives a loss of power."""
        return self._has_mark_of(self._head)

    @property
    def size(self) -> int:
        """The number of bytes in the log, without the other files."""
        return self._head.end

    # -------------------------------------------------------------- writing

    def append(self, block: SignedBlock) -> None:
        """Add the block that follows the last one. Raises OSError, and then the files are as before."""
        head = self._head
        assert block.number == head.number + 1, f"block {block.number} doesn't follow {head.number}"
        self.require_in_place()
        data = frame(self._wire.pack_block(block), head.end)
        checksum = crc32(data)
        entry = checksum.to_bytes(SUM_SIZE, "little")
        try:
            self._log.write(data, head.end)
            self._index.write(OFFSET.pack(head.end), head.number * OFFSET.size)
            # The checksum comes last: whenever the process ends, a block that has one is in the log.
            if self._sums_file is not None:
                self._sums_file.write(entry, head.number * SUM_SIZE)
        except OSError:
            with suppress(OSError):
                self._cut_files(head)
            raise
        self._starts.append(head.end)
        self._sums.append(checksum)
        # In one assignment, since `sync` reads it in another thread.
        self._head = LogTip(block.number, block.id, head.end + len(data), head.sums.after(entry))

    def switch(self, popped: Sequence[SignedBlock], applied: Sequence[SignedBlock]) -> None:
        """Replace the last blocks (`popped`, newest first) by others (oldest first) in one step.

        After an interruption or a failure the next start has all of the old blocks or all of the new ones. A switch is synced with
        every policy, since the blocks that it cuts off may have been. Raises OSError.
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
            end = self._starts[number]
            parts, at = [], end
            for block in applied:
                parts.append(frame(self._wire.pack_block(block), at))
                at += len(parts[-1])
            data = b"".join(parts)
            assert self._mark is not None
            kept = str(SumsDigest(self._sums[:number]))
            switch = SwitchRecord(serial=self._mark.serial, number=number, end=end, sums=kept, size=len(data), check=crc32(data))
            write_switch(self._disk, self._switch_path, switch, data)
            with self._recheck():
                self._make_switch(InterruptedSwitch(switch, data))
            drop_switch(self._disk, self._switch_path)

    def sync(self) -> int:
        """Wait until everything that was written is on the disk; returns the number of the last block in it. Raises OSError.

        It may run in a thread while blocks are appended: of those it promises nothing. After a failure it only fails again: the
        system may have dropped what it couldn't write, and would report the next sync as done.
        """
        with self._marking:
            head = self._head
            if not self._has_mark_of(head):
                with self._recheck():
                    self._log.sync()
                    if self._mark is not None:
                        self._write_sync_mark(head)
            return head.number

    def adopt(self) -> None:
        """Keep checksums and a mark from now on, for blocks that have been checked."""
        with self._marking:
            if self._mark is None:
                self._create_sync_marks(serial=1)

    def close(self) -> None:
        """Sync and close the files, and release the lock. After a failure that has left the log in doubt they are only closed."""
        try:
            if not self._may_differ_from_disk:
                self._close_cleanly()
        finally:
            self._close_files()

    def require_in_place(self) -> None:
        """Raise OSError when the log's name leads to another file or to none; its blocks are written to the folder again before."""
        if self._rescued is None and not self._log.is_at(self.path):
            self._rescued = self._rescue()
        if self._rescued is not None:
            what = f"{self.path} was removed or replaced while the node ran; its {len(self)} blocks are in {self._rescued} again"
            raise OSError(0, what if self._rescued == self.path else f"{what}, to be put in its place")

    # -------------------------------------------------------------- reading

    def reopen(self) -> None:
        """Open the log again, only to read it, in a copy of the process: the files of the process have the lock, which must not outlive it.

        Raises FileError when it is another file now, and OSError.
        """
        self._log = self._disk.open_to_read(self.path)
        last = self.packed(len(self))
        if last is not None and crc32(frame(last, self._starts[-1])) != self._sums[-1]:
            raise FileError(f"{self.path} was replaced")

    def packed(self, number: int) -> bytes | None:
        """Return the bytes of a block, or None if there is none of this number. Raises FileError when the file has been cut meanwhile."""
        head = self._head
        if not 1 <= number <= head.number:
            return None
        start = self._starts[number - 1]
        end = (self._starts[number] if number < head.number else head.end) - OFFSET.size
        packed = self._log.read(end - start, start)
        if len(packed) < end - start:
            # Others take what is left for a block that a client has sent, and tell that client what is wrong with it.
            raise FileError(f"{self.path}: block {number}, at byte {start}, is gone: another program has cut the file")
        return packed

    def blocks(self, first: int = 1) -> BlockFile:
        """Open the log to read its blocks from a number on, oldest first."""
        return BlockFile(self.path, self._wire, first, self._disk)

    # -------------------------------------------------------------- opening

    @property
    def _switch_path(self) -> Path:
        return self._folder / SWITCH_NAME

    def _opened(self, name: str) -> File:
        """Open a file of the folder, which is made if it isn't there, and close it with the others."""
        file = self._disk.open(self._folder / name, create=True)
        self._files.append(file)
        return file

    def _require_log(self) -> None:
        """Raise FileError when the log isn't there and the folder knows of blocks, before an empty one is made."""
        if self._disk.exists(self.path):
            return
        mark = newest_mark(read_whole(self._disk, self._folder / MARK_NAME))
        if mark is not None and mark.number:
            raise FileError(f"{self.path} is missing: the folder knows of {mark.number} blocks; put it back, or use another folder")

    def _open(self, *, is_marked: bool) -> None:
        """Find the good blocks, cut off what an interruption has left after them, and make the other files agree."""
        disk, folder = self._disk, self._folder
        if disk.exists(folder / MARK_NAME):
            self._mark_file = self._opened(MARK_NAME)
            self._mark = newest_mark(self._mark_file.read(self._mark_file.size(), 0))
        kept = array("I")
        if disk.exists(folder / SUMS_NAME):
            self._sums_file = self._opened(SUMS_NAME)
            kept = entries(self._sums_file.read(self._sums_file.size(), 0), "I")
        mark = self._mark
        if self._finish_switch(kept):
            mark = self._mark
        is_strict = mark is None or mark.is_closed or mark.boot in ("", disk.boot())
        if mark is not None:
            layout = lay_out_known(self._log, self._wire, self.path, mark, kept, is_strict=is_strict)
        else:
            layout = lay_out_unknown(self._log, self._wire, self.path)
            if is_marked and (not len(layout) or layout.sums != kept):
                raise Damaged(folder / MARK_NAME, "is missing or damaged", len(layout), layout.end)
        size = self._log.size()
        if layout.end < size:
            self._cut_off(layout, size, is_copied=not is_strict)
        self._adopt_layout(layout)
        self._write_index()
        if mark is not None or kept == layout.sums:
            # A new mark says that this start, in this boot, has found everything up to there.
            self._create_sync_marks(serial=1 if mark is None else mark.serial + 1)

    def _adopt_layout(self, layout: Layout) -> None:
        self._starts, self._sums = layout.starts, layout.sums
        last = block_id(self._log, self._wire, layout, len(layout)) if len(layout) else ZERO_ID
        self._head = LogTip(len(layout), last, layout.end, SumsDigest(layout.sums))

    def _cut_off(self, layout: Layout, size: int, *, is_copied: bool) -> None:
        """Cut off what follows the good blocks. After a loss of power that may be more than one block, and a copy is kept."""
        self.torn = size - layout.end
        what = f"{self.path}: {self.torn} bytes after block {len(layout)} were not whole, and are cut off"
        if is_copied:
            copy = copy_of(self._disk, self._log, layout.end, self._folder, f"{LOG_NAME}.unsynced")
            what += f"; a copy is in {copy.name}"
        self.notes.append(what)
        self._log.truncate(layout.end)

    def _write_index(self) -> None:
        """Write the index anew where it doesn't agree with the log; a damaged one is never believed."""
        data = packed_entries(self._starts)
        found = self._index.read(self._index.size(), 0)
        if found != data:
            # An interruption only leaves it shorter or longer.
            if not (data.startswith(found) or found.startswith(data)):
                self.notes.append(f"{self._folder / INDEX_NAME} didn't agree with the log, and is made anew")
            self._index.truncate(0)
            self._index.write(data, 0)

    def _create_sync_marks(self, serial: int) -> None:
        """Write checksums and mark of what the log holds, where they differ, and sync everything with its name."""
        self._sums_file = self._sums_file or self._opened(SUMS_NAME)
        self._mark_file = self._mark_file or self._opened(MARK_NAME)
        data = packed_entries(self._sums)
        if self._sums_file.size() != len(data) or self._sums_file.read(len(data), 0) != data:
            # Written over and not cut first: the process may end in between, and the start then needs what was right already.
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

    def _finish_switch(self, kept: "array[int]") -> bool:
        """Finish a fork switch that was interrupted; returns whether there was one. `kept`, the checksums, are replaced with it."""
        path, mark = self._switch_path, self._mark
        if not self._disk.exists(path):
            return False
        found = read_switch(self._disk, path)
        # Of a file that isn't whole nothing was done yet; of one that is older than the mark everything but its removal.
        if found is None or mark is None or mark.serial > found.switch.serial:
            # After a kill the mark may not be on the disk yet. Should it get lost, the switch would have to be made again.
            for file in (self._log, self._mark_file):
                if file is not None:
                    file.sync()
            drop_switch(self._disk, path)
            return False
        switch = found.switch
        starts = walk_back(self._log, switch.end) if self._log.size() >= switch.end else None
        sums = array("I") if starts is None else frame_sums(self._log, starts, switch.end)
        if starts is None or len(starts) != switch.number or str(SumsDigest(sums)) != switch.sums:
            what = f"doesn't fit the first {switch.number} blocks of {LOG_NAME}; put a good copy in its place"
            raise FileError(f"{path}: {what}, or look at the log by `bin/coind blocks check {self._folder}`")
        self._starts, self._sums = starts, sums
        self._sums_file = self._sums_file or self._opened(SUMS_NAME)
        self._mark_file = self._mark_file or self._opened(MARK_NAME)
        self._make_switch(found)
        drop_switch(self._disk, path)
        kept[:] = self._sums
        self.notes.append(f"a change to another branch after block {switch.number} had been interrupted, and is finished")
        return True

    def _make_switch(self, pending: InterruptedSwitch) -> None:
        """Cut the log and write the other branch, then sync it and its mark."""
        switch = pending.switch
        del self._starts[switch.number :]
        del self._sums[switch.number :]
        self._cut_files(LogTip(switch.number, end=switch.end))
        self._log.write(pending.data, switch.end)
        end = switch.end + len(pending.data)
        added = walk_back(self._log, end, switch.end)
        assert added is not None
        self._starts.extend(added)
        self._sums.extend(frame_sums(self._log, added, end))
        self._index.write(packed_entries(added), switch.number * OFFSET.size)
        self._adopt_layout(Layout(self._starts, self._sums, end))
        assert self._sums_file is not None
        self._sums_file.write(packed_entries(self._sums[switch.number :]), switch.number * SUM_SIZE)
        self._log.sync()
        self._write_sync_mark(self._head)

    # -------------------------------------------------------------- private

    def _has_mark_of(self, head: LogTip) -> bool:
        return self._mark is not None and (self._mark.number, self._mark.sums) == (head.number, str(head.sums))

    @contextmanager
    def _recheck(self) -> Iterator[None]:
        """Leave the log in doubt unless the block comes to its end: then no mark may vouch for the log any more.

        A switch that was interrupted is finished at the next start, as long as no later mark is found; and a sync that has failed
        must not be tried again, since the system may have dropped what it couldn't write, and say that all is well.
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
                # A closed log has nothing that a loss of power could explain, so that nothing of it may be in doubt.
                self._index.sync()
                self._sums_file.sync()
                self._write_sync_mark(self._head, is_closed=True)

    def _cut_files(self, head: LogTip) -> None:
        """Cut the files back to a block, the checksums first, as they are written last."""
        if self._sums_file is not None:
            self._sums_file.truncate(head.number * SUM_SIZE)
        self._index.truncate(head.number * OFFSET.size)
        self._log.truncate(head.end)

    def _rescue(self) -> Path:
        """Write the files whose names are gone to the folder again, the log under another name where another file has its own."""
        disk, folder = self._disk, self._folder
        disk.make_folder(folder)
        where = self.path
        if disk.exists(where):
            return copy_of(disk, self._log, 0, folder, f"{LOG_NAME}.rescued")
        for file, name in ((self._log, LOG_NAME), (self._sums_file, SUMS_NAME), (self._mark_file, MARK_NAME)):
            if file is not None and not disk.exists(folder / name):
                copy_part(disk, file, 0, folder / name)
        return where

    def _close_files(self) -> None:
        for file in self._files:
            file.close()


def copy_of(disk: Disk, file: File, start: int, folder: Path, name: str) -> Path:
    """Copy an open file, from a place on, to the first free one of the names `name-1`, `name-2`, ...; returns its path."""
    number = 1
    while disk.exists(folder / f"{name}-{number}"):
        number += 1
    path = folder / f"{name}-{number}"
    copy_part(disk, file, start, path)
    return path
