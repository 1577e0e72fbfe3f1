"""Syncing of the block log: the policy that determines how long a block can stay unsynced, and the task that syncs the log."""

import math
from collections.abc import Awaitable, Callable

import trio
from msgspec import Struct

from node.runtime.errors import NodeError
from node.storage.blocklog import BlockLog

SYNC_SECONDS_MIN = 0.1  # shortest interval of a policy; a shorter one would keep the loop busy
WATCH_SECONDS = 5  # between checks that the log is still in its place, while nothing is written

InThread = Callable[[Callable[[], object]], Awaitable[object]]


class SyncPolicy(Struct, frozen=True):
    """The longest time in `seconds` that a block stays unsynced. With 0, the sender of a block gets the reply after the sync. With None,
    the operating system decides when to write a block to the disk.
    """

    seconds: float | None = 0


def sync_policy(text: str) -> SyncPolicy:
    """Parse the option `--sync`: `block`, `never`, or a number of seconds. Raises NodeError."""
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
    """Run work in a thread, and wait for its end even if the task is cancelled."""
    return await trio.to_thread.run_sync(work)


class Syncer:
    """Syncs a block log according to a policy while `run` runs. One sync serves all callers that are waiting when it begins.

    `failed` is called once: when a sync fails, or when the log was removed or replaced.
    """

    def __init__(self, log: BlockLog, policy: SyncPolicy, failed: Callable[[OSError], None], in_thread: InThread = in_thread) -> None:
        self._log, self._policy, self._failed, self._in_thread = log, policy, failed, in_thread
        self._wanted = trio.Event()
        self._next = trio.Event()
        self._has_failed = False

    def written(self) -> None:
        """Request a sync of the blocks written so far, if the policy requires one for each block."""
        if self._policy.seconds == 0:
            self._wanted.set()

    async def synced(self) -> None:
        """If the policy is 0 seconds, wait until the written blocks are synced or syncing has failed."""
        if self._policy.seconds == 0 and not self._log.is_synced and not self._has_failed:
            self._wanted.set()
            await self._next.wait()

    async def run(self) -> None:
        """Sync the log until cancelled, or until a sync fails."""
        while not self._has_failed:
            with trio.move_on_after(self._policy.seconds or WATCH_SECONDS):
                await self._wanted.wait()
            # Callers that arrive from here on wait for the next sync, because this sync can begin before their block is written.
            self._wanted, served, self._next = trio.Event(), self._next, trio.Event()
            try:
                self._log.require_in_place()
                if self._policy.seconds is not None and not self._log.is_synced:
                    await self._in_thread(self._log.sync)
            except OSError as error:
                # A failed sync is never repeated: the system may have dropped the unwritten data, and would report success.
                self._has_failed = True
                self._failed(error)
                self._next.set()
            served.set()
