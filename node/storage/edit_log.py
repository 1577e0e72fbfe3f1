"""Edit log: the file `edits` of a data folder, with the state edits of a dev chain, which are not in its blocks.

Each line is JSON: a state edit with the id of its block, or a record that the edits of a block are dropped. A line is synced before the
client gets the reply, so that no block on the disk lacks the edits it depends on. An incomplete last line is cut off. A line's checksum
covers all lines before it and the folder's `tag`, which detects changed lines and lines of other folders.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from zlib import crc32

import msgspec
from msgspec import Struct

from node.runtime.errors import FileError
from node.storage.disk import Disk, File, copy_part, read_whole
from state.chain.state_edits import StateEdit, read_edit, write_edit

EDITS_NAME = "edits"
EDITS_SIZE_MAX = 64 << 20  # bytes
NONE = msgspec.Raw(b"null")


class EditLine(Struct, frozen=True):
    """A line of the file: an edit of a block, or, with a null `edit`, a record that the block's earlier edits are dropped."""

    block: str
    edit: msgspec.Raw
    check: str


class EditRecord(Struct, frozen=True):
    """A parsed line: the block, the edit (None: edits dropped), the end of the line in the file in bytes, and the CRC-32 up to there."""

    block_id: bytes
    edit: StateEdit | None
    end: int
    check: int


class EditLog:
    """The edit log of a folder. The file is created with the first edit. Every method can raise OSError.

    `tag` identifies the edit log in `chain.json`: the block id of the first edit, or empty if there was none. `on_first` is called
    with the tag after the file is created, before the first line is written.
    """

    def __init__(self, folder: Path, disk: Disk, tag: str = "", on_first: Callable[[str], None] = lambda tag: None) -> None:
        self._folder, self._disk = folder, disk
        self._path = folder / EDITS_NAME
        self._file: File | None = None
        self._lines: list[EditRecord] = []
        self._tag, self._on_first = tag, on_first
        self._is_over: Callable[[], bool] = lambda: False
        self._failed: Callable[[OSError], None] | None = None

    def follow(self, is_over: Callable[[], bool], failed: Callable[[OSError], None]) -> None:
        """Stop writing once `is_over()` returns True, which means that writing blocks has failed. The edits on the disk must match the
        blocks there.

        From now on a failed write calls `failed` with the OSError instead of raising it.
        """
        self._is_over, self._failed = is_over, failed

    @property
    def size(self) -> int:
        """The size of the file in bytes, up to the end of its last complete line."""
        return self._lines[-1].end if self._lines else 0

    def read(self) -> dict[bytes, list[StateEdit]]:
        """Read the file, and return the edits by block id. Cut off an incomplete last line. Raises FileError."""
        self._lines = lines_in(self._folder, self._tag, self._disk)
        if self._disk.exists(self._path):
            file = self._opened()
            if file.size() > self.size:
                file.truncate(self.size)
        return self.edits()

    def edits(self) -> dict[bytes, list[StateEdit]]:
        """Return the edits keyed by block id, those of each block from oldest to newest."""
        found: dict[bytes, list[StateEdit]] = {}
        for line in self._lines:
            if line.edit is None:
                found.pop(line.block_id, None)
            else:
                found.setdefault(line.block_id, []).append(line.edit)
        return found

    def append(self, block_id: bytes, edit: StateEdit) -> None:
        """Write and sync an edit."""
        self._append([(block_id, edit)])

    def drop(self, block_ids: Iterable[bytes]) -> None:
        """Write and sync a record that the edits of these blocks are dropped."""
        found = self.edits()
        self._append([(block_id, None) for block_id in block_ids if block_id in found])

    def restore(self, edits: Mapping[bytes, Iterable[StateEdit]]) -> None:
        """Write and sync again the edits of blocks that return to the chain after they were dropped."""
        found = self.edits()
        self._append([(block_id, edit) for block_id, some in edits.items() if block_id not in found for edit in some])

    def cut(self, size: int) -> None:
        """Truncate the file to `size` bytes, and sync it."""
        if size < self.size:
            self._do(lambda: self._cut(size))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _do(self, work: Callable[[], None]) -> None:
        if self._is_over():
            return
        try:
            work()
        except OSError as error:
            if self._failed is None:
                raise
            self._failed(error)

    def _cut(self, size: int) -> None:
        file = self._opened()
        file.truncate(size)
        file.sync()
        while self.size > size:
            self._lines.pop()

    def _append(self, entries: list[tuple[bytes, StateEdit | None]]) -> None:
        if entries:
            self._do(lambda: self._write(entries))

    def _write(self, entries: list[tuple[bytes, StateEdit | None]]) -> None:
        is_new = self._file is None
        file = self._opened()
        if not self._tag:
            file.sync()
            self._disk.sync_folder(self._folder)
            tag = entries[0][0].hex()
            self._on_first(tag)
            self._tag = tag
        elif is_new:
            self._disk.sync_folder(self._folder)
        added: list[EditRecord] = []
        data, check = b"", self._lines[-1].check if self._lines else start_of(self._tag)
        for block_id, edit in entries:
            packed = b"null" if edit is None else write_edit(edit)
            check = check_of(check, block_id.hex(), packed)
            data += msgspec.json.encode(EditLine(block_id.hex(), msgspec.Raw(packed), f"{check:08x}")) + b"\n"
            added.append(EditRecord(block_id, edit, self.size + len(data), check))
        if self.size + len(data) > EDITS_SIZE_MAX:
            raise OSError(0, f"the file would hold more than {EDITS_SIZE_MAX} bytes", str(self._path))
        file.write(data, self.size)
        file.sync()
        self._lines += added

    def _opened(self) -> File:
        if self._file is None:
            self._file = self._disk.open(self._path, create=True)
        return self._file


class DamagedEdits(FileError):
    """Error for an edit log that is missing, or valid only up to byte `end`."""

    def __init__(self, path: Path, reason: str, end: int) -> None:
        repair = f"`bin/coind blocks repair {path.parent} --accept-loss` drops the damaged edits, if the blocks are valid without them"
        super().__init__(f"{path}: {reason}; put a good copy in its place, or use another folder; {repair}")
        self.reason, self.end = f"{path}: {reason}", end


def lines_in(folder: Path, tag: str, disk: Disk) -> list[EditRecord]:
    """Return the complete lines of a folder's edit log. Raises DamagedEdits. Read-only."""
    path = folder / EDITS_NAME
    if not disk.exists(path):
        if tag:
            raise DamagedEdits(path, "is missing, although this chain has state edits", 0)
        return []
    data = read_whole(disk, path)
    if len(data) > EDITS_SIZE_MAX:
        raise DamagedEdits(path, f"holds more than {EDITS_SIZE_MAX} bytes", 0)
    found: list[EditRecord] = []
    end, check = 0, start_of(tag)
    whole = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
    for number, text in enumerate(whole, 1):
        # An interrupted write can leave zeros for missing bytes, even before the end.
        if number == len(whole) and b"\0" in text:
            break
        end += len(text)
        try:
            line = msgspec.json.decode(text, type=EditLine)
            block_id = bytes.fromhex(line.block)
            edit = None if line.edit == NONE else read_edit(bytes(line.edit))
        except (msgspec.MsgspecError, ValueError) as error:
            raise DamagedEdits(path, f"line {number} can't be read ({error})", end - len(text)) from None
        check = check_of(check, line.block, bytes(line.edit))
        if line.check != f"{check:08x}":
            why = "or lines before it are missing, or the file belongs to another folder"
            raise DamagedEdits(path, f"line {number} is damaged: its check doesn't fit, {why}", end - len(text))
        found.append(EditRecord(block_id, edit, end, check))
    return found


def cut_damage(folder: Path, tag: str, disk: Disk) -> str:
    """Truncate a folder's edit log before its first damaged line, or create it if it is missing. A damaged file is copied first.

    Returns a description of the repair, empty if there was no damage.
    """
    try:
        lines_in(folder, tag, disk)
    except DamagedEdits as damaged:
        path, done = folder / EDITS_NAME, f"{damaged.reason}: the state edits from there on were dropped"
        is_there = disk.exists(path)
        with closing(disk.open(path, create=True)) as file:
            if is_there:
                names = disk.names(folder)
                number = next(number for number in range(len(names) + 1) if f"{EDITS_NAME}.damaged.{number}" not in names)
                copy = folder / f"{EDITS_NAME}.damaged.{number}"
                copy_part(disk, file, 0, copy)
                done += f"; the original file was copied to {copy}"
            file.truncate(damaged.end)
            file.sync()
        disk.sync_folder(folder)
        return done
    return ""


def start_of(tag: str) -> int:
    """Return the checksum from which that of the first line is computed."""
    return crc32(tag.encode())


def check_of(before: int, block: str, edit: bytes) -> int:
    """Return the checksum of a line, computed from the checksum `before` of the previous line."""
    return crc32(edit, crc32(block.encode(), before))
