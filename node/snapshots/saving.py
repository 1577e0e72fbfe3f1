"""When a node saves snapshots: each time that so many more blocks have become irreversible, and when it ends in order."""

import time
from pathlib import Path

import trio

from node.snapshots.child import Child, ChildFailed
from node.snapshots.file import SnapshotError
from node.snapshots.folder import folder_of, remove_after, save, tidy
from node.storage.disk import Disk, SystemDisk
from rpc.log import Log
from rpc.service.turns import NEVER_SHUT, Gate
from state.chain.chain import Chain
from state.chain.moves import Move

EVERY = 10_000  # blocks; replaying so many takes some seconds
LOOK_SECONDS = 1
RETRY_SECONDS = 300  # after a failure, since its cause, such as a full disk, may last

_log = Log("snapshots")


class Saver:
    """Saves the snapshots of a node into its data folder, after every `every` blocks; never if that is 0.

    A failure is logged and nothing else: snapshots shorten the start, and a node can do without.
    """

    def __init__(self, chain: Chain, data: Path, disk: Disk, every: int, gate: Gate = NEVER_SHUT) -> None:
        self._chain, self._disk, self._every, self._gate = chain, disk, every, gate
        self._folder = folder_of(data)
        self._saved = self._irreversible = 0
        if every:
            tidy(self._folder, disk)
            chain.on_moved.append(self._moved)

    async def run(self) -> None:
        """Save when it is time, in a forked child, until cancelled. On a simulated disk, which a child can't write to, do nothing."""
        while self._every and isinstance(self._disk, SystemDisk):
            await trio.sleep(LOOK_SECONDS)
            await self._gate.opened()
            number = self._chain.irreversible
            if number // self._every > self._last() // self._every:
                try:
                    await self._save(number)
                except (ChildFailed, SnapshotError, OSError) as error:
                    _log.warning("a snapshot could not be saved", block=number, reason=str(error))
                    await trio.sleep(RETRY_SECONDS)

    def save_at_stop(self) -> None:
        """Save in this process, at its end: the chain can't go on afterwards."""
        number = self._chain.irreversible
        if not self._every or number <= self._last():
            return
        begun = time.perf_counter()
        try:
            path = save(self._chain, self._folder, self._disk)
        except SnapshotError as error:
            _log.warning("no snapshot was saved at the end", reason=str(error))
            return
        tidy(self._folder, self._disk)
        _log.info("snapshot saved", block=number, file=path.name, seconds=round(time.perf_counter() - begun, 3))

    async def _save(self, number: int) -> None:
        begun = time.perf_counter()
        child = Child(lambda: save(self._chain, self._folder, self._disk))
        await child.wait()
        await self._gate.opened()
        self._saved = number
        if self._chain.irreversible < number:  # the chain has returned to an earlier moment meanwhile
            self._saved = self._chain.irreversible
            remove_after(self._folder, self._disk, self._saved)
        tidy(self._folder, self._disk)
        seconds, pause = round(time.perf_counter() - begun, 3), round(child.pause * 1000, 1)
        _log.info("snapshot saved", block=number, seconds=seconds, pause_milliseconds=pause)

    def _moved(self, move: Move) -> None:
        """Remove the snapshots that a return to an earlier moment has left: they hold what has not happened any more."""
        before, self._irreversible = max(self._irreversible, self._last()), self._chain.irreversible
        if self._irreversible < before:
            self._saved = min(self._saved, self._irreversible)
            remove_after(self._folder, self._disk, self._irreversible)

    def _last(self) -> int:
        """Return the block of the newest snapshot that is known to be good: the one saved last, or the one started from; else 0."""
        return max(self._saved, self._chain.started_at)
