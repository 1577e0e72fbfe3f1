"""Snapshots of the state beside a manifest: an export that goes on starts from the newest, and applies the blocks after it.

They shorten the start and nothing else: without one all blocks are applied again. A forked child writes them, while the export goes on.
"""

import time
from pathlib import Path

from msgspec import MsgspecError

from node.failures import NodeError
from node.snapshots.child import Child, ChildFailed
from node.snapshots.file import SnapshotError
from node.snapshots.folder import block_of, load, paths, save, tidy
from node.storage.disk import Disk
from rpc.log import Log
from state.chain.chain import Chain
from state.protocol.errors import ChainError

FOLDER = ".snapshots"
# A trusting replay of a minute isn't worth the disk; and so the snapshots of a long export cost little beside it.
SECONDS_BETWEEN = 300.0

_log = Log("export")


class Keeper:
    """Saves snapshots of a chain beside an export, one after the other. A failure is logged: an export can do without."""

    def __init__(self, chain: Chain, to: Path, disk: Disk) -> None:
        self._chain, self._folder, self._disk = chain, to / FOLDER, disk
        self._last = time.monotonic()
        self._child: Child | None = None

    async def look(self) -> None:
        """Begin to save if it is time."""
        if time.monotonic() - self._last < SECONDS_BETWEEN or not self._chain.irreversible:
            return
        await self.finish()
        try:
            self._child = Child(lambda: save(self._chain, self._folder, self._disk))
        except ChildFailed as error:
            _log.warning("a snapshot could not be saved", reason=str(error))
        self._last = time.monotonic()

    async def finish(self) -> None:
        """Wait until what was begun is saved, and remove the oldest."""
        child, self._child = self._child, None
        if child is None:
            return
        try:
            await child.wait()
            tidy(self._folder, self._disk)
        except (ChildFailed, SnapshotError, OSError) as error:
            _log.warning("a snapshot could not be saved", reason=str(error))


def start_from_snapshot(chain: Chain, to: Path, last: int, disk: Disk) -> int:
    """Put a chain at genesis where the newest snapshot up to block `last` was taken; returns that block, 0 where there is none."""
    folder = to / FOLDER
    for path in paths(folder, disk) if disk.exists(folder) else ():
        try:
            if block_of(path) > last:
                continue
            loaded = load(chain, path, disk, lambda number: None, is_ours=True)
        except SnapshotError as error:
            _log.warning("a snapshot can't be used", reason=str(error))
            continue
        try:
            for deferred in loaded.left:
                deferred.finish()
        except (ChainError, MsgspecError, ValueError) as error:
            raise NodeError(f"{path}: can't be read: {error}; remove it, and the export goes on without") from None
        return loaded.head.number
    return 0
