"""A disk in memory for the tests of the node's storage. It can simulate a power loss, a kill of the process, a full disk, or a failure at
any operation. Every outcome depends only on a seed.

It has the methods of `node.storage.disk.Disk`, and gives only the guarantees that `node.storage.disk` documents. In a crash, a write that
`File.sync` has not covered can be kept, dropped, torn at any byte, kept in some of its sectors, or replaced by zeros, independently of the
order of writes. A change of names that `Disk.sync_folder` has not covered can be kept or dropped. Synced content is never damaged, not even
next to a torn write.
"""

import errno
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from node.storage.disk import SystemDisk

SECTOR_SIZE = 512
SIZE_MAX = 1 << 30  # bytes of the empty disk


class Stopped(BaseException):
    """Raised by the operation at which `stop_after` ends the process. It is a BaseException so that no error handler of the node catches
    it.
    """


class _Node:
    """A file: its current content, its content as of the last sync, and the changes since that sync."""

    def __init__(self, synced: bytes = b"") -> None:
        self.synced = bytearray(synced)
        self.data = bytearray(synced)
        self.changes: list[tuple[int, bytes | None]] = []  # a position and the bytes written there, or a size and None for a truncation
        self.owner: SimulatedFile | None = None  # the holder of the lock

    def change(self, place: int, data: bytes | None) -> None:
        self.changes.append((place, data))
        apply(self.data, place, data)

    def sync(self, count: int) -> None:
        """Make the first `count` changes durable."""
        for place, data in self.changes[:count]:
            apply(self.synced, place, data)
        del self.changes[:count]


class SimulatedFile:
    """An open file of a simulated disk, with the methods of `node.storage.disk.File`."""

    def __init__(self, disk: "SimulatedDisk", node: _Node, *, is_writable: bool) -> None:
        self._disk, self._node, self._is_writable = disk, node, is_writable

    def size(self) -> int:
        self._disk.require_power()
        return len(self._node.data)

    def read(self, size: int, start: int) -> bytes:
        self._disk.require_power()
        return bytes(self._node.data[start : start + size])

    def write(self, data: bytes, start: int) -> None:
        """Write data. If the disk fails or the process ends during the write, only part of the data may be written."""
        assert self._is_writable
        self._disk.writes += 1
        data = bytes(data)
        failure = self._disk.begin()
        if failure is not None:
            data = data[: self._disk.random.randrange(len(data) + 1)]
        if data:
            self._node.change(start, data)
        if failure is not None:
            raise failure

    def truncate(self, size: int) -> None:
        assert self._is_writable
        self._disk.begin_whole()
        self._node.change(size, None)

    def sync(self) -> None:
        self._disk.syncs += 1
        self._disk.begin_whole()
        covered = len(self._node.changes)
        if self._disk.during_sync is not None:
            self._disk.during_sync()
        self._node.sync(covered)

    def lock(self) -> bool:
        self._disk.require_power()
        if self._node.owner not in (None, self):
            return False
        self._node.owner = self
        return True

    def is_at(self, path: Path) -> bool:
        self._disk.require_power()
        return self._disk.nodes.get(path) is self._node

    def close(self) -> None:
        if self._node.owner is self:
            self._node.owner = None


class SimulatedDisk:
    """A simulated disk. Paths are plain keys: a folder is a set of names, and a file needs no parent folders above its own.

    `writes` and `syncs` count writes and syncs, and `operations` counts all operations that change the disk. `during_sync` is called during
    each file sync, to simulate other tasks. The sync covers only earlier writes.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nodes: dict[Path, _Node] = {}
        self.writes = self.syncs = self.operations = 0
        self.during_sync: Callable[[], None] | None = None
        self._folders: set[Path] = set()
        self._names: dict[Path, _Node] = {}  # the names that survive a loss of power
        # Changes of names since the last sync of their folder: a name and its file, or a name and the old name that replaces it (None:
        # removed).
        self._changes: list[tuple[Path, _Node | Path | None]] = []
        self._fails_at = self._stops_at = -1
        self._is_failing_once = False
        self._error = 0
        self._is_on = True
        self._boot = f"boot-{seed}-{self.random.getrandbits(64):016x}"

    # -------------------------------------------------------------- the disk's methods

    def open(self, path: Path, *, create: bool = False) -> SimulatedFile:
        self.require_power()
        self._require_no_folder(path)
        node = self.nodes.get(path)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
            self.begin_whole()
            node = _Node()
            self._change(path, node)
        return SimulatedFile(self, node, is_writable=True)

    def open_to_read(self, path: Path) -> SimulatedFile:
        self.require_power()
        self._require_no_folder(path)
        if path not in self.nodes:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        return SimulatedFile(self, self.nodes[path], is_writable=False)

    def exists(self, path: Path) -> bool:
        self.require_power()
        return path in self.nodes or path in self._folders

    def names(self, folder: Path) -> list[str]:
        self.require_power()
        if folder not in self._folders:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(folder))
        return sorted(path.name for path in {*self.nodes, *self._folders} if path.parent == folder and path != folder)

    def make_folder(self, path: Path) -> None:
        """Create a folder, which always survives a crash."""
        self.require_power()
        self._folders.update((path, *path.parents))

    def replace(self, old: Path, new: Path) -> None:
        self.begin_whole()
        if old not in self.nodes:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(old))
        self._change(new, old)

    def remove(self, path: Path) -> None:
        self.begin_whole()
        if path not in self.nodes:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        self._change(path, None)

    def sync_folder(self, path: Path) -> None:
        self.syncs += 1
        self.begin_whole()
        for name, target in self._changes:
            if name.parent == path:
                rename(self._names, name, target)
        self._changes = [change for change in self._changes if change[0].parent != path]

    def free(self, path: Path) -> int:
        self.require_power()
        return SIZE_MAX - sum(len(node.data) for node in self.nodes.values())

    def boot(self) -> str:
        return self._boot

    # -------------------------------------------------------------- faults

    def crash(self) -> "SimulatedDisk":
        """Return the disk after a power loss. This one then refuses all operations."""
        after = self._successor(self.random.getrandbits(64))
        # In two of three crashes, name changes survive in order: the first ones are kept, and the others are lost. In the third crash, each
        # change is kept or lost independently.
        some = self.random.randrange(len(self._changes) + 1)
        in_order = self.random.random() < 2 / 3
        names = dict(self._names)
        for place, (name, target) in enumerate(self._changes):
            if place < some if in_order else self.random.random() < 0.5:
                rename(names, name, target)
        # A file with two names remains a single file.
        survivors = {id(node): _Node(survived(node, self.random)) for node in names.values()}
        after.nodes = {path: survivors[id(node)] for path, node in names.items()}
        after._names = dict(after.nodes)
        return after

    def kill(self) -> "SimulatedDisk":
        """Return the disk after a kill of the process: all writes survive, no lock does. This one then refuses all operations."""
        after = self._successor(self.random.getrandbits(64))
        after._boot = self._boot
        twins: dict[int, _Node] = {}

        def twin(node: _Node) -> _Node:
            """Return a copy of a file. A file with several names is copied only once."""
            if id(node) not in twins:
                copy = twins[id(node)] = _Node(bytes(node.synced))
                copy.data, copy.changes = bytearray(node.data), list(node.changes)
            return twins[id(node)]

        after.nodes = {path: twin(node) for path, node in self.nodes.items()}
        after._names = {path: twin(node) for path, node in self._names.items()}
        after._changes = [(name, twin(target) if isinstance(target, _Node) else target) for name, target in self._changes]
        return after

    def fail_after(self, operations: int, error: int = errno.ENOSPC, *, is_once: bool = False) -> None:
        """Let the next `operations` changing operations succeed. Then make each further one fail with `error`, or only the first if
        `is_once`.

        A negative count ends the failures.
        """
        self._fails_at = self.operations + operations if operations >= 0 else -1
        self._is_failing_once = is_once
        self._error = error

    def set_boot(self, boot: str) -> None:
        """Set the boot id of the machine."""
        self._boot = boot

    def stop_after(self, operations: int) -> None:
        """Raise Stopped at the next changing operation after `operations` further ones. Then `crash` or `kill` returns the disk that
        survives.
        """
        self._stops_at = self.operations + operations

    # -------------------------------------------------------------- used by files

    @contextmanager
    def powered(self) -> Iterator[None]:
        """Make the disk readable again within the `with` block, to look at what a node that has ended reads from it."""
        was_on, self._is_on = self._is_on, True
        try:
            yield
        finally:
            self._is_on = was_on

    def require_power(self) -> None:
        """Raise OSError if `crash` or `kill` has ended this disk."""
        if not self._is_on:
            raise OSError(errno.EIO, "the power is off")

    @property
    def is_failing(self) -> bool:
        """Whether `fail_after` makes the current operation fail."""
        return 0 <= self._fails_at < self.operations and not (self._is_failing_once and self.operations > self._fails_at + 1)

    def begin(self) -> BaseException | None:
        """Count a changing operation. Return the exception that it must raise after doing part of its work, or None."""
        self.require_power()
        self.operations += 1
        if 0 <= self._stops_at < self.operations:
            if self.operations > self._stops_at + 1:
                raise Stopped  # a dead process would not have done what it does while unwinding
            return Stopped()
        if self.is_failing:
            return OSError(self._error, os.strerror(self._error))
        return None

    def begin_whole(self) -> None:
        """Count an atomic operation. Raises the exception if the process ends or the disk fails at this operation."""
        failure = self.begin()
        if failure is not None:
            raise failure

    # -------------------------------------------------------------- private

    def _successor(self, seed: int) -> "SimulatedDisk":
        self._is_on = False
        after = SimulatedDisk(seed)
        after._folders = set(self._folders)
        return after

    def _require_no_folder(self, path: Path) -> None:
        if path in self._folders:
            raise OSError(0, "is not a regular file", str(path))

    def _change(self, name: Path, target: _Node | Path | None) -> None:
        if name.parent not in self._folders:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(name))
        self._changes.append((name, target))
        rename(self.nodes, name, target)


def apply(data: bytearray, place: int, written: bytes | None) -> None:
    """Apply a change of a file's content: write `written` at a position or, if it is None, truncate the file there."""
    if written is None:
        del data[place:]
    size = place if written is None else place + len(written)
    data.extend(bytes(max(0, size - len(data))))
    if written is not None:
        data[place : place + len(written)] = written


def rename(names: dict[Path, _Node], name: Path, target: "_Node | Path | None") -> None:
    """Apply the creation, removal or renaming of a file. A rename whose old name no longer exists changes nothing."""
    if target is None:
        names.pop(name, None)
    elif isinstance(target, _Node):
        names[name] = target
    elif target in names:
        names[name] = names.pop(target)


def survived(node: _Node, dice: random.Random) -> bytes:
    """Return a file's content after a power loss: its last synced content plus a random part of the later changes."""
    data = bytearray(node.synced)
    if dice.random() < 0.2:
        return bytes(data)
    everything = dice.random() < 0.2
    for place, written in node.changes:
        kind = 0 if everything else dice.randrange(5)
        if written is None:
            if kind < 3:
                apply(data, place, None)
        elif kind == 0:
            apply(data, place, written)
        elif kind == 1:
            apply(data, place, written[: dice.randrange(len(written) + 1)])
        elif kind == 2:
            for start, part in sectors(place, written):
                if dice.random() < 0.5:
                    apply(data, start, part)
        elif kind == 3 and place + len(written) > len(data):
            data.extend(bytes(place + len(written) - len(data)))
    return bytes(data)


def sectors(place: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of a write, split at the boundaries of sectors. Each part comes with its position in the file."""
    at = 0
    while at < len(data):
        size = SECTOR_SIZE - (place + at) % SECTOR_SIZE
        yield place + at, data[at : at + size]
        at += size


class FailingDisk(SystemDisk):
    """A disk on which the n-th rename fails, as if the process were killed at that point."""

    def __init__(self, left: int) -> None:
        self.left = left

    def replace(self, old: Path, new: Path) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(28, "No space left on device")
        super().replace(old, new)
