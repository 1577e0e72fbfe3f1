"""Saves snapshots of a chain: in a forked child while the node runs, and in this process at shutdown."""

import math
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

from node.runtime.errors import DiskError
from node.runtime.forked_child import ChildFailed, ForkedChild
from node.snapshots.file import SnapshotError
from node.snapshots.folder import remove_after, save, tidy
from node.storage.disk import Disk, SystemDisk
from rpc.jsonrpc.scheduler import ALWAYS_OPEN, ReadGate
from rpc.log import Log
from state.chain.chain import Chain
from state.chain.head_change import HeadChange

EVERY = 10_000  # blocks, which take some seconds to replay
POLL_SECONDS = 1
RETRY_SECONDS = 300  # after a failure, whose cause, for example a full disk, can last

_log = Log("snapshots")


class SnapshotSaver:
    """Saves a snapshot to a folder whenever another `every` blocks have become irreversible (0: never), one snapshot at a time. If
    `progress` is given, it is counted instead of blocks, for example in bytes of a file.

    Saves begin at least `seconds` apart. `saved` is the block number of the newest snapshot that is already in the folder, for example the
    one that the chain started from. Only the newest snapshots are kept, unless `keeps_all` is set. Since a start doesn't need snapshots, a
    failure is logged and the save is retried later; with `is_required` it raises DiskError instead.
    """

    def __init__(
        self,
        chain: Chain,
        folder: Path,
        disk: Disk,
        every: int,
        *,
        saved: int = 0,
        seconds: float = 0.0,
        keeps_all: bool = False,
        is_required: bool = False,
        gate: ReadGate = ALWAYS_OPEN,
        progress: Callable[[], int] | None = None,
    ) -> None:
        self._chain, self._folder, self._disk, self._every, self._gate = chain, folder, disk, every, gate
        self._seconds, self._keeps_all, self._is_required = seconds, keeps_all, is_required
        self._saved, self._irreversible = saved, 0
        self._progress = progress
        self._reached = 0 if progress is None else progress()  # when the newest save began
        self._child: ForkedChild | None = None
        self._number, self._begun = 0, 0.0  # block and start time of the save in progress
        self._not_before = trio.current_time() + seconds if seconds else -math.inf
        if every and not keeps_all:
            tidy(folder, disk)

    # -------------------------------------------------------------- while the node runs

    def save_if_due(self) -> Awaitable[None] | None:
        """Return an awaitable that starts a due snapshot or finishes one that has been written. Return None if there is nothing to do.

        The awaitable waits only if a snapshot is due before the previous one is written.
        """
        if not self._every:
            return None
        if self._is_due():
            return self._begin()
        is_written = self._child is not None and self._child.status() is not None
        return self.finish() if is_written else None

    async def finish(self) -> None:
        """Wait for the save in progress. Raises DiskError."""
        child, self._child, number, self._number = self._child, None, self._number, 0
        if child is None:
            return
        try:
            await child.wait()
        except ChildFailed as error:
            self._failed(number, error)
            return
        await self._gate.wait_open()
        self._saved = number
        if self._chain.irreversible < number:  # the chain was reverted meanwhile
            self._remove_after(self._chain.irreversible)
        if not self._keeps_all:
            tidy(self._folder, self._disk)
        seconds, pause = round(time.perf_counter() - self._begun, 3), round(child.pause * 1000, 1)
        _log.info("snapshot saved", block=number, seconds=seconds, pause_milliseconds=pause)

    def close(self) -> None:
        """Cancel the save in progress."""
        if self._child is not None:
            self._child.close()
            self._child = None

    async def run(self) -> None:
        """Save a snapshot whenever one is due, until cancelled. Do nothing on a simulated disk, because a forked child can't write to
        it.
        """
        while self._every and isinstance(self._disk, SystemDisk):
            await trio.sleep(POLL_SECONDS)
            await self._gate.wait_open()
            if self._is_due():
                await self._begin()
                await self.finish()

    def follow_moves(self) -> None:
        """When the chain is reverted, remove the snapshots of the removed blocks."""
        if self._every:
            self._chain.on_head_change.append(self._on_head_change)

    # -------------------------------------------------------------- at shutdown

    def save_at_stop(self) -> None:
        """At shutdown, save a snapshot in this process. The chain is unusable afterwards."""
        number = self._chain.irreversible
        if not self._every or number <= self._last():
            return
        begun = time.perf_counter()
        try:
            path = save(self._chain, self._folder, self._disk, is_used_with_log=not self._keeps_all)
        except SnapshotError as error:
            _log.warning("no snapshot was saved at shutdown", reason=str(error))
            return
        tidy(self._folder, self._disk)
        _log.info("snapshot saved", block=number, file=path.name, seconds=round(time.perf_counter() - begun, 3))

    # -------------------------------------------------------------- private

    def _last(self) -> int:
        """Return the block number of the newest snapshot known to be valid, or 0."""
        return max(self._saved, self._chain.started_at)

    def _is_due(self) -> bool:
        every, last, now = self._every, max(self._last(), self._number), self._chain.irreversible
        is_new = now // every > last // every
        if self._progress is not None:
            is_new = now > last and self._progress() // every > self._reached // every
        return is_new and trio.current_time() >= self._not_before

    async def _begin(self) -> None:
        await self.finish()
        self._number, self._begun = self._chain.irreversible, time.perf_counter()
        if self._progress is not None:
            self._reached = self._progress()
        self._not_before = trio.current_time() + self._seconds
        try:
            self._child = ForkedChild(self._save_in_copy)
        except ChildFailed as error:
            self._failed(self._number, error)

    def _save_in_copy(self) -> None:
        self._chain.is_disposable = True
        save(self._chain, self._folder, self._disk, is_used_with_log=not self._keeps_all)

    def _failed(self, number: int, error: ChildFailed) -> None:
        if self._is_required:
            raise DiskError(f"{self._folder}: no snapshot of block {number} could be saved: {error}") from None
        _log.warning("a snapshot could not be saved", block=number, reason=str(error))
        self._number, self._not_before = 0, trio.current_time() + RETRY_SECONDS

    def _on_head_change(self, change: HeadChange) -> None:
        before, self._irreversible = max(self._irreversible, self._last()), self._chain.irreversible
        if self._irreversible < before:
            self._remove_after(self._irreversible)

    def _remove_after(self, number: int) -> None:
        self._saved = min(self._saved, number)
        remove_after(self._folder, self._disk, number)
