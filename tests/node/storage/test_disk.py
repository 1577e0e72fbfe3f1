"""The operating system's disk and the simulated disk behave alike. Also tests which data survives a power loss on the simulated disk."""

import errno
import os
from contextlib import suppress
from pathlib import Path

import pytest

from node.runtime.errors import DiskError
from node.storage.datafolder import DataFolder
from node.storage.disk import Disk, SystemDisk, read_whole, written_whole
from state.protocol.transaction import Wire
from tests.helpers.golden import fails
from tests.helpers.nodes import DEV
from tests.helpers.simulated_disk import SimulatedDisk, Stopped

FOLDER = Path("/data")


@pytest.fixture(params=["system", "simulated"])
def disk(request: pytest.FixtureRequest) -> Disk:
    """The system's disk, then the simulated disk."""
    return SystemDisk() if request.param == "system" else SimulatedDisk(1)


def test_files_are_written_and_read_at_offsets(disk: Disk, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    disk.make_folder(folder)
    with pytest.raises(FileNotFoundError):
        disk.open(folder / "file")
    file = disk.open(folder / "file", create=True)
    file.write(b"hello", 2)
    assert (file.size(), file.read(99, 0), file.read(2, 3)) == (7, b"\0\0hello", b"el")
    file.truncate(4)
    assert file.read(99, 0) == b"\0\0he"
    file.truncate(6)
    assert file.read(99, 0) == b"\0\0he\0\0"
    file.sync()
    file.close()
    reader = disk.open_to_read(folder / "file")
    assert reader.read(1, 2) == b"h"
    reader.close()
    assert disk.free(folder) > 0


def test_files_can_be_renamed_and_removed(disk: Disk, tmp_path: Path) -> None:
    disk.make_folder(tmp_path)
    one, two = disk.open(tmp_path / "one", create=True), disk.open(tmp_path / "two", create=True)
    one.write(b"1", 0)
    assert disk.names(tmp_path) == ["one", "two"]
    assert one.is_at(tmp_path / "one")
    disk.replace(tmp_path / "one", tmp_path / "two")
    disk.sync_folder(tmp_path)
    assert (disk.exists(tmp_path / "one"), disk.exists(tmp_path / "two"), disk.exists(tmp_path)) == (False, True, True)
    assert (one.is_at(tmp_path / "one"), one.is_at(tmp_path / "two"), two.is_at(tmp_path / "two")) == (False, True, False)
    disk.remove(tmp_path / "two")
    assert not one.is_at(tmp_path / "two")
    assert disk.names(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        disk.remove(tmp_path / "two")
    with pytest.raises(FileNotFoundError):
        disk.replace(tmp_path / "x", tmp_path / "y")
    with fails(OSError):
        disk.open(tmp_path)
    with fails(OSError):
        disk.open_to_read(tmp_path)
    with pytest.raises(FileNotFoundError):
        disk.names(tmp_path / "none")


def test_a_lock_is_exclusive(disk: Disk, tmp_path: Path) -> None:
    disk.make_folder(tmp_path)
    one, two = disk.open(tmp_path / "file", create=True), disk.open(tmp_path / "file")
    assert one.lock()
    assert not two.lock()
    one.close()
    assert two.lock()
    two.close()


def test_a_file_is_written_atomically(disk: Disk, tmp_path: Path) -> None:
    disk.make_folder(tmp_path)
    path = tmp_path / "file"
    assert read_whole(disk, path) == b""
    with written_whole(disk, path) as file:
        file.write(b"old", 0)
    with suppress(ZeroDivisionError), written_whole(disk, path) as file:
        file.write(b"new", 1 // 0)
    assert (read_whole(disk, path), disk.names(tmp_path)) == (b"old", ["file"])


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with fails(OSError):
            SystemDisk().open(path)


def test_symbolic_links_are_not_written_through(tmp_path: Path) -> None:
    """Anyone who can write to the folder could have created the link, so a write must not follow it."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name, leads_to in (("link", victim), ("dangling", tmp_path / "new")):
        (tmp_path / name).symlink_to(leads_to)
        for create in (False, True):
            with fails(OSError):
                SystemDisk().open(tmp_path / name, create=create)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "link", "victim"]
    reader = SystemDisk().open_to_read(tmp_path / "link")
    assert reader.read(99, 0) == b"precious"
    reader.close()


@pytest.mark.parametrize("name", ["lock", "block_log", "block_log.index", "block_log.sums", "block_log.head", "chain.json.new"])
def test_a_link_in_a_data_folder_is_refused(tmp_path: Path, name: str) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "data"
    victim.write_text("precious")
    folder.mkdir()
    (folder / name).symlink_to(victim)
    with fails(DiskError):
        DataFolder(folder, DEV, Wire(DEV))
    assert victim.read_text() == "precious"


def test_the_boot_id_is_stable() -> None:
    assert SystemDisk().boot() == SystemDisk().boot()


# ------------------------------------------------------------------ what survives on the simulated one


def written(seed: int) -> SimulatedDisk:
    """Return a disk with a file of 2,000 synced bytes, followed by 2,000 bytes that are not synced."""
    disk = SimulatedDisk(seed)
    disk.make_folder(FOLDER)
    file = disk.open(FOLDER / "file", create=True)
    file.write(b"a" * 2000, 0)
    file.sync()
    disk.sync_folder(FOLDER)
    file.write(b"b" * 1000, 2000)
    file.write(b"c" * 1000, 3000)
    return disk


def content(disk: SimulatedDisk) -> bytes:
    return disk.open(FOLDER / "file").read(9999, 0)


def test_synced_data_survives_and_the_rest_in_any_form() -> None:
    found = [content(written(seed).crash()) for seed in range(200)]
    assert all(data.startswith(b"a" * 2000) for data in found)
    assert {len(data) for data in found} >= {2000, 3000, 4000}
    assert any(data[2000:] == b"b" * 1000 + b"c" * 1000 for data in found), "all of it"
    assert any(len(data) not in (2000, 3000, 4000) for data in found), "torn at a byte"
    assert any(data[2000:] == bytes(1000) + b"c" * 1000 for data in found), "a later write without an earlier one"
    assert found == [content(written(seed).crash()) for seed in range(200)]


def test_a_kill_keeps_everything_and_a_later_power_loss_does_not() -> None:
    disks = [written(seed).kill() for seed in range(50)]
    assert {content(disk) for disk in disks} == {b"a" * 2000 + b"b" * 1000 + b"c" * 1000}
    assert len({content(disk.crash()) for disk in disks}) > 5
    disk = written(0)
    assert disk.kill().boot() == disk.boot()
    assert written(0).crash().boot() != disk.boot()
    with fails(OSError):
        content(disk)


def test_unsynced_names_are_old_or_new() -> None:
    found = set()
    for seed in range(100):
        disk = SimulatedDisk(seed)
        disk.make_folder(FOLDER)
        for name, data in (("old", b"old"), ("new", b"new")):
            file = disk.open(FOLDER / name, create=True)
            file.write(data, 0)
            file.sync()
            if name == "old":
                disk.sync_folder(FOLDER)
        disk.replace(FOLDER / "new", FOLDER / "old")
        after = disk.crash()
        found.add((after.open(FOLDER / "old").read(9, 0), after.exists(FOLDER / "new")))
    assert found == {(b"old", False), (b"old", True), (b"new", False)}


def test_locks_end_with_the_process() -> None:
    disk = written(1)
    assert disk.open(FOLDER / "file").lock()
    assert disk.kill().open(FOLDER / "file").lock()


def test_operations_fail_and_stop_as_configured() -> None:
    disk = written(3)
    file = disk.open(FOLDER / "file")
    disk.fail_after(1, errno.EIO)
    file.write(b"x", 0)
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    disk.fail_after(-1)
    file.sync()
    disk.stop_after(0)
    with pytest.raises(Stopped):
        file.write(b"d" * 1000, 4000)
    data = content(disk.kill())
    assert 4000 <= len(data) <= 5000
    assert data.startswith(b"xaaa")
