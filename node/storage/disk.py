"""The disk as the node uses it: everything that `node/storage` and snapshots read and write goes through a `Disk`.

Tests put a simulated one in its place, which loses, tears and reorders what was not synced (docs/testing.md). Both promise
what POSIX promises: a write is seen by every reader at once; it survives a loss of power only
after `File.sync`; a file that was made, renamed or removed survives one only after `Disk.sync_folder` of its folder. Every method may
raise OSError.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

READ_SIZE = 1 << 20  # bytes
NEW = ".new"  # what the name of a file ends with while it is being written
BOOT_PATH = Path("/proc/sys/kernel/random/boot_id")


class Readable(Protocol):
    """An open file that is only read, at places in bytes, without a buffer."""

    def size(self) -> int:
        """Return the number of bytes in it."""

    def read(self, size: int, start: int) -> bytes:
        """Return `size` bytes from a place on, fewer where the file ends."""

    def close(self) -> None:
        """Close it, without syncing it."""


class File(Readable, Protocol):
    """An open file that can be written too."""

    def write(self, data: bytes, start: int) -> None:
        """Write all data at a place."""

    def truncate(self, size: int) -> None:
        """Cut it, or lengthen it by zeros, to a size."""

    def sync(self) -> None:
        """Return once everything written to it, and its size, survives a loss of power."""

    def lock(self) -> bool:
        """Lock it against other processes until it is closed; returns False when another one has it."""

    def is_at(self, path: Path) -> bool:
        """Return whether a name still leads to this very file: False once it was removed or another file has taken the name."""


class Disk(Protocol):
    """The operations on names: which files there are in a folder."""

    def open(self, path: Path, *, create: bool = False) -> File:
        """Open a regular file to read and write; with `create` it is made if it isn't there. Raises OSError for anything else."""

    def open_to_read(self, path: Path) -> File:
        """Open a regular file only to read it."""

    def exists(self, path: Path) -> bool:
        """Return whether there is a file or a folder of this name."""

    def names(self, folder: Path) -> list[str]:
        """Return the names in a folder, sorted."""

    def make_folder(self, path: Path) -> None:
        """Make a folder, with those above it, unless it is there."""

    def replace(self, old: Path, new: Path) -> None:
        """Give a file another name, in place of what had that name, in one step."""

    def remove(self, path: Path) -> None:
        """Remove a file."""

    def sync_folder(self, path: Path) -> None:
        """Return once the names in a folder survive a loss of power."""

    def free(self, path: Path) -> int:
        """Return the bytes that are free on the disk of a folder."""

    def boot(self) -> str:
        """Return what names the time since the machine was last started: while it is the same, no power has been lost.

        It is empty where the system has no such name.
        """


class SystemFile:
    """A file of the operating system."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def size(self) -> int:
        """See File."""
        return os.fstat(self.descriptor).st_size

    def read(self, size: int, start: int) -> bytes:
        """See File; the system may return only a part at a time, though nearly always it is all."""
        first = os.pread(self.descriptor, min(size, READ_SIZE), start)
        if not first or len(first) == size:
            return first
        return first + b"".join(self._parts(size - len(first), start + len(first)))

    def _parts(self, size: int, start: int) -> Iterator[bytes]:
        while size and (part := os.pread(self.descriptor, min(size, READ_SIZE), start)):
            yield part
            start, size = start + len(part), size - len(part)

    def write(self, data: bytes, start: int) -> None:
        """See File; the system may write only a part at a time."""
        view = memoryview(data)
        while view:
            written = os.pwrite(self.descriptor, view, start)
            view, start = view[written:], start + written

    def truncate(self, size: int) -> None:
        """See File."""
        os.ftruncate(self.descriptor, size)

    def sync(self) -> None:
        """See File."""
        os.fsync(self.descriptor)

    def lock(self) -> bool:
        """See File. The lock ends with the process, however that ends."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def is_at(self, path: Path) -> bool:
        """See File."""
        ours = os.fstat(self.descriptor)
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return False
        return (found.st_ino, found.st_dev) == (ours.st_ino, ours.st_dev)

    def close(self) -> None:
        """See File."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class SystemDisk:
    """The disk of this machine."""

    def open(self, path: Path, *, create: bool = False) -> SystemFile:
        """See Disk."""
        return opened(path, os.O_RDWR | (os.O_CREAT if create else 0))

    def open_to_read(self, path: Path) -> SystemFile:
        """See Disk."""
        return opened(path, os.O_RDONLY)

    def exists(self, path: Path) -> bool:
        """See Disk."""
        return path.exists()

    def names(self, folder: Path) -> list[str]:
        """See Disk."""
        return sorted(os.listdir(folder))

    def make_folder(self, path: Path) -> None:
        """See Disk."""
        path.mkdir(parents=True, exist_ok=True)

    def replace(self, old: Path, new: Path) -> None:
        """See Disk."""
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        """See Disk."""
        os.unlink(path)

    def sync_folder(self, path: Path) -> None:
        """See Disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def free(self, path: Path) -> int:
        """See Disk."""
        found = os.statvfs(path)
        return found.f_bavail * found.f_frsize

    def boot(self) -> str:
        """See Disk."""
        try:
            return BOOT_PATH.read_text("ascii").strip()
        except OSError:
            return ""


def read_whole(disk: Disk, path: Path) -> bytes:
    """Return all bytes of a file, none where there is no such file."""
    if not disk.exists(path):
        return b""
    file = disk.open_to_read(path)
    try:
        return file.read(file.size(), 0)
    finally:
        file.close()


@contextmanager
def written_whole(disk: Disk, path: Path) -> Iterator[File]:
    """Open an empty file to write; when the block is left, it is synced and takes the name `path` in one step.

    It has another name before, so that a reader finds the old file or the whole new one, whatever interrupts the writing.
    When the block raises, the file is removed.
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


def copy_part(disk: Disk, file: File, start: int, path: Path) -> None:
    """Copy an open file, from a place on, to a path; return once the copy survives a loss of power."""
    new = disk.open(path, create=True)
    try:
        for place in range(start, file.size(), READ_SIZE):
            new.write(file.read(READ_SIZE, place), place - start)
        new.sync()
    finally:
        new.close()
    disk.sync_folder(path.parent)


def opened(path: Path, flags: int) -> SystemFile:
    """Open a regular file; opening a pipe would wait for a writer, and a device has no end, so both are refused.

    Nothing is written through a symbolic link: whoever may write to the folder, but not to the file it leads to, could have made it.
    """
    if flags & os.O_RDWR:
        flags |= os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise OSError(errno.ELOOP, "is a symbolic link, and no regular file", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "is no regular file", str(path))
    return SystemFile(descriptor)
