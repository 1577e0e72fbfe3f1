"""The folder in which a node keeps its chain: its lock, the mark of the chain that it belongs to, and the block log.

Only blocks are kept. The state is computed from them at each start, so that there is no second form of it which could disagree
with the rules of a newer version.
"""

import fcntl
import hashlib
import io
import os
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from node.failures import DiskError, FileError, NodeError
from node.storage.blocklog import BlockLog, open_file
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire

CHAIN_NAME, LOCK_NAME = "chain.json", "lock"
# The fields of a spec that may change from one start to the next: none of them decides what a block does to the state.
FREE = ("name", "witness_keys", "required_participation", "plugins", "community_prefix")


class ChainMark(Struct, frozen=True):
    """The chain that a folder belongs to, as its file `chain.json` has it."""

    name: str
    chain_id: str
    genesis: str  # the SHA-256 of all fields of the spec that decide what blocks do to the state


class DataFolder:
    """A folder, locked against other nodes until it is closed. Raises NodeError.

    `is_verified`: a node has checked the blocks in it, so that a restart may trust them. It is false for a block log that a user
    has put into an empty folder; the first start then checks everything, and marks the folder (`adopt`).
    """

    def __init__(self, path: Path, spec: ChainSpec, wire: Wire) -> None:
        self.path = path
        self._mark = mark_of(spec)
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = lock(path)
            try:
                self.is_verified = self._is_ours()
                self.log = BlockLog(path, wire)
            except BaseException:
                self._lock.close()
                raise
        except OSError as error:
            raise DiskError(f"{error.filename or path}: {error.strerror}") from None
        if not len(self.log):
            self.adopt()

    def adopt(self) -> None:
        """Note that the blocks in the folder belong to this chain and have been checked.

        The file is replaced in one step: a half-written mark would shut the node out of its own folder.
        """
        if not self.is_verified:
            temporary = self.path / f"{CHAIN_NAME}.new"
            temporary.write_bytes(msgspec.json.format(msgspec.json.encode(self._mark), indent=2) + b"\n")
            temporary.replace(self.path / CHAIN_NAME)
            self.is_verified = True

    def close(self) -> None:
        """Sync and close the block log, and release the lock."""
        self.log.close()
        self._lock.close()

    def _is_ours(self) -> bool:
        """Return whether the folder is marked as this chain's; raises NodeError for one that is another chain's."""
        file = self.path / CHAIN_NAME
        if not file.exists():
            return False
        try:
            found = msgspec.json.decode(file.read_bytes(), type=ChainMark)
        except msgspec.DecodeError as error:
            raise FileError(f"{file}: {error}") from None
        ours = self._mark
        if found.chain_id != ours.chain_id:
            raise NodeError(f"{self.path} holds the chain {found.name} ({found.chain_id}), not {ours.name} ({ours.chain_id})")
        if found.genesis != ours.genesis:
            raise NodeError(f"{self.path} holds the chain {found.name} with another genesis or other constants than {ours.name} has now")
        return True


def mark_of(spec: ChainSpec) -> ChainMark:
    """Return the mark of a chain: its name and id, and the digest of everything that decides what blocks do to its state."""
    decisive = {key: value for key, value in asdict(spec).items() if key not in FREE}
    digest = hashlib.sha256(msgspec.json.encode(decisive, order="sorted")).hexdigest()
    return ChainMark(name=spec.name, chain_id=spec.chain_id.hex(), genesis=digest)


def lock(folder: Path) -> io.FileIO:
    """Lock a folder; raises NodeError when another process has the lock.

    The lock is the system's, on an open file: it ends with the process, however that ends, and never has to be cleaned up. The
    process id in the file is for the message only.
    """
    file = open_file(folder / LOCK_NAME)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(file.fileno(), 20, 0).decode("ascii", "replace").strip()
        file.close()
        raise NodeError(f"{folder} is in use by another node (process {owner})") from None
    os.ftruncate(file.fileno(), 0)
    os.pwrite(file.fileno(), b"%d\n" % os.getpid(), 0)
    return file
