"""The file `edits` of a data folder: the changes by hand of a chain made for tests, which its blocks don't hold.

A line is one edit with the id of the block that it belongs to, as JSON. It is synced before the edit is answered, so that no block that
depends on it is ever on the disk without it. What an interruption leaves of a last line is cut off. Lines of blocks that are not on the
chain any more do nothing.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from node.failures import FileError
from node.storage.disk import Disk, File
from state.chain.edits import Edit, read_edit, write_edit

EDITS_NAME = "edits"
EDITS_SIZE_MAX = 64 << 20  # bytes


class Line(Struct, frozen=True):
    """A line of the file."""

    block: str
    edit: msgspec.Raw


class EditLog:
    """The file of edits of a folder, which is made when there is a first one. Every method may raise OSError."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder, self._disk = folder, disk
        self._path = folder / EDITS_NAME
        self._file: File | None = None
        self.size = 0

    def read(self) -> list[tuple[bytes, Edit]]:
        """Return all edits with the ids of their blocks, in order; a last line that isn't whole is cut off. Raises FileError."""
        if not self._disk.exists(self._path):
            return []
        file = self._opened()
        data = file.read(EDITS_SIZE_MAX, 0)
        self.size = data.rfind(b"\n") + 1
        if file.size() > self.size:
            file.truncate(self.size)
        return [self._read_line(number, line) for number, line in enumerate(data[: self.size].splitlines(), 1)]

    def append(self, block_id: bytes, edit: Edit) -> None:
        """Write an edit, and sync it."""
        line = msgspec.json.encode(Line(block_id.hex(), msgspec.Raw(write_edit(edit)))) + b"\n"
        if self.size + len(line) > EDITS_SIZE_MAX:
            raise OSError(0, f"the file would hold more than {EDITS_SIZE_MAX} bytes", str(self._path))
        is_new = self._file is None
        file = self._opened()
        file.write(line, self.size)
        file.sync()
        if is_new:
            self._disk.sync_folder(self._folder)
        self.size += len(line)

    def cut(self, size: int) -> None:
        """Forget the edits after a size of the file, and sync that."""
        if self._file is not None and size < self.size:
            self._file.truncate(size)
            self._file.sync()
            self.size = size

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> File:
        if self._file is None:
            self._file = self._disk.open(self._path, create=True)
        return self._file

    def _read_line(self, number: int, data: bytes) -> tuple[bytes, Edit]:
        try:
            line = msgspec.json.decode(data, type=Line)
            return bytes.fromhex(line.block), read_edit(bytes(line.edit))
        except (msgspec.MsgspecError, ValueError) as error:
            what = f"line {number} can't be read ({error})"
            raise FileError(f"{self._path}: {what}; put a good copy in its place, or use another folder") from None
