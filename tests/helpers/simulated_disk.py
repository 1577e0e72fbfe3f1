"""A disk in memory that can lose its power or its process at any operation, run full or fail, all from a seed: for what the node stores.

It has the methods of `node.storage.disk.Disk`, and keeps no more than that promises. What `File.sync` and `Disk.sync_folder` have not
covered is in doubt until `crash`: each write may then be kept, dropped, torn at any byte, kept in some of its sectors or be there as
zeros, later ones without earlier ones; each name may be the old or the new one. Only what was synced stays untouched, also beside it.
"""

import errno
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

SECTOR_SIZE = 512
SIZE_MAX = 1 << 30  # bytes; what `free` counts from


class Stopped(BaseException):
    """Ends the process at the operation of `stop_after`; error handlers must not catch it."""


class _Node:
    """The content of a file: now, at its last sync, and the changes since."""

    def __init__(self, synced: bytes = b"") -> None:
        self.synced = bytearray(synced)
        self.data = bytearray(synced)
        self.changes: list[tuple[int, bytes | None]] = []  # a place and what was written there, or a size and None: cut
        self.owner: SimulatedFile | None = None  # who has the lock

    def change(self, place: int, data: bytes | None) -> None:
        self.changes.append((place, data))
        apply(self.data, place, data)

    def sync(self, count: int) -> None:
        """Let the first changes survive."""
        for place, data in self.changes[:count]:
            apply(self.synced, place, data)
        del self.changes[:count]


class SimulatedFile:
    """An open file of a simulated disk; see `node.storage.disk.File`."""

    def __init__(self, disk: "SimulatedDisk", node: _Node, *, is_writable: bool) -> None:
        self._disk, self._node, self._is_writable = disk, node, is_writable

    def size(self) -> int:
        """See File."""
        self._disk.require_power()
        return len(self._node.data)

    def read(self, size: int, start: int) -> bytes:
        """See File."""
        self._disk.require_power()
        return bytes(self._node.data[start : start + size])

    def write(self, data: bytes, start: int) -> None:
        """See File. If the disk fails or the process ends, a part of the data can have been written."""
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
        """See File."""
        assert self._is_writable
        self._disk.begin_whole()
        self._node.change(size, None)

    def sync(self) -> None:
        """See File."""
        self._disk.syncs += 1
        self._disk.begin_whole()
        covered = len(self._node.changes)
        if self._disk.during_sync is not None:
            self._disk.during_sync()
        self._node.sync(covered)

    def lock(self) -> bool:
        """See File."""
        self._disk.require_power()
        if self._node.owner not in (None, self):
            return False
        self._node.owner = self
        return True

    def is_at(self, path: Path) -> bool:
        """See File."""
        self._disk.require_power()
        return self._disk.nodes.get(path) is self._node

    def close(self) -> None:
        """See File."""
        if self._node.owner is self:
            self._node.owner = None


class SimulatedDisk:
    """A disk whose paths are plain keys: a folder is a set of names, and no folder has to be above it.

    `writes` and `syncs` count operations, `operations` all that change something. `during_sync` is called in each sync of a file, which
    covers what was written before: what other tasks may do meanwhile.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nodes: dict[Path, _Node] = {}
        self.writes = self.syncs = self.operations = 0
        self.during_sync: Callable[[], None] | None = None
        self._folders: set[Path] = set()
        self._names: dict[Path, _Node] = {}  # the names that survive a loss of power
        # Changes of names since their folder was synced: a name and its file, or a name and the name that takes its place (None: removed).
        self._changes: list[tuple[Path, _Node | Path | None]] = []
        self._fails_at = self._stops_at = -1
        self._is_failing_once = False
        self._error = 0
        self._is_on = True
        self._boot = f"boot-{seed}-{self.random.getrandbits(64):016x}"

    # -------------------------------------------------------------- the disk's methods

    def open(self, path: Path, *, create: bool = False) -> SimulatedFile:
        """See Disk."""
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
        """See Disk."""
        self.require_power()
        self._require_no_folder(path)
        if path not in self.nodes:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        return SimulatedFile(self, self.nodes[path], is_writable=False)

    def exists(self, path: Path) -> bool:
        """See Disk."""
        self.require_power()
        return path in self.nodes or path in self._folders

    def names(self, folder: Path) -> list[str]:
        """See Disk."""
        self.require_power()
        if folder not in self._folders:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(folder))
        return sorted(path.name for path in {*self.nodes, *self._folders} if path.parent == folder and path != folder)

    def make_folder(self, path: Path) -> None:
        """See Disk; folders themselves always survive."""
        self.require_power()
        self._folders.update((path, *path.parents))

    def replace(self, old: Path, new: Path) -> None:
        """See Disk."""
        self.begin_whole()
        if old not in self.nodes:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(old))
        self._change(new, old)

    def remove(self, path: Path) -> None:
        """See Disk."""
        self.begin_whole()
        if path not in self.nodes:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        self._change(path, None)

    def sync_folder(self, path: Path) -> None:
        """See Disk."""
        self.syncs += 1
        self.begin_whole()
        for name, target in self._changes:
            if name.parent == path:
                rename(self._names, name, target)
        self._changes = [change for change in self._changes if change[0].parent != path]

    def free(self, path: Path) -> int:
        """See Disk."""
        self.require_power()
        return SIZE_MAX - sum(len(node.data) for node in self.nodes.values())

    def boot(self) -> str:
        """See Disk."""
        return self._boot

    # -------------------------------------------------------------- what can happen to it

    def crash(self) -> "SimulatedDisk":
        """Return the disk after a power loss; this one can't be used any more."""
        after = self._successor(self.random.getrandbits(64))
        # Two of three journals keep the order of names, so that a beginning of the changes survives; others keep any of them.
        some = self.random.randrange(len(self._changes) + 1)
        in_order = self.random.random() < 2 / 3
        names = dict(self._names)
        for place, (name, target) in enumerate(self._changes):
            if place < some if in_order else self.random.random() < 0.5:
                rename(names, name, target)
        # One node may have two names, and stays one.
        survivors = {id(node): _Node(survived(node, self.random)) for node in names.values()}
        after.nodes = {path: survivors[id(node)] for path, node in names.items()}
        after._names = dict(after.nodes)
        return after

    def kill(self) -> "SimulatedDisk":
        """Return the disk after a kill: all writes are there, locks are free. This one can't be used any more."""
        after = self._successor(self.random.getrandbits(64))
        after._boot = self._boot
        twins: dict[int, _Node] = {}

        def twin(node: _Node) -> _Node:
            """A copy of a node, the same one for each of its names."""
            if id(node) not in twins:
                copy = twins[id(node)] = _Node(bytes(node.synced))
                copy.data, copy.changes = bytearray(node.data), list(node.changes)
            return twins[id(node)]

        after.nodes = {path: twin(node) for path, node in self.nodes.items()}
        after._names = {path: twin(node) for path, node in self._names.items()}
        after._changes = [(name, twin(target) if isinstance(target, _Node) else target) for name, target in self._changes]
        return after

    def fail_after(self, operations: int, error: int = errno.ENOSPC, *, is_once: bool = False) -> None:
        """After `count` more changing operations, fail every one with an errno, or only the next one. A negative count ends failures."""
        self._fails_at = self.operations + operations if operations >= 0 else -1
        self._is_failing_once = is_once
        self._error = error

    def set_boot(self, boot: str) -> None:
        """Let it be the disk of a machine in the boot of that name."""
        self._boot = boot

    def stop_after(self, operations: int) -> None:
        """Raise Stopped after `count` more changing operations; then call `crash` or `kill`."""
        self._stops_at = self.operations + operations

    # -------------------------------------------------------------- for its files

    def require_power(self) -> None:
        """Raise OSError on a disk that has crashed or whose process was killed."""
        if not self._is_on:
            raise OSError(errno.EIO, "the power is off")

    @property
    def is_failing(self) -> bool:
        """Whether an operation that is done now fails by `fail_after`."""
        return 0 <= self._fails_at < self.operations and not (self._is_failing_once and self.operations > self._fails_at + 1)

    def begin(self) -> BaseException | None:
        """Count a changing operation; returns the error that it must raise after a part of its work, or None."""
        self.require_power()
        self.operations += 1
        if 0 <= self._stops_at < self.operations:
            if self.operations > self._stops_at + 1:
                raise Stopped  # what the process does while it unwinds leaves nothing: a dead one would not have done it
            return Stopped()
        if self.is_failing:
            return OSError(self._error, os.strerror(self._error))
        return None

    def begin_whole(self) -> None:
        """Count an atomic operation. Raises the error that ends or fails it."""
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
    """Truncate a file's content, or write at an offset."""
    if written is None:
        del data[place:]
    size = place if written is None else place + len(written)
    data.extend(bytes(max(0, size - len(data))))
    if written is not None:
        data[place : place + len(written)] = written


def rename(names: dict[Path, _Node], name: Path, target: "_Node | Path | None") -> None:
    """Make a change of names; one whose file is not there by that name (any more) changes nothing."""
    if target is None:
        names.pop(name, None)
    elif isinstance(target, _Node):
        names[name] = target
    elif target in names:
        names[name] = names.pop(target)


def survived(node: _Node, dice: random.Random) -> bytes:
    """Return a file's content after a power loss: the last synced content with any part of the later changes."""
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
    """Yield the parts of a write by sector, with their offsets."""
    at = 0
    while at < len(data):
        size = SECTOR_SIZE - (place + at) % SECTOR_SIZE
        yield place + at, data[at : at + size]
        at += size
