"""The room on the disk of the data folder, looked at now and then: it is shown, and a log line says early that it ends.

No block is refused for lack of room. A write that fails is taken back, so that the block log ends with a whole block, and the node
ends with everything on the disk that it has answered for (docs/reliability.md).
"""

from pathlib import Path

import trio

from node.storage.disk import Disk
from rpc.log import Log

SECONDS = 10
LOW_SPACE_BYTES = 1_000_000_000

_log = Log("disk")


class DiskSpace:
    """The bytes that are free on the disk of a folder, None as long as that isn't known."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.free: int | None = None
        self._folder = folder
        self._disk = disk
        self._is_low = False

    async def watch(self) -> None:
        """Look until cancelled, in threads: a disk that doesn't answer must not stop the node."""
        while True:
            try:
                self.check(await trio.to_thread.run_sync(self._disk.free, self._folder, abandon_on_cancel=True))
            except OSError as error:
                self.free = None
                _log.warning("the disk of the data folder can't be looked at", folder=str(self._folder), why=error.strerror)
            await trio.sleep(SECONDS)

    def check(self, free: int) -> None:
        """Note the free bytes; warn when they have become few."""
        self.free = free
        if free < LOW_SPACE_BYTES and not self._is_low:
            _log.warning("the disk is nearly full; when it is, the node ends", folder=str(self._folder), free_bytes=free)
        self._is_low = free < LOW_SPACE_BYTES
