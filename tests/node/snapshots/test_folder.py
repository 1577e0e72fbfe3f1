"""The folder of snapshots: the choice of a snapshot, corrupt ones that are renamed, full disks and interrupted saves."""

import errno
import os
from pathlib import Path

import pytest

from node.history.resume import resume
from node.runtime.errors import Status
from node.snapshots import folder as folder_module
from node.snapshots.file import SnapshotError
from node.snapshots.folder import ASIDE_MAX, KEPT_MAX, folder_of, paths, save, tidy
from node.storage.disk import SystemDisk
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.snapshot.image import Older
from tests.helpers.golden import fails
from tests.helpers.nodes import dev_chain, make_block
from tests.helpers.simulated_disk import SimulatedDisk

DISK = SystemDisk()


def grown(count: int) -> Chain:
    chain = dev_chain()
    for _ in range(count):
        make_block(chain)
    return chain


def older_of(chain: Chain) -> Older:
    """Return a function that finds blocks of a chain by number, as if it read a block log."""
    pack = chain.state.wire.pack_block

    def older(number: int) -> bytes | None:
        block = chain.block_by_number(number)
        return None if block is None else pack(block)

    return older


def saved(folder: Path, *counts: int) -> list[Path]:
    """Save a snapshot of a chain after each of these numbers of blocks. Return the paths of the snapshots."""
    return [save(grown(count), folder, DISK) for count in counts]


def test_the_newest_snapshot_is_loaded(tmp_path: Path) -> None:
    _, newest = saved(tmp_path, 25, 30)
    chain = dev_chain()
    found = resume(chain, tmp_path, DISK, older_of(grown(30)))
    assert found is not None
    assert found.path == newest
    assert state_digest(chain.state) == found.head.digest


def test_a_corrupt_snapshot_is_set_aside_and_the_next_is_loaded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good, bad = saved(tmp_path, 25, 30)
    data = bytearray(bad.read_bytes())
    data[len(data) // 2] ^= 1
    bad.write_bytes(data)
    chain = dev_chain()
    found = resume(chain, tmp_path, DISK, older_of(grown(30)))
    assert found is not None
    assert found.path == good
    assert sorted(path.name for path in tmp_path.iterdir()) == [good.name, f"{bad.name}.broken"]


def test_without_a_good_snapshot_the_chain_stays_at_genesis(tmp_path: Path) -> None:
    for path in saved(tmp_path, 25, 30):
        path.write_bytes(b"nothing")
    chain = dev_chain()
    before = state_digest(chain.state)
    assert resume(chain, tmp_path, DISK, older_of(grown(30))) is None
    assert resume(chain, tmp_path / "absent", DISK, older_of(grown(30))) is None
    assert state_digest(chain.state) == before


def test_a_snapshot_beyond_the_log_is_set_aside(tmp_path: Path) -> None:
    saved(tmp_path, 30)
    assert resume(dev_chain(), tmp_path, DISK, older_of(grown(3))) is None
    assert [path.suffix for path in tmp_path.iterdir()] == [".broken"]


def test_a_snapshot_of_another_branch_is_set_aside(tmp_path: Path) -> None:
    saved(tmp_path, 30)
    other = dev_chain()
    for _ in range(30):
        make_block(other, missed=1)
    assert resume(dev_chain(), tmp_path, DISK, older_of(other)) is None
    assert [path.suffix for path in tmp_path.iterdir()] == [".broken"]


def test_old_snapshots_and_leftovers_are_removed(tmp_path: Path) -> None:
    for number in range(KEPT_MAX + 2):
        (tmp_path / f"{number:010}-{'0' * 40}.snapshot").write_bytes(b"")
        (tmp_path / f"{number:010}-{'0' * 40}.snapshot.broken").write_bytes(b"")
    (tmp_path / f"{9:010}-{'0' * 40}.snapshot.new").write_bytes(b"")
    (tmp_path / "notes").write_bytes(b"")
    tidy(tmp_path, DISK)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert "notes" in names
    assert not any(name.endswith(".new") for name in names)
    assert [int(path.name[:10]) for path in paths(tmp_path, DISK)] == [4, 3, 2]
    assert sum(name.endswith(".broken") for name in names) == ASIDE_MAX


def test_at_genesis_there_is_nothing_to_save(tmp_path: Path) -> None:
    with fails(SnapshotError):
        save(dev_chain(), tmp_path, DISK)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_instead_of_a_folder_is_a_disk_error(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    os.mkfifo(folder)
    for work in (lambda: paths(folder, DISK), lambda: save(grown(30), folder, DISK)):
        with pytest.raises(SnapshotError) as refused:
            work()
        assert refused.value.STATUS is Status.DISK


def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "ROOM_BYTES_MIN", 1 << 62)
    with pytest.raises(SnapshotError):
        save(grown(30), tmp_path, DISK)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("operations", range(0, 60, 3))
def test_a_failing_disk_leaves_no_partial_snapshot(operations: int) -> None:
    disk = SimulatedDisk(operations)
    folder = folder_of(Path("/data"))
    disk.fail_after(operations, errno.ENOSPC)
    chain = grown(30)
    try:
        save(chain, folder, disk)
    except SnapshotError:
        survived = disk.kill()
        assert all(resume(dev_chain(), folder, survived, older_of(grown(30))) for _ in paths(folder, survived))
    else:
        assert resume(dev_chain(), folder, disk, older_of(grown(30))) is not None


@pytest.mark.parametrize("seed", range(25))
def test_after_a_loss_of_power_a_saved_snapshot_is_whole(seed: int) -> None:
    disk = SimulatedDisk(seed)
    folder = folder_of(Path("/data"))
    save(grown(25), folder, disk)
    disk = disk.crash()
    found = resume(dev_chain(), folder, disk, older_of(grown(30)))
    assert found is not None
