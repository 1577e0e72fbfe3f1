"""Interface to the disk. `node/storage` and `node/snapshots` do all their file access through a `Disk`.

Tests use a simulated disk, which loses, tears and reorders unsynced writes (docs/testing.md). Both give the guarantees of POSIX: a write is
visible to every reader at once, and survives a power loss only after `File.sync`; creating, renaming or removing a file survives a power
loss only after `Disk.sync_folder` of its folder. Every method can raise OSError.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Protocol

READ_SIZE = 1 << 20  # bytes
NEW = ".new"  # suffix of a file that is being written
BOOT_PATH = Path("/proc/sys/kernel/random/boot_id")


class Readable(Protocol):
    """A file open for unbuffered reads at byte offsets."""

    def size(self) -> int:
        """Return the size of the file in bytes."""

    def read(self, size: int, start: int) -> bytes:
        """Return `size` bytes from offset `start` on, fewer at the end of the file."""

    def close(self) -> None:
        """Close the file without a sync."""


class File(Readable, Protocol):
    """A file open for reading and writing."""

    def write(self, data: bytes, start: int) -> None:
        """Write all data at offset `start`."""

    def truncate(self, size: int) -> None:
        """Truncate the file, or extend it with zeros, to `size` bytes."""

    def sync(self) -> None:
        """Wait until the file's content and size survive a power loss."""

    def lock(self) -> bool:
        """Lock the file against other processes until it is closed. Return False if another process has the lock."""

    def is_at(self, path: Path) -> bool:
        """Return whether a path still leads to this file. It doesn't after the file was removed or replaced."""


class Disk(Protocol):
    """Interface for operations on paths."""

    def open(self, path: Path, *, create: bool = False) -> File:
        """Open a regular file for reading and writing. With `create`, create a missing one. Raises OSError for other kinds of files."""

    def open_to_read(self, path: Path) -> File:
        """Open a regular file read-only."""

    def exists(self, path: Path) -> bool:
        """Return whether the path exists."""

    def names(self, folder: Path) -> list[str]:
        """Return the names of the files in a folder, sorted."""

    def make_folder(self, path: Path) -> None:
        """Create a folder and any missing parents."""

    def replace(self, old: Path, new: Path) -> None:
        """Rename a file atomically, replacing the file at `new`."""

    def remove(self, path: Path) -> None:
        """Remove a file."""

    def sync_folder(self, path: Path) -> None:
        """Wait until all created, renamed and removed files in a folder survive a power loss."""

    def free(self, path: Path) -> int:
        """Return the free bytes on the disk of a folder."""

    def boot(self) -> str:
        """Return the id of the machine's current boot, or an empty string if the system has none.

        The same id at two times means that there was no power loss in between.
        """


class SystemFile(File):
    """A file opened through the operating system."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def read(self, size: int, start: int) -> bytes:
        # The system can return only a part at a time, though it rarely does.
        first = os.pread(self.descriptor, min(size, READ_SIZE), start)
        if not first or len(first) == size:
            return first
        return first + b"".join(self._parts(size - len(first), start + len(first)))

    def _parts(self, size: int, start: int) -> Iterator[bytes]:
        while size and (part := os.pread(self.descriptor, min(size, READ_SIZE), start)):
            yield part
            start, size = start + len(part), size - len(part)

    def write(self, data: bytes, start: int) -> None:
        # The system can write only a part at a time.
        view = memoryview(data)
        while view:
            written = os.pwrite(self.descriptor, view, start)
            view, start = view[written:], start + written

    def truncate(self, size: int) -> None:
        os.ftruncate(self.descriptor, size)

    def sync(self) -> None:
        os.fsync(self.descriptor)

    def lock(self) -> bool:
        # The system releases the lock when the process ends, even after a kill.
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def is_at(self, path: Path) -> bool:
        ours = os.fstat(self.descriptor)
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return False
        return (found.st_ino, found.st_dev) == (ours.st_ino, ours.st_dev)

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class SystemDisk(Disk):
    """The disk of this machine."""

    def open(self, path: Path, *, create: bool = False) -> SystemFile:
        return opened(path, os.O_RDWR | (os.O_CREAT if create else 0))

    def open_to_read(self, path: Path) -> SystemFile:
        return opened(path, os.O_RDONLY)

    def exists(self, path: Path) -> bool:
        return path.exists()

    def names(self, folder: Path) -> list[str]:
        return sorted(os.listdir(folder))

    def make_folder(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def replace(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def sync_folder(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def free(self, path: Path) -> int:
        found = os.statvfs(path)
        return found.f_bavail * found.f_frsize

    def boot(self) -> str:
        try:
            return BOOT_PATH.read_text("ascii").strip()
        except OSError:
            return ""


def read_whole(disk: Disk, path: Path, size_max: int | None = None) -> bytes:
    """Return all bytes of a file, or its first `size_max` bytes. Return b"" if it doesn't exist."""
    if not disk.exists(path):
        return b""
    with closing(disk.open_to_read(path)) as file:
        return file.read(file.size() if size_max is None else size_max, 0)


@contextmanager
def written_whole(disk: Disk, path: Path) -> Iterator[File]:
    """Open an empty temporary file for writing. At the end of the `with` block it is synced and renamed to `path` atomically.

    A reader therefore finds either the old file or the complete new one, even after an interruption. If the block raises an exception, the
    temporary file is removed.
    """
    temporary = path.with_name(path.name + NEW)
    file = disk.open(temporary, create=True)
    try:
        try:
            file.truncate(0)
            yield file
            file.sync()
        finally:
            file.close()
    except BaseException:
        with suppress(OSError):
            disk.remove(temporary)
        raise
    disk.replace(temporary, path)
    disk.sync_folder(path.parent)


def copy_part(disk: Disk, file: Readable, start: int, path: Path) -> None:
    """Copy an open file, from byte `start` on, to a path, and sync the copy."""
    with closing(disk.open(path, create=True)) as new:
        write_part(file, start, new)
        new.sync()
    disk.sync_folder(path.parent)


def write_part(file: Readable, start: int, new: File) -> None:
    """Copy an open file, from byte `start` on, into the empty file `new`."""
    for position in range(start, file.size(), READ_SIZE):
        new.write(file.read(READ_SIZE, position), position - start)


def opened(path: Path, flags: int) -> SystemFile:
    """Open a regular file. Pipes and devices are refused, because opening a pipe would block, and a device has no end.

    Symbolic links are not followed for writing: a user with access to the folder, but not to the link's target, could have made one.
    """
    if flags & os.O_RDWR:
        flags |= os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise OSError(errno.ELOOP, "is a symbolic link, not a regular file", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "is not a regular file", str(path))
    return SystemFile(descriptor)
