"""A block log on disk, in the reference's format, that always holds the chain's main branch up to its head.

The reference writes irreversible blocks only. Here the reversible ones are in it as well, so that a restart comes back to the same
head; a fork switch cuts them off again. A block is handed to the operating system when `append` returns, so that it survives the end of
the process; `sync` makes it survive a loss of power. Beside the log are its index, a checksum of each frame, and the mark of the last
sync, so that a start finds whatever is missing or differs. It must not know any rule. Source: wire-format.md §7.
"""

from array import array
from contextlib import suppress
from pathlib import Path
from threading import Lock
from zlib import crc32

from msgspec import Struct

from node.failures import FileError, NodeError
from node.storage.blockfile import SYSTEM, BlockFile
from node.storage.disk import Disk, File
from node.storage.examine import Damaged, Layout, block_id, lay_out_known, lay_out_unknown
from node.storage.frames import CHUNK_SIZE, entries, frame_sums, packed_entries, walk_back
from node.storage.marks import Mark, read_mark, write_mark
from node.storage.switching import Pending, Switch, drop_switch, read_switch, write_switch
from state.protocol.transaction import OFFSET, ZERO_ID, SignedBlock, Wire, frame

LOG_NAME, INDEX_NAME, SUMS_NAME, MARK_NAME, SWITCH_NAME = (f"block_log{end}" for end in ("", ".index", ".sums", ".head", ".switch"))
SUM_SIZE = 4


class Head(Struct, frozen=True):
    """The last block of a log: its number and id, where its frame ends, and the CRC-32 of all checksums up to its own."""

    number: int = 0
    id: bytes = ZERO_ID
    end: int = 0
    sums: int = 0


class BlockLog:
    """The files of a folder that hold blocks; locked against other processes until they are closed.

    `notes` says what opening them has mended, in sentences for the node's log, `torn` how many bytes it has cut off. Raises FileError where
    blocks are missing or differ, NodeError when another process has the lock, and OSError. A log whose blocks a node of this version has
    not written has no mark; after they have been checked, `adopt` makes one. With `is_marked` there must be one.
    """

    def __init__(self, folder: Path, wire: Wire, disk: Disk = SYSTEM, *, is_marked: bool = False) -> None:
        self.path = folder / LOG_NAME
        self.notes: list[str] = []
        self.torn = 0
        self._folder, self._wire, self._disk = folder, wire, disk
        self._head = Head()
        self._starts, self._sums = array("Q"), array("I")
        self._mark: Mark | None = None
        self._sums_file: File | None = None
        self._mark_file: File | None = None
        # Held by whoever writes a mark, which a thread may do while blocks are appended.
        self._marking = Lock()
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
    def head(self) -> Head:
        """The last block."""
        return self._head

    @property
    def is_marked(self) -> bool:
        """Whether the folder knows its blocks, so that not one bit of them differs."""
        return self._mark is not None

    @property
    def is_synced(self) -> bool:
        """Whether everything that was written survives a loss of power."""
        return self._has_mark_of(self._head)

    def _has_mark_of(self, head: Head) -> bool:
        return self._mark is not None and (self._mark.number, self._mark.sums) == (head.number, head.sums)

    # -------------------------------------------------------------- writing

    @property
    def size(self) -> int:
        """The bytes in the log, without the index."""
        return self.head.end

    def append(self, block: SignedBlock) -> None:
        """Add the block that follows the last one; when this fails, the files are as before."""
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
        self._head = Head(block.number, block.id, head.end + len(data), crc32(entry, head.sums))

    def switch(self, popped: tuple[SignedBlock, ...], applied: tuple[SignedBlock, ...]) -> None:
        """Cut off the last blocks, newest first, and add others, as one step: an interruption leaves all of the old or of the new ones.

        It is synced in every case, since what it cuts off may have been. Where it fails, the old blocks come back at the next start, or
        the new ones.
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
            kept = crc32(packed_entries(self._sums[:number]))
            switch = Switch(serial=self._mark.serial, number=number, end=end, sums=kept, size=len(data), check=crc32(data))
            write_switch(self._disk, self._switch_path, switch, data)
            self._make_switch(Pending(switch, data))
            drop_switch(self._disk, self._switch_path)

    def sync(self) -> int:
        """Wait until everything that was written is on the disk; returns the number of the last block in it.

        It may run in a thread while blocks are appended: of those it promises nothing.
        """
        with self._marking:
            head = self._head
            if not self._has_mark_of(head):
                self._log.sync()
                if self._mark is not None:
                    self._write_mark(head)
            return head.number

    def adopt(self) -> None:
        """Keep checksums and a mark from now on, for blocks that have been checked."""
        with self._marking:
            if self._mark is None:
                self._make_marks(serial=1)

    def close(self) -> None:
        """Sync and close the files, and release the lock."""
        try:
            self.sync()
            with self._marking:
                if self._mark is not None and self._sums_file is not None:
                    # A closed log has nothing that a loss of power could explain, so that nothing of it may be in doubt.
                    self._index.sync()
                    self._sums_file.sync()
                    self._write_mark(self._head, is_closed=True)
        finally:
            self._close_files()

    def require_in_place(self) -> None:
        """Raise OSError when the files' names lead elsewhere by now; what the log holds is written to the folder again before."""
        if not self._log.is_at(self.path):
            where = self._rescue()
            what = f"{self.path} was removed or replaced while the node ran; its {len(self)} blocks are in {where} again"
            raise OSError(0, what if where == self.path else f"{what}, to be put in its place")

    # -------------------------------------------------------------- reading

    def packed(self, number: int) -> bytes | None:
        """Return the bytes of a block, or None if there is none of this number."""
        head = self._head
        if not 1 <= number <= head.number:
            return None
        start = self._starts[number - 1]
        end = (self._starts[number] if number < head.number else head.end) - OFFSET.size
        return self._log.read(end - start, start)

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
        path = self._folder / MARK_NAME
        if not self._disk.exists(path) or self._disk.exists(self.path):
            return
        file = self._disk.open_to_read(path)
        mark = read_mark(file)
        file.close()
        if mark is not None and mark.number:
            raise FileError(f"{self.path} is missing: the folder knows of {mark.number} blocks; put it back, or use another folder")

    def _open(self, *, is_marked: bool) -> None:
        """Find the good blocks, cut off what an interruption has left after them, and make the other files agree."""
        disk, folder = self._disk, self._folder
        if disk.exists(folder / MARK_NAME):
            self._mark_file = self._opened(MARK_NAME)
            self._mark = read_mark(self._mark_file)
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
        self._take(layout)
        self._write_index()
        if mark is not None or kept == layout.sums:
            # A new mark says that this start, in this boot, has found everything up to there.
            self._make_marks(serial=1 if mark is None else mark.serial + 1)

    def _take(self, layout: Layout) -> None:
        self._starts, self._sums = layout.starts, layout.sums
        last = block_id(self._log, self._wire, layout, len(layout)) if len(layout) else ZERO_ID
        self._head = Head(len(layout), last, layout.end, crc32(packed_entries(layout.sums)))

    def _cut_off(self, layout: Layout, size: int, *, is_copied: bool) -> None:
        """Cut off what is behind the good blocks. After a loss of power that may be more than one block, and a copy is kept."""
        self.torn = size - layout.end
        what = f"{self.path}: {self.torn} bytes after block {len(layout)} were not whole, and are cut off"
        if is_copied:
            copy = copy_of(self._disk, self._log, layout.end, self._folder, f"{LOG_NAME}.unsynced")
            what += f"; a copy is in {copy.name}"
        self.notes.append(what)
        self._log.truncate(layout.end)

    def _write_index(self) -> None:
        """Make the index say what the log says; a damaged one is never believed."""
        data = packed_entries(self._starts)
        found = self._index.read(self._index.size(), 0)
        if found != data:
            # An interruption only leaves it shorter or longer.
            if not (data.startswith(found) or found.startswith(data)):
                self.notes.append(f"{self._folder / INDEX_NAME} didn't agree with the log, and is made anew")
            self._index.truncate(0)
            self._index.write(data, 0)

    def _make_marks(self, serial: int) -> None:
        """Write checksums and mark of what the log holds, where they differ, and sync everything with its name."""
        self._sums_file = self._sums_file or self._opened(SUMS_NAME)
        self._mark_file = self._mark_file or self._opened(MARK_NAME)
        data = packed_entries(self._sums)
        if self._sums_file.size() != len(data) or self._sums_file.read(len(data), 0) != data:
            # What is right already must not be missing for a moment, in which this process may end.
            self._sums_file.write(data, 0)
            self._sums_file.truncate(len(data))
        for file in (self._log, self._index, self._sums_file):
            file.sync()
        self._write_mark(self._head, serial=serial)
        self._disk.sync_folder(self._folder)

    def _write_mark(self, head: Head, *, serial: int = 0, is_closed: bool = False) -> None:
        assert self._mark_file is not None
        mark = Mark(
            serial=serial or (self._mark.serial + 1 if self._mark is not None else 1),
            number=head.number,
            id=head.id.hex(),
            end=head.end,
            sums=head.sums,
            boot=self._disk.boot(),
            is_closed=is_closed,
        )
        write_mark(self._mark_file, mark)
        self._mark = mark

    # -------------------------------------------------------------- a fork switch

    def _finish_switch(self, kept: "array[int]") -> bool:
        """Make a fork switch that was interrupted; returns whether there was one. `kept` are the checksums, which change with it."""
        path, mark = self._switch_path, self._mark
        if not self._disk.exists(path):
            return False
        found = read_switch(self._disk, path)
        # A file that isn't whole was never followed; one before the mark was followed up to its end, but for its removal.
        if found is None or mark is None or mark.serial > found.switch.serial:
            # After a kill that mark may not be on the disk yet, and without it the switch would have to be made again.
            for file in (self._log, self._mark_file):
                if file is not None:
                    file.sync()
            drop_switch(self._disk, path)
            return False
        switch = found.switch
        starts = walk_back(self._log, switch.end) if self._log.size() >= switch.end else None
        sums = array("I") if starts is None else frame_sums(self._log, starts, switch.end)
        if starts is None or len(starts) != switch.number or crc32(packed_entries(sums)) != switch.sums:
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

    def _make_switch(self, pending: Pending) -> None:
        """Cut the log and write the other branch, then sync it and its mark."""
        switch = pending.switch
        del self._starts[switch.number :]
        del self._sums[switch.number :]
        self._cut_files(Head(switch.number, end=switch.end))
        self._log.write(pending.data, switch.end)
        end = switch.end + len(pending.data)
        added = walk_back(self._log, end, switch.end)
        assert added is not None
        self._starts.extend(added)
        self._sums.extend(frame_sums(self._log, added, end))
        self._index.write(packed_entries(added), switch.number * OFFSET.size)
        self._take(Layout(self._starts, self._sums, end))
        assert self._sums_file is not None
        self._sums_file.write(packed_entries(self._sums[switch.number :]), switch.number * SUM_SIZE)
        self._log.sync()
        self._write_mark(self._head)

    # -------------------------------------------------------------- private

    def _cut_files(self, head: Head) -> None:
        """Cut the files back to a block, the checksums first, as they are written last."""
        if self._sums_file is not None:
            self._sums_file.truncate(head.number * SUM_SIZE)
        self._index.truncate(head.number * OFFSET.size)
        self._log.truncate(head.end)

    def _rescue(self) -> Path:
        """Write the files whose names are gone to the folder again, and the log under another name where something has taken its own."""
        disk, folder = self._disk, self._folder
        disk.make_folder(folder)
        where = self.path
        if disk.exists(where):
            return copy_of(disk, self._log, 0, folder, f"{LOG_NAME}.rescued")
        for file, name in ((self._log, LOG_NAME), (self._sums_file, SUMS_NAME), (self._mark_file, MARK_NAME)):
            if file is not None and not disk.exists(folder / name):
                copy(disk, file, 0, folder / name)
        return where

    def _close_files(self) -> None:
        for file in self._files:
            file.close()


def copy_of(disk: Disk, file: File, start: int, folder: Path, name: str) -> Path:
    """Copy a file, from a place on, to a name of its own, synced; returns where it is."""
    number = 1
    while disk.exists(folder / f"{name}-{number}"):
        number += 1
    path = folder / f"{name}-{number}"
    copy(disk, file, start, path)
    return path


def copy(disk: Disk, file: File, start: int, path: Path) -> None:
    """Copy a file, from a place on, to a path, synced."""
    new = disk.open(path, create=True)
    try:
        for place in range(start, file.size(), CHUNK_SIZE):
            new.write(file.read(CHUNK_SIZE, place), place - start)
        new.sync()
    finally:
        new.close()
    disk.sync_folder(path.parent)
