"""Saves snapshots while blocks are replayed, at the same blocks in every replay. It must not know where the blocks come from."""

from collections.abc import Awaitable
from pathlib import Path

import trio

from node.failures import DiskError
from node.snapshots.child import Child, ChildFailed
from node.snapshots.folder import block_of, paths, save, tidy
from node.storage.disk import Disk
from rpc.log import Log
from state.chain.chain import Chain

_log = Log("snapshots")


class ReplaySaver:
    """Saves a snapshot each time that `every` more blocks have become irreversible, in a child, one at a time.

    The replay goes on meanwhile, and waits only when the next one is due before the last one is saved. With `is_tidied` the oldest are
    removed as a running node does it; else all are kept.
    """

    def __init__(self, chain: Chain, folder: Path, disk: Disk, every: int, nursery: trio.Nursery, *, is_tidied: bool) -> None:
        self._chain, self._folder, self._disk, self._every = chain, folder, disk, every
        self._nursery, self._is_tidied = nursery, is_tidied
        self._turn = trio.Semaphore(1)
        self._saved = max([block_of(path) for path in paths(folder, disk)], default=0)

    def look(self) -> Awaitable[None] | None:
        """Return what saves the snapshot that is due, None if none is."""
        number = self._chain.irreversible
        return self._begin(number) if self._every and number // self._every > self._saved // self._every else None

    async def finish(self) -> None:
        """Return when the last one is saved."""
        async with self._turn:
            pass

    async def _begin(self, number: int) -> None:
        await self._turn.acquire()
        self._saved = number
        try:
            child = Child(lambda: save(self._chain, self._folder, self._disk))
        except ChildFailed as error:
            self._turn.release()
            raise DiskError(f"{self._folder}: no snapshot of block {number} could be saved: {error}") from None
        self._nursery.start_soon(self._end, child, number)

    async def _end(self, child: Child, number: int) -> None:
        try:
            await child.wait()
            if self._is_tidied:
                tidy(self._folder, self._disk)
            _log.info("snapshot saved", block=number)
        except ChildFailed as error:
            raise DiskError(f"{self._folder}: no snapshot of block {number} could be saved: {error}") from None
        finally:
            self._turn.release()
