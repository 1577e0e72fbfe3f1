"""Free disk space of the data folder, polled every 10 s for /metrics. Logs a warning below 1 GB.

No block is refused for lack of space. If a write fails, it is rolled back, so that the block log ends with a complete block, and the node
stops. Every acknowledged block is then on the disk (docs/reliability.md).
"""

from pathlib import Path

import trio

from node.storage.disk import Disk
from rpc.log import Log

SECONDS = 10  # between two polls
LOW_SPACE_BYTES = 1_000_000_000

_log = Log("disk")


class DiskSpace:
    """The free bytes on the disk of a folder. `free` is None before the first poll and after a poll that failed."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.free: int | None = None
        self._folder = folder
        self._disk = disk
        self._is_low = False

    async def watch(self) -> None:
        """Poll until cancelled, in a thread, so that a hanging disk can't block the node."""
        while True:
            try:
                self.check(await trio.to_thread.run_sync(self._disk.free, self._folder, abandon_on_cancel=True))
            except OSError as error:
                self.free = None
                _log.warning("can't read the free space of the data folder's disk", folder=str(self._folder), why=error.strerror)
            await trio.sleep(SECONDS)

    def check(self, free: int) -> None:
        """Store the free bytes. Log a warning when they fall below LOW_SPACE_BYTES."""
        self.free = free
        if free < LOW_SPACE_BYTES and not self._is_low:
            _log.warning("disk nearly full; the node stops when it is full", folder=str(self._folder), free_bytes=free)
        self._is_low = free < LOW_SPACE_BYTES
