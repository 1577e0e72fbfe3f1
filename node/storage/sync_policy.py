"""Syncing of the block log: the policy that says when written blocks must survive a loss of power, and the task that follows it.

It must not know blocks.
"""

import math
from collections.abc import Awaitable, Callable

import trio
from msgspec import Struct

from node.runtime.errors import NodeError
from node.storage.blocklog import BlockLog

SYNC_SECONDS_MIN = 0.1  # of a policy: the loop must not be busy with nothing else
WATCH_SECONDS = 5  # between two looks whether the log is still there, while nothing is written

InThread = Callable[[Callable[[], object]], Awaitable[object]]


class SyncPolicy(Struct, frozen=True):
    """For how many `seconds` a block may stay unsynced. 0: its sender is answered after the sync; None: as long as the system likes."""

    seconds: float | None = 0


def sync_policy(text: str) -> SyncPolicy:
    """Return the policy that an option names: `block`, `never`, or a number of seconds. Raises NodeError."""
    if text in ("block", "never"):
        return SyncPolicy(0 if text == "block" else None)
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not SYNC_SECONDS_MIN <= seconds < math.inf:
        raise NodeError(f"--sync {text!r}: expected block, never, or a number of seconds from {SYNC_SECONDS_MIN} on")
    return SyncPolicy(seconds)


async def in_thread(work: Callable[[], object]) -> object:
    """Do work in a thread, and wait for its end even when the task is cancelled."""
    return await trio.to_thread.run_sync(work)


class Syncer:
    """Syncs a log by a policy, while `run` runs. One sync serves all who wait for one when it begins.

    `failed` is called once when the disk doesn't take it, or when the log isn't in its place any more.
    """

    def __init__(self, log: BlockLog, policy: SyncPolicy, failed: Callable[[OSError], None], in_thread: InThread = in_thread) -> None:
        self._log, self._policy, self._failed, self._in_thread = log, policy, failed, in_thread
        self._wanted = trio.Event()
        self._next = trio.Event()
        self._has_failed = False

    def written(self) -> None:
        """Note that blocks have been written."""
        if self._policy.seconds == 0:
            self._wanted.set()

    async def synced(self) -> None:
        """Return when what has been written survives, as far as the policy promises that; also when syncing has failed."""
        if self._policy.seconds == 0 and not self._log.is_synced and not self._has_failed:
            self._wanted.set()
            await self._next.wait()

    async def run(self) -> None:
        """Sync until cancelled, or until it fails."""
        while not self._has_failed:
            with trio.move_on_after(self._policy.seconds or WATCH_SECONDS):
                await self._wanted.wait()
            # A caller that comes from here on waits for the next sync: this one may have begun before its block was written.
            self._wanted, served, self._next = trio.Event(), self._next, trio.Event()
            try:
                self._log.require_in_place()
                if self._policy.seconds is not None and not self._log.is_synced:
                    await self._in_thread(self._log.sync)
            except OSError as error:
                # A failed sync is never tried again: the system may have dropped what it couldn't write, and say that all is well.
                self._has_failed = True
                self._failed(error)
                self._next.set()
            served.set()
