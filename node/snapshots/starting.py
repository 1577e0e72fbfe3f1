"""How a node starts from a snapshot in its data folder; the blocks after it are replayed by others."""

import gc
import time

import trio
from msgspec import MsgspecError

from node.failures import FileError
from node.memory import keep_what_is_loaded
from node.snapshots.folder import Loaded, folder_of, newest_good
from node.storage.datafolder import DataFolder
from node.storage.disk import Disk
from rpc.log import Log
from rpc.service.turns import NEVER_SHUT, Gate
from state.chain.chain import Chain
from state.protocol.errors import ChainError

_log = Log("snapshots")


def start_from_snapshot(chain: Chain, folder: DataFolder, disk: Disk) -> Loaded | None:
    """Put a chain at genesis where the newest good snapshot of a folder was taken; returns None without one.

    The caller replays the blocks after it, and has `complete` fill the tables that are left.
    """
    begun = time.perf_counter()
    # Loading makes millions of objects and no garbage.
    was_on = gc.isenabled()
    gc.disable()
    try:
        found = newest_good(chain, folder_of(folder.path), disk, folder.log.packed, len(folder.log))
    finally:
        if was_on:
            gc.enable()
    if found is None:
        return None
    keep_what_is_loaded()
    path, head = found.path, found.head
    seconds = round(time.perf_counter() - begun, 3)
    _log.info("starting from a snapshot", file=path.name, block=head.number, id=head.block_id, state_digest=head.digest, seconds=seconds)
    return found


async def complete(loaded: Loaded, gate: Gate = NEVER_SHUT) -> None:
    """Fill the tables that the start has left for later, a chunk at a time, between other tasks. Raises FileError."""
    begun = time.perf_counter()
    for deferred in loaded.left:
        while not deferred.is_done:
            try:
                deferred.advance()
            except (ChainError, MsgspecError, ValueError) as error:
                raise FileError(f"{loaded.path}: can't be read: {error}; remove it, and the node replays its blocks") from None
            await trio.sleep(0)
            await gate.opened()
    keep_what_is_loaded()
    _log.info("the snapshot is loaded completely", seconds=round(time.perf_counter() - begun, 3))
