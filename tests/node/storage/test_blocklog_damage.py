"""Damage that is detected on startup: changed or missing blocks, and files from another folder. Also tests repairs, and refusals to
repair.
"""

import errno
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from node.runtime.errors import DiskError, FileError, NodeError
from node.storage.blocklog import BlockLog
from node.storage.datafolder import DataFolder
from node.storage.disk import SystemDisk, SystemFile
from node.storage.repair import check, repair
from state.protocol.transaction import SignedBlock, Wire
from tests.helpers.golden import fails, same_as_golden
from tests.helpers.nodes import DEV, dev_chain, empty_blocks, make_block
from tests.helpers.simulated_disk import SimulatedDisk, Stopped

COUNT = 20
SIZE = 129  # size in bytes of an empty block's frame


@pytest.fixture(scope="module")
def made() -> tuple[Wire, list[SignedBlock]]:
    """A wire format, and blocks in it."""
    return empty_blocks(COUNT)


@pytest.fixture
def folder(tmp_path: Path, made: tuple[Wire, list[SignedBlock]]) -> Path:
    """A data folder with blocks, which a node has closed gracefully."""
    wire, blocks = made
    data = DataFolder(tmp_path / "data", DEV, wire)
    for block in blocks:
        data.log.append(block)
    data.close()
    return tmp_path / "data"


def change(path: Path, at: int) -> None:
    """Flip one bit of the byte at position `at` of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def refusal(folder: Path, wire: Wire) -> str:
    """Open a folder that is refused. Return the error message, and assert that the log is unchanged."""
    before = (folder / "block_log").read_bytes()
    with pytest.raises(NodeError) as refused:
        DataFolder(folder, DEV, wire)
    assert (folder / "block_log").read_bytes() == before
    return str(refused.value)


def make_former(folder: Path) -> None:
    """Convert a folder to the format of the previous version, which had no checksums and no sync mark."""
    (folder / "block_log.head").unlink()
    (folder / "block_log.sums").unlink()
    mark = json.loads((folder / "chain.json").read_text())
    (folder / "chain.json").write_text(json.dumps({key: mark[key] for key in ("name", "chain_id", "genesis")}))


def test_a_torn_end_with_earlier_damage_is_refused(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    make_former(folder)
    log = folder / "block_log"
    change(log, 5 * SIZE + 40)
    log.write_bytes(log.read_bytes()[:-30])
    (folder / "block_log.index").unlink()
    text = refusal(folder, made[0])
    same_as_golden(text)


def test_a_damaged_index_is_rebuilt(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    wire, blocks = made
    index = folder / "block_log.index"
    right = index.read_bytes()
    for at in (0, 8 * 7, 8 * 19 + 1):
        change(index, at)
        data = DataFolder(folder, DEV, wire)
        assert any("was rebuilt" in note for note in data.log.notes)
        assert [data.log.packed(number) for number in (1, 8, 20)] == [wire.pack_block(blocks[i]) for i in (0, 7, 19)]
        data.close()
        assert index.read_bytes() == right


def test_missing_blocks_are_detected(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    log = folder / "block_log"
    whole = log.read_bytes()
    for left in (19, 3, 0):
        log.write_bytes(whole[: left * SIZE])
        same_as_golden(refusal(folder, made[0]))
    log.unlink()
    with fails(FileError):
        DataFolder(folder, DEV, made[0])
    assert not log.exists()


def test_a_replaced_log_is_detected(folder: Path, tmp_path: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    chain = dev_chain()
    other = BlockLog(tmp_path, made[0])
    for missed in range(COUNT):
        other.append(make_block(chain, missed % 2))
    other.close()
    (folder / "block_log").write_bytes((tmp_path / "block_log").read_bytes())
    same_as_golden(refusal(folder, made[0]))
    (folder / "block_log.sums").unlink()
    same_as_golden(refusal(folder, made[0]))


def test_a_flipped_bit_in_the_last_signature_is_detected(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    change(folder / "block_log", 20 * SIZE - 20)
    same_as_golden(refusal(folder, made[0]))
    (folder / "block_log.sums").unlink()
    same_as_golden(refusal(folder, made[0]))


def test_missing_blocks_are_detected_after_a_kill(tmp_path: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    wire, blocks = made
    for size in (19 * SIZE, 20 * SIZE - 1):
        disk = SimulatedDisk(1)
        disk.make_folder(tmp_path)
        data = DataFolder(tmp_path, DEV, wire, disk)
        for block in blocks:
            data.log.append(block)
        disk = disk.kill()
        disk.open(tmp_path / "block_log").truncate(size)
        with fails(FileError):
            DataFolder(tmp_path, DEV, wire, disk)


def test_missing_sync_marks_and_checksums(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    (folder / "block_log.head").unlink()
    DataFolder(folder, DEV, made[0]).close()
    (folder / "block_log.sums").unlink()
    DataFolder(folder, DEV, made[0]).close()
    (folder / "block_log.head").unlink()
    (folder / "block_log.sums").unlink()
    same_as_golden(refusal(folder, made[0]))


def test_the_folder_of_an_earlier_version(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    make_former(folder)
    data = DataFolder(folder, DEV, made[0])
    assert (len(data.log), data.is_verified, data.log.is_marked) == (20, True, False)
    data.adopt()
    data.close()
    assert b'"version": 2' in (folder / "chain.json").read_bytes()
    (folder / "block_log").write_bytes(b"")
    same_as_golden(refusal(folder, made[0]))


@pytest.mark.parametrize("content", [b"\xff\xfe{", b"[1]", b"{", b'{"name": 1}', b"", b'{"name":"\xc3("}'])
def test_a_damaged_chain_file_is_refused(folder: Path, made: tuple[Wire, list[SignedBlock]], content: bytes) -> None:
    (folder / "chain.json").write_bytes(content)
    text = refusal(folder, made[0])
    same_as_golden(text)


def test_a_flipped_bit_in_the_chain_file_is_detected(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    path = folder / "chain.json"
    path.write_bytes(path.read_bytes().replace(b'"dev"', b'"dew"'))
    same_as_golden(refusal(folder, made[0]))


def test_a_removed_lock_file_still_excludes_others(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    first = DataFolder(folder, DEV, made[0])
    (folder / "lock").unlink()
    with fails(NodeError):
        DataFolder(folder, DEV, made[0])
    with fails(NodeError):
        check(folder, made[0])
    first.close()
    DataFolder(folder, DEV, made[0]).close()


@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_a_log_must_be_a_regular_file(tmp_path: Path, made: tuple[Wire, list[SignedBlock]], kind: str) -> None:
    path = tmp_path / "block_log"
    if kind == "device":
        path.symlink_to("/dev/null")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with fails(NodeError):
        DataFolder(tmp_path, DEV, made[0])


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_removed_log_is_detected_and_rescued(tmp_path: Path, made: tuple[Wire, list[SignedBlock]], is_replaced: bool) -> None:
    wire, blocks = made
    data = DataFolder(tmp_path, DEV, wire)
    for block in blocks[:10]:
        data.log.append(block)
    whole = (tmp_path / "block_log").read_bytes()
    (tmp_path / "block_log").unlink()
    if is_replaced:
        (tmp_path / "block_log").write_bytes(b"")
    name = "block_log.rescued-1" if is_replaced else "block_log"
    for _ in range(2):
        with fails(OSError):
            data.log.append(blocks[10])
    assert (tmp_path / name).read_bytes() == whole
    assert len(list(tmp_path.glob("block_log.rescued-*"))) == is_replaced
    data.close()
    if not is_replaced:
        again = DataFolder(tmp_path, DEV, wire)
        assert len(again.log) == 10
        again.close()


# ------------------------------------------------------------------ fork switches


def branches(old_count: int, new_count: int) -> tuple[list[SignedBlock], list[SignedBlock]]:
    """Return two branches that fork after four common blocks. The first list begins with the common blocks; the second list lacks them."""
    one, other = dev_chain(), dev_chain()
    old = [make_block(one) for _ in range(4 + old_count)]
    for block in old[:4]:
        other.push_block(block)
    return old, [make_block(other, 1 if not i else 0) for i in range(new_count)]


@pytest.mark.parametrize("is_power", [False, True])
def test_an_interrupted_switch_leaves_one_complete_branch(made: tuple[Wire, list[SignedBlock]], is_power: bool) -> None:
    old, new = branches(8, 9)
    found = set()
    path = Path("/data")
    for operations in range(24):
        disk = SimulatedDisk(operations)
        disk.make_folder(path)
        data = DataFolder(path, DEV, made[0], disk)
        for block in old:
            data.log.append(block)
        data.log.sync()
        disk.stop_after(operations)
        try:
            data.log.switch(tuple(reversed(old[4:])), tuple(new))
            disk.stop_after(10**6)
        except Stopped:
            pass
        again = DataFolder(path, DEV, made[0], disk.crash() if is_power else disk.kill())
        found.add(again.log.head.id)
    assert found == {old[-1].id, new[-1].id}


@pytest.mark.parametrize("is_power", [False, True])
@pytest.mark.parametrize("is_once", [False, True])
def test_a_switch_on_a_failing_disk_leaves_one_complete_branch(made: tuple[Wire, list[SignedBlock]], is_power: bool, is_once: bool) -> None:
    old, added = branches(8, 9)
    new = [*old[:4], *added]
    found = set()
    path = Path("/data")
    wire = made[0]
    is_done = False
    operations = 0
    while not is_done:
        disk = SimulatedDisk(operations)
        data = DataFolder(path, DEV, wire, disk)
        for block in old:
            data.log.append(block)
        data.log.sync()
        disk.fail_after(operations, errno.EIO, is_once=is_once)
        try:
            data.log.switch(tuple(reversed(old[4:])), tuple(new[4:]))
            is_done = True
        except OSError:
            with suppress(DiskError):
                data.close()
        again = DataFolder(path, DEV, wire, disk.crash() if is_power else disk.kill())
        blocks = old if again.log.head.id == old[-1].id else new
        assert [again.log.packed(block.number) for block in blocks] == [wire.pack_block(block) for block in blocks]
        assert len(again.log) == len(blocks)
        found.add(again.log.head.id)
        again.close()
        operations += 1
    assert operations > 10
    assert found == {old[-1].id, new[-1].id}


def test_closing_does_not_repeat_a_failed_sync(made: tuple[Wire, list[SignedBlock]]) -> None:
    disk = SimulatedDisk(1)
    data = DataFolder(Path("/data"), DEV, made[0], disk)
    data.log.append(made[1][0])
    disk.fail_after(0, errno.EIO, is_once=True)
    with pytest.raises(OSError, match="Input/output error"):
        data.log.sync()
    with fails(OSError):
        data.log.sync()
    synced = disk.syncs
    data.close()
    assert disk.syncs == synced
    # The block was written, but no sync or mark guarantees that it survives.
    assert len(DataFolder(Path("/data"), DEV, made[0], disk.crash()).log) <= 1


def test_a_failed_start_releases_the_folder(made: tuple[Wire, list[SignedBlock]]) -> None:
    path, opened = Path("/data"), []
    for operations in range(45):
        disk = SimulatedDisk(operations)
        disk.fail_after(operations)
        try:
            DataFolder(path, DEV, made[0], disk).close()
        except DiskError:
            opened.append(False)
        else:
            opened.append(True)
        disk.fail_after(-1)
        DataFolder(path, DEV, made[0], disk).close()
    assert (opened[0], opened[-1]) == (False, True)


# ------------------------------------------------------------------ check and repair


def test_a_good_folder_needs_no_repair(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    found = check(folder, made[0])
    assert (len(found.good), found.known, found.damage, found.mended) == (20, 20, "", [])
    assert found.head_id == made[1][-1].id.hex()
    assert repair(folder, made[0]) == ["nothing is damaged"]


@pytest.mark.parametrize(("at", "good"), [(7 * SIZE + 50, 7), (20 * SIZE - 20, 19), (0, None), (30, 0)])
def test_a_repair_keeps_the_good_part_and_a_copy(folder: Path, made: tuple[Wire, list[SignedBlock]], at: int, good: int | None) -> None:
    wire = made[0]
    log = folder / "block_log"
    change(log, at)
    damaged = log.read_bytes()
    good = good or 0
    found = check(folder, wire)
    assert (len(found.good), found.known) == (good, 20)
    assert found.damage
    with fails(NodeError):
        repair(folder, wire)
    assert log.read_bytes() == damaged
    assert any("block_log.damaged-1" in line for line in repair(folder, wire, accept_loss=True))
    assert (folder / "block_log.damaged-1").read_bytes() == damaged
    data = DataFolder(folder, DEV, wire)
    assert len(data.log) == good
    data.close()


@pytest.mark.parametrize("count", [0, 11])
def test_a_plain_repair_does_not_give_up_missing_blocks(folder: Path, made: tuple[Wire, list[SignedBlock]], count: int) -> None:
    log = folder / "block_log"
    os.truncate(log, count * SIZE)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with fails(NodeError):
        repair(folder, made[0])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    same_as_golden(repair(folder, made[0], accept_loss=True)[0])


def test_a_plain_repair_does_not_give_up_a_cut_log_without_its_mark(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    (folder / "block_log.head").unlink()
    os.truncate(folder / "block_log", 5 * SIZE)
    with fails(NodeError):
        repair(folder, made[0])


class ReadOnlyDisk(SystemDisk):
    """A disk that refuses all writes."""

    def open(self, path: Path, *, create: bool = False) -> SystemFile:
        """Refuse to open a file for writing."""
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))


def test_a_check_works_on_a_read_only_disk(folder: Path, made: tuple[Wire, list[SignedBlock]]) -> None:
    assert not check(folder, made[0], ReadOnlyDisk()).damage
    with fails(DiskError):
        repair(folder, made[0], ReadOnlyDisk())
