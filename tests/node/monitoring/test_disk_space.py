"""Free disk space: it is polled in the background, and each time it falls below the limit, one warning is logged."""

import errno
from pathlib import Path

import pytest
import trio

import node.monitoring.disk_space
from node.monitoring.disk_space import LOW_SPACE_BYTES, DiskSpace
from tests.helpers.log_capture import capture_logs
from tests.helpers.simulated_disk import SimulatedDisk


def test_a_full_disk_is_logged_once() -> None:
    room = DiskSpace(Path("data"), SimulatedDisk(1))
    with capture_logs() as lines:
        for free in (LOW_SPACE_BYTES, LOW_SPACE_BYTES - 1, 5, LOW_SPACE_BYTES, 7):
            room.check(free)
    assert [line["free_bytes"] for line in lines] == [LOW_SPACE_BYTES - 1, 7]
    assert room.free == 7


class Disk(SimulatedDisk):
    """A disk on which the first and the third attempt to read the free space succeed, while the second fails."""

    asked = 0

    def free(self, path: Path) -> int:
        """Return a number of free bytes from which the test can tell which attempt it was."""
        self.asked += 1
        if self.asked == 2:
            raise OSError(errno.EIO, "Input/output error")
        return LOW_SPACE_BYTES + self.asked


async def test_a_failing_disk_is_polled_again(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node.monitoring.disk_space, "SECONDS", 0.01)
    disk = Disk(1)
    room = DiskSpace(Path("data"), disk)
    with capture_logs() as lines, trio.fail_after(20):
        nursery.start_soon(room.watch)
        while disk.asked < 3:
            await trio.sleep(0.001)
        while room.free is None:
            await trio.sleep(0.001)
    assert (room.free or 0) > LOW_SPACE_BYTES
    assert [line["why"] for line in lines] == ["Input/output error"]
