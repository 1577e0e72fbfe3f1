"""The data folder of a node: its lock, the block log, the edit log, and `chain.json`, which identifies the folder's chain."""

import hashlib
import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from node.runtime import former_chains
from node.runtime.errors import DiskError, FileError, NodeError
from node.storage.blockfile import SYSTEM
from node.storage.blocklog import LOG_NAME, BlockLog
from node.storage.disk import Disk, File, read_whole, write_part, written_whole
from node.storage.edit_log import EditLog
from node.storage.spec_copy import base_text, decisive, describe_base, difference, digest_of, read_copy, write_copy
from state.protocol.constants import MAIN_CHAIN_ID
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire

CHAIN_NAME, LOCK_NAME, FORK_NAME = "chain.json", "lock", "fork"
CHAIN_SIZE_MAX = 4096  # bytes
PROCESS_ID_SIZE_MAX = 20  # bytes
MarkT = TypeVar("MarkT", bound="ChainMark")
UNKNOWN = "which ones isn't known: an older version of coind has made the folder"
# Folders of version 2 have checksums and a mark of their blocks.
VERSION = 2


class ChainMark(Struct, frozen=True):
    """Identity of the chain that a folder belongs to, stored in `chain.json`. `check` is a checksum of the other fields, to detect
    damage.
    """

    name: str
    chain_id: str
    genesis: str  # the SHA-256 of all fields of the spec that affect the result of blocks
    version: int = 1
    check: str = ""


class FolderMark(ChainMark, frozen=True):
    """The contents of `chain.json` in a data folder. `edits` is the tag of the folder's edit log; it is empty until the first state
    edit.
    """

    edits: str = ""


class DataFolder:
    """A data folder, locked against other nodes until `close`. Raises NodeError.

    `is_verified` means that a node has checked the blocks, so a restart can trust them. It is false for a block log that a user has copied
    to an empty folder; the first start then checks all blocks, and records that (`adopt`). If the chain begins after a block of another
    chain (`spec.base`), the folder keeps a copy of the fork file `fork`.
    """

    def __init__(self, path: Path, spec: ChainSpec, wire: Wire, disk: Disk = SYSTEM, *, fork: Path | None = None) -> None:
        self.path = path
        self._mark = FolderMark(**asdict(mark_of(spec)))
        self._disk = disk
        try:
            make_folder(disk, path)
            with ExitStack() as opened:
                self._lock = lock(disk, path)
                opened.callback(self._lock.close)
                found = read_chain(disk, path)
                if found is not None:
                    require_chain(path, found, spec, disk)
                    self._mark = checked(replace(self._mark, edits=found.edits))
                keep_fork_file(disk, path, spec, fork)
                write_copy(disk, path, spec)
                self.is_verified = found is not None
                self._is_adopted = found is not None and found.version == VERSION
                self.edits = EditLog(path, disk, self._mark.edits, self._record_edits)
                self.edits.read()
                self.log = BlockLog(path, wire, disk, is_marked=self._is_adopted)
                opened.callback(self.log.close)
                if not len(self.log):
                    self.adopt()
                opened.pop_all()
        except (NotADirectoryError, FileExistsError):
            raise NodeError(f"{path}: a file is where the data folder should be; name another folder with --data") from None
        except OSError as error:
            raise DiskError(unusable(error, path)) from None

    def adopt(self) -> None:
        """Record in `chain.json` that the blocks in the folder have been checked and belong to this chain.

        The file is replaced atomically, after the log is synced. With a half-written file the node could not open its own folder.
        """
        if not self._is_adopted:
            self.log.adopt()
            self._write_mark()
            self.is_verified = self._is_adopted = True

    def disown(self) -> None:
        """Remove `chain.json` from a folder without blocks, so that another chain or genesis can use the folder."""
        if self._is_adopted and not len(self.log):
            self._disk.remove(self.path / CHAIN_NAME)
            if self._disk.exists(self.path / FORK_NAME):
                self._disk.remove(self.path / FORK_NAME)
            self._is_adopted = False

    def _record_edits(self, tag: str) -> None:
        """Record the tag of the edit log in `chain.json`, so that a loss of the edit log is detected."""
        self._mark = checked(replace(self._mark, edits=tag))
        self._write_mark()

    def _write_mark(self) -> None:
        content = {key: value for key, value in asdict(self._mark).items() if key != "edits" or value}
        with written_whole(self._disk, self.path / CHAIN_NAME) as file:
            file.write(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n", 0)

    def close(self) -> None:
        """Sync and close the block log, and release the lock. Raises DiskError if the sync fails."""
        try:
            self.log.close()
        except OSError as error:
            raise DiskError(f"{self.log.path}: {error.strerror}; the last blocks may not survive a loss of power") from None
        finally:
            self.edits.close()
            self._lock.close()


def fork_in(folder: Path, disk: Disk = SYSTEM) -> Path | None:
    """Return the fork file in a data folder, or in the data folder with this block log. Return None if the chain begins at genesis."""
    path = (folder.parent if folder.name == LOG_NAME else folder) / FORK_NAME
    return path if disk.exists(path) else None


def keep_fork_file(disk: Disk, folder: Path, spec: ChainSpec, fork: Path | None) -> None:
    """Copy the fork file of a chain into its data folder, unless the folder has it. Raises NodeError if there is no fork file."""
    path, digest = folder / FORK_NAME, bytes.fromhex(spec.base.digest)
    if not digest or (disk.exists(path) and read_end(disk, path, len(digest)) == digest):
        return
    if fork is None or fork == path:
        raise NodeError(f"{path}: isn't the file with which the chain {spec.name} begins ({spec.base.digest[:16]}); put that file there")
    with closing(disk.open_to_read(fork)) as source, written_whole(disk, path) as copy:
        write_part(source, 0, copy)


def read_end(disk: Disk, path: Path, size: int) -> bytes:
    """Return the last bytes of a file."""
    with closing(disk.open_to_read(path)) as file:
        return file.read(size, max(0, file.size() - size))


def make_folder(disk: Disk, path: Path) -> None:
    """Create a folder and any missing parents, and sync its name."""
    if not disk.exists(path):
        disk.make_folder(path)
        disk.sync_folder(path.parent)


def unusable(error: OSError, path: Path) -> str:
    """Return a message for an unusable folder, with the reason and the remedy."""
    return f"{error.filename or path}: {error.strerror}; the data folder must be a folder that this user can write to, of regular files"


def read_chain(disk: Disk, folder: Path) -> FolderMark | None:
    """Read a folder's `chain.json`. Return None if the folder has none. Raises FileError if it is damaged."""
    path = folder / CHAIN_NAME
    if not disk.exists(path):
        return None
    data = read_whole(disk, path, CHAIN_SIZE_MAX)
    advice = "put a good copy in its place, or remove it: then the next start checks all blocks"
    try:
        found = msgspec.json.decode(data, type=FolderMark)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: damaged: {error}; {advice}") from None
    if found.version not in (1, VERSION):
        raise FileError(f"{path}: version {found.version} of the folder is not known; use the version of coind that made it")
    if found.version == VERSION and found != checked(found):
        raise FileError(f"{path}: damaged: the check doesn't fit; {advice}")
    return found


def require_chain(folder: Path, found: ChainMark, spec: ChainSpec, disk: Disk = SYSTEM) -> None:
    """Raise NodeError if a folder belongs to another chain, or to a chain with another genesis or other constants. The message lists the
    differences.
    """
    ours = mark_of(spec)
    if found.chain_id != ours.chain_id:
        theirs, own = f"{found.name} ({found.chain_id})", f"{ours.name} ({ours.chain_id})"
        advice = former_chains.advice(found.chain_id) or "; use another folder, or the other chain's spec"
        if as_marked(spec, found).chain_id != spec.chain_id:
            advice = "; give --main-chain-id, or use another folder"
        raise NodeError(f"{folder} holds the chain {theirs}, not {own}{advice}")
    if found.genesis != ours.genesis:
        theirs, own = base_text(read_copy(disk, folder), found.genesis), describe_base(spec.base)
        if theirs and theirs != own:
            advice = "" if spec.base.number else f"put its fork file into the folder as {FORK_NAME}, or "
            raise NodeError(f"{folder} holds the chain {found.name} that begins {theirs}, not {own}; {advice}use another folder")
        what = f"{folder} holds the chain {found.name} with another genesis or other constants than {ours.name} has now"
        differs = difference(read_copy(disk, folder), found.genesis, spec) or UNKNOWN
        raise NodeError(f"{what} ({differs}). Start with the spec, --witnesses and --accounts as they were, or give --data a fresh folder")


def as_marked(spec: ChainSpec, mark: ChainMark) -> ChainSpec:
    """Return the variant of the spec that fits a mark. Its accounts are created at genesis or by blocks, as on the mark's chain.

    If the mark has the spec's name and the chain id of the public network, the result has this id too (`--main-chain-id`). If neither
    variant fits, the spec's accounts remain as they are.
    """
    if spec.is_test and spec.name == mark.name and mark.chain_id == MAIN_CHAIN_ID.hex():
        spec = replace(spec, chain_id=MAIN_CHAIN_ID)
    other = spec.with_accounts_in_blocks(not spec.genesis.accounts_in_blocks)
    return other if mark.genesis == digest_of(decisive(other)) else spec


def mark_of(spec: ChainSpec) -> ChainMark:
    """Return the identity of a chain: its name, its id, and the digest of everything that affects the result of blocks."""
    return checked(ChainMark(name=spec.name, chain_id=spec.chain_id.hex(), genesis=digest_of(decisive(spec)), version=VERSION))


def checked(mark: MarkT) -> MarkT:
    """Set the checksum of a mark. An empty tag is left out, so that a folder without edits gets the same mark as in older versions."""
    content = {key: value for key, value in asdict(replace(mark, check="")).items() if key != "edits" or value}
    return replace(mark, check=hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16])


def lock(disk: Disk, folder: Path) -> File:
    """Lock a folder. Raises NodeError if another process has the lock.

    The operating system releases the lock when the process ends, so it is never stale. The process id in the lock file is used only in the
    message. The block log has a separate lock, because the lock file can be deleted while the node runs.
    """
    file = disk.open(folder / LOCK_NAME, create=True)
    with ExitStack() as opened:
        opened.callback(file.close)
        if not file.lock():
            owner = file.read(PROCESS_ID_SIZE_MAX, 0).strip()  # empty until the other process has written it
            which = f" (process {owner.decode()})" if owner.isdigit() else ""
            raise NodeError(f"{folder} is in use by another node{which}; stop that one, or use another folder")
        file.truncate(0)
        file.write(b"%d\n" % os.getpid(), 0)
        opened.pop_all()
    return file
