"""How a node starts from a snapshot in its data folder; the blocks after it are replayed by others."""

import gc
import time

import structlog

from node.memory import keep_what_is_loaded
from node.snapshots.folder import folder_of, newest_good
from node.storage.datafolder import DataFolder
from node.storage.disk import Disk
from state.chain.chain import Chain

_log = structlog.get_logger("snapshots")


def start_from_snapshot(chain: Chain, folder: DataFolder, disk: Disk) -> int:
    """Put a chain at genesis where the newest good snapshot of a folder was taken; returns that block's number, 0 without one."""
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
        return 0
    keep_what_is_loaded()
    path, head = found
    seconds = round(time.perf_counter() - begun, 3)
    _log.info("starting from a snapshot", file=path.name, block=head.number, id=head.block_id, state_digest=head.digest, seconds=seconds)
    return head.number
