"""The room on the disk: looked at in the background, and warned of once each time it gets short."""

import errno
from pathlib import Path

import pytest
import trio

import node.watch.room
from node.watch.room import FREE_SIZE_WARNED, Room
from tests.helpers.logs import capture_logs
from tests.helpers.simulated_disk import SimulatedDisk


def test_a_short_disk_is_warned_of_once() -> None:
    room = Room(Path("data"), SimulatedDisk(1))
    with capture_logs() as lines:
        for free in (FREE_SIZE_WARNED, FREE_SIZE_WARNED - 1, 5, FREE_SIZE_WARNED, 7):
            room.note(free)
    assert [line["free_bytes"] for line in lines] == [FREE_SIZE_WARNED - 1, 7]
    assert room.free == 7


class Disk(SimulatedDisk):
    """A disk that can be looked at in the first and the third attempt."""

    asked = 0

    def free(self, path: Path) -> int:
        """Return the number of the attempt."""
        self.asked += 1
        if self.asked == 2:
            raise OSError(errno.EIO, "Input/output error")
        return FREE_SIZE_WARNED + self.asked


async def test_a_disk_that_fails_is_asked_again(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node.watch.room, "SECONDS", 0.01)
    disk = Disk(1)
    room = Room(Path("data"), disk)
    with capture_logs() as lines, trio.fail_after(20):
        nursery.start_soon(room.watch)
        while disk.asked < 3:
            await trio.sleep(0.001)
        while room.free is None:
            await trio.sleep(0.001)
    assert (room.free or 0) > FREE_SIZE_WARNED
    assert [line["why"] for line in lines] == ["Input/output error"]
