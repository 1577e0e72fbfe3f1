"""Starts a chain from the newest usable snapshot, instead of genesis. The caller applies the blocks after the snapshot."""

import time
from pathlib import Path

import trio

from node.runtime.memory import freeze_loaded_objects
from node.snapshots.file import CorruptSnapshot, OffChainSnapshot, SnapshotError
from node.snapshots.folder import LoadedSnapshot, block_of, load, paths, require_in_log, set_aside
from node.storage.disk import Disk
from rpc.jsonrpc.scheduler import ALWAYS_OPEN, ReadGate
from rpc.log import Log
from state.chain.chain import Chain
from state.protocol.errors import ChainError
from state.snapshot.image import Older

_log = Log("snapshots")


def resume(
    chain: Chain, folder: Path, disk: Disk, older: Older | None, *, latest: int | None = None, is_owner: bool = True
) -> LoadedSnapshot | None:
    """Load the newest usable snapshot in a folder into a chain at genesis. Return None if there is none.

    A usable snapshot is intact, has the chain's rules and plugins, and is not after block `latest`. `older` must also find the snapshot's
    block; without `older` the caller must compare the blocks. With `is_owner`, log why other snapshots aren't usable, and rename corrupt
    snapshots and those of blocks that aren't on the chain. Renamed snapshots aren't tried again and don't count among the newest.

    The caller must load the remaining tables: all at once with `LoadedSnapshot.finish`, or between other tasks with `complete`.
    """
    begun = time.perf_counter()
    for path in paths(folder, disk):
        if latest is not None and block_of(path) > latest:
            continue
        try:
            if older is not None:
                require_in_log(path, block_of(path), path.name[11:51], chain, older)
            found = load(chain, path, disk, older, is_ours=True)
        except (SnapshotError, ChainError) as error:  # ChainError: the block in the log can't be read
            if not is_owner:
                continue
            if isinstance(error, CorruptSnapshot | OffChainSnapshot):
                _log.warning("a snapshot is set aside", reason=str(error), renamed=set_aside(path, disk))
            else:
                _log.warning("a snapshot can't be used", reason=str(error))
            continue
        if is_owner:
            freeze_loaded_objects()
            head, seconds = found.head, round(time.perf_counter() - begun, 3)
            _log.info(
                "starting from a snapshot", file=path.name, block=head.number, id=head.block_id, state_digest=head.digest, seconds=seconds
            )
        return found
    return None


async def complete(loaded: LoadedSnapshot, gate: ReadGate = ALWAYS_OPEN) -> None:
    """Load the remaining tables of a snapshot, a chunk at a time, between other tasks. Raises CorruptSnapshot."""
    begun = time.perf_counter()
    for _ in loaded.steps():
        await trio.sleep(0)
        await gate.wait_open()
    freeze_loaded_objects()
    _log.info("the snapshot is loaded completely", seconds=round(time.perf_counter() - begun, 3))
