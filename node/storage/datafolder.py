"""The folder in which a node keeps its chain: its lock, the mark of the chain that it belongs to, and the block log.

It must not know how the state follows from the blocks.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from node.runtime.errors import DiskError, FileError, NodeError
from node.storage.blockfile import SYSTEM
from node.storage.blocklog import BlockLog
from node.storage.disk import Disk, File, written_whole
from node.storage.edit_log import EditLog
from node.storage.spec_copy import decisive, difference, digest_of, keep_spec, read_kept
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire

CHAIN_NAME, LOCK_NAME = "chain.json", "lock"
CHAIN_SIZE_MAX = 4096  # bytes
PROCESS_ID_SIZE_MAX = 20  # bytes
MarkT = TypeVar("MarkT", bound="ChainMark")
UNKNOWN = "which ones isn't known: an older version of coind has made the folder"
# Folders of version 2 keep checksums and a mark of their blocks.
VERSION = 2


class ChainMark(Struct, frozen=True):
    """The chain that a folder belongs to, as its file `chain.json` has it. `check` is over the other fields, so that damage is seen."""

    name: str
    chain_id: str
    genesis: str  # the SHA-256 of all fields of the spec that decide what blocks do to the state
    version: int = 1
    check: str = ""


class FolderMark(ChainMark, frozen=True):
    """The mark of a folder's chain. `edits` is the tag of its file of edits by hand, empty as long as there has been none."""

    edits: str = ""


class DataFolder:
    """A data folder, locked against other nodes until it is closed. Raises NodeError.

    `is_verified`: a node has checked the blocks in it, so that a restart may trust them. It is false for a block log that a user
    has put into an empty folder; the first start then checks everything, and marks the folder (`adopt`).
    """

    def __init__(self, path: Path, spec: ChainSpec, wire: Wire, disk: Disk = SYSTEM) -> None:
        self.path = path
        self._mark = FolderMark(**asdict(mark_of(spec)))
        self._disk = disk
        try:
            make_folder(disk, path)
            self._lock = lock(disk, path)
            with closed_on_failure(self._lock):
                found = read_chain(disk, path)
                if found is not None:
                    require_chain(path, found, spec, disk)
                    self._mark = checked(replace(self._mark, edits=found.edits))
                keep_spec(disk, path, spec)
                self.is_verified = found is not None
                self._is_adopted = found is not None and found.version == VERSION
                self.edits = EditLog(path, disk, self._mark.edits, self._record_edits)
                self.edits.read()
                self.log = BlockLog(path, wire, disk, is_marked=self._is_adopted)
                with closed_on_failure(self.log):
                    if not len(self.log):
                        self.adopt()
        except (NotADirectoryError, FileExistsError):
            raise NodeError(f"{path}: a file is where the data folder should be; name another folder with --data") from None
        except OSError as error:
            raise DiskError(unusable(error, path)) from None

    def adopt(self) -> None:
        """Note that the blocks in the folder belong to this chain and have been checked.

        The file is replaced in one step, after everything that it vouches for is on the disk: a half-written mark would shut the node
        out of its own folder.
        """
        if not self._is_adopted:
            self.log.adopt()
            self._write_mark()
            self.is_verified = self._is_adopted = True

    def disown(self) -> None:
        """Take the mark away from a folder without blocks: another chain, or the same one with another genesis, may begin in it."""
        if self._is_adopted and not len(self.log):
            self._disk.remove(self.path / CHAIN_NAME)
            self._is_adopted = False

    def _record_edits(self, tag: str) -> None:
        """Note that the folder has a file of edits, so that it is missed when it is gone."""
        self._mark = checked(replace(self._mark, edits=tag))
        self._write_mark()

    def _write_mark(self) -> None:
        content = {key: value for key, value in asdict(self._mark).items() if key != "edits" or value}
        with written_whole(self._disk, self.path / CHAIN_NAME) as file:
            file.write(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n", 0)

    def close(self) -> None:
        """Sync and close the block log, and release the lock. Raises DiskError when the disk doesn't take it."""
        try:
            self.log.close()
        except OSError as error:
            raise DiskError(f"{self.log.path}: {error.strerror}; the last blocks may not survive a loss of power") from None
        finally:
            self.edits.close()
            self._lock.close()


def make_folder(disk: Disk, path: Path) -> None:
    """Make a folder, with those above it, unless it is there; its name is synced."""
    if not disk.exists(path):
        disk.make_folder(path)
        disk.sync_folder(path.parent)


def unusable(error: OSError, path: Path) -> str:
    """Return why a folder can't be used, and what to do."""
    return f"{error.filename or path}: {error.strerror}; the data folder must be a folder that this user can write to, of regular files"


def read_chain(disk: Disk, folder: Path) -> FolderMark | None:
    """Return what a folder's `chain.json` says, None if it has none; raises FileError for a damaged one."""
    path = folder / CHAIN_NAME
    if not disk.exists(path):
        return None
    file = disk.open_to_read(path)
    try:
        data = file.read(CHAIN_SIZE_MAX, 0)
    finally:
        file.close()
    advice = "put a good copy in its place, or remove it: then the next start checks all blocks"
    try:
        found = msgspec.json.decode(data, type=FolderMark)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: damaged: {error}; {advice}") from None
    if found.version not in (1, VERSION):
        raise FileError(f"{path}: version {found.version} of the folder is not known; use the version of coind that has made it")
    if found.version == VERSION and found != checked(found):
        raise FileError(f"{path}: damaged: the check doesn't fit; {advice}")
    return found


def require_chain(folder: Path, found: ChainMark, spec: ChainSpec, disk: Disk = SYSTEM) -> None:
    """Raise NodeError for a folder that is another chain's, or this one's with another genesis or other constants; it names those."""
    ours = mark_of(spec)
    if found.chain_id != ours.chain_id:
        held, wanted = f"{found.name} ({found.chain_id})", f"{ours.name} ({ours.chain_id})"
        raise NodeError(f"{folder} holds the chain {held}, not {wanted}; use another folder, or the other chain's spec")
    if found.genesis != ours.genesis:
        what = f"{folder} holds the chain {found.name} with another genesis or other constants than {ours.name} has now"
        differs = difference(read_kept(disk, folder), found.genesis, spec) or UNKNOWN
        raise NodeError(f"{what} ({differs}). Start with the spec, --witnesses and --accounts as they were, or give --data a fresh folder")


def mark_of(spec: ChainSpec) -> ChainMark:
    """Return the mark of a chain: its name and id, and the digest of everything that decides what blocks do to its state."""
    return checked(ChainMark(name=spec.name, chain_id=spec.chain_id.hex(), genesis=digest_of(decisive(spec)), version=VERSION))


def checked(mark: MarkT) -> MarkT:
    """Return a mark with its check. An empty tag is left out: folders without edits are as they were before there were any."""
    content = {key: value for key, value in asdict(replace(mark, check="")).items() if key != "edits" or value}
    return replace(mark, check=hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16])


def lock(disk: Disk, folder: Path) -> File:
    """Lock a folder; raises NodeError when another process has the lock.

    The lock is the system's, on an open file: it ends with the process, however that ends, and never has to be cleaned up. The
    process id in the file is for the message only. The block log has a lock of its own, since anyone may remove this file.
    """
    file = disk.open(folder / LOCK_NAME, create=True)
    with closed_on_failure(file):
        if not file.lock():
            owner = file.read(PROCESS_ID_SIZE_MAX, 0).strip()  # there is none for a moment after the lock
            which = f" (process {owner.decode()})" if owner.isdigit() else ""
            raise NodeError(f"{folder} is in use by another node{which}; stop that one, or use another folder")
        file.truncate(0)
        file.write(b"%d\n" % os.getpid(), 0)
    return file


@contextmanager
def closed_on_failure(opened: File | BlockLog) -> Iterator[None]:
    """Close a file or a log when the block raises."""
    try:
        yield
    except BaseException:
        opened.close()
        raise
