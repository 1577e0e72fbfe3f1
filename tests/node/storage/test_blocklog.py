"""Block logs: the reference's format, all formats that can be read, repair of torn writes, and data folders."""

from pathlib import Path

import msgspec
import pytest

from node.runtime.errors import FileError, NodeError
from node.specs.builder import load_spec
from node.storage.blockfile import BlockFile
from node.storage.blocklog import BlockLog
from node.storage.datafolder import DataFolder
from state.protocol.transaction import OFFSET, SignedBlock, Wire
from tests.helpers.golden import fails
from tests.helpers.nodes import DEV, case_log, case_wire, empty_blocks, json_lines, write_as


def written(folder: Path, wire: Wire, blocks: list[SignedBlock]) -> bytes:
    """Write blocks to the block log of a folder. Return the bytes of the file."""
    log = BlockLog(folder, wire)
    for block in blocks:
        log.append(block)
    log.close()
    return (folder / "block_log").read_bytes()


def full(_file: object, _data: object, _start: int) -> None:
    """Raise the same error as a write to a full disk."""
    raise OSError(28, "No space left on device")


def read(path: Path, wire: Wire, first: int = 1) -> list[bytes]:
    """Return the ids of the blocks in a file, from number `first` on."""
    blocks = BlockFile(path, wire, first)
    ids = [block.id for block in blocks]
    blocks.close()
    return ids


def test_a_recorded_log_is_written_byte_for_byte(tmp_path: Path) -> None:
    wire, recorded = case_wire(), case_log("tx_validity")
    blocks = list(BlockFile(recorded, wire))
    assert written(tmp_path, wire, blocks) == recorded.read_bytes()
    index = (tmp_path / "block_log.index").read_bytes()
    starts = [OFFSET.unpack_from(index, i)[0] for i in range(0, len(index), 8)]
    assert len(starts) == 108
    assert starts[0] == 0
    log = BlockLog(tmp_path, wire)
    assert [log.packed(number) for number in (1, 60, 108)] == [wire.pack_block(blocks[i]) for i in (0, 59, 107)]
    assert log.packed(0) is None
    assert log.packed(109) is None


def test_a_log_cut_by_another_program_is_an_error(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(6)
    data = written(tmp_path, wire, blocks)
    log = BlockLog(tmp_path, wire)
    (tmp_path / "block_log").write_bytes(data[: len(data) // 2])
    assert log.packed(1) == wire.pack_block(blocks[0])
    for number in (4, 6):
        with fails(FileError):
            log.packed(number)


@pytest.mark.parametrize("name", ["blocks", "blocks.gz", "blocks.zst"])
@pytest.mark.parametrize("form", ["binary", "appbase", "legacy"])
def test_every_form_is_read(tmp_path: Path, form: str, name: str) -> None:
    wire, recorded = case_wire(), case_log("tx_validity")
    blocks = list(BlockFile(recorded, wire))
    data = recorded.read_bytes() if form == "binary" else json_lines(wire, blocks, form == "legacy")
    path = write_as(tmp_path / name, data)
    assert read(path, wire) == [block.id for block in blocks]
    assert read(path, wire, 100) == [block.id for block in blocks[99:]]
    assert read(path, wire, 109) == []


def test_reading_can_begin_anywhere_without_an_index(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(6)
    written(tmp_path, wire, blocks)
    (tmp_path / "block_log.index").unlink()
    opened = BlockFile(tmp_path / "block_log", wire, 5)
    assert opened.last == 6
    assert [block.number for block in opened] == [5, 6]


def test_lines_can_be_replies_of_get_block(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(2)
    lines = b"\n".join(b'{"block":' + line + b"}" for line in json_lines(wire, blocks).splitlines())
    assert read(write_as(tmp_path / "lines", lines), wire) == [block.id for block in blocks]


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF",
        b"{}\n",
        b"{",
        b"\x1f\x8bxx",
        b"\x28\xb5\x2f\xfd\xff\xff\xff" * 9,
        bytes(500),
    ],
)
def test_a_file_without_blocks_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with fails(FileError):
        read(path, case_wire())


@pytest.mark.parametrize("name", ["lines.gz", "lines.zst"])
def test_compressed_files_can_have_several_frames(tmp_path: Path, name: str) -> None:
    wire, blocks = empty_blocks(4)
    first = write_as(tmp_path / name, json_lines(wire, blocks[:2])).read_bytes()
    both = first + write_as(tmp_path / name, json_lines(wire, blocks[2:])).read_bytes()
    path = tmp_path / name
    path.write_bytes(both)
    assert read(path, wire) == [block.id for block in blocks]
    path.write_bytes(both[:-1])
    with fails(FileError):
        read(path, wire)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with fails(FileError):
        BlockFile(tmp_path / "none", case_wire())


def test_a_cut_file_is_an_error(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(3)
    path = tmp_path / "cut"
    path.write_bytes(written(tmp_path, wire, blocks)[:-3])
    with fails(FileError):
        read(path, wire)


def test_a_log_can_be_cut_back_and_continued(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(5)
    log = BlockLog(tmp_path, wire)
    for block in (*blocks[:4],):
        log.append(block)
    log.switch((blocks[3], blocks[2]), ())
    assert len(log) == 2
    assert read(tmp_path / "block_log", wire) == [block.id for block in blocks[:2]]
    for block in blocks[2:]:
        log.append(block)
    log.close()
    assert read(tmp_path / "block_log", wire) == [block.id for block in blocks]
    assert (tmp_path / "block_log.index").stat().st_size == 40
    with pytest.raises(AssertionError):
        log.switch((blocks[0],), ())


def test_every_torn_end_is_cut_off(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(4)
    whole = written(tmp_path, wire, blocks)
    index = (tmp_path / "block_log.index").read_bytes()
    start = OFFSET.unpack(index[-8:])[0]
    for size in range(start + 1, len(whole)):
        (tmp_path / "block_log").write_bytes(whole[:size])
        (tmp_path / "block_log.index").write_bytes(index[:-8])
        for name in ("block_log.head", "block_log.sums"):
            (tmp_path / name).unlink(missing_ok=True)
        log = BlockLog(tmp_path, wire)
        assert (len(log), log.torn) == (3, size - start)
        log.append(blocks[3])
        log.close()
        assert (tmp_path / "block_log").read_bytes() == whole
        assert (tmp_path / "block_log.index").read_bytes() == index


@pytest.mark.parametrize("tail", [bytes(40), bytes(8), b"\xff" * 100])
def test_a_torn_end_after_a_power_loss_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    wire, blocks = empty_blocks(3)
    whole = written(tmp_path, wire, blocks)
    (tmp_path / "block_log").write_bytes(whole + tail)
    (tmp_path / "block_log.head").unlink()
    (tmp_path / "block_log.sums").unlink()
    log = BlockLog(tmp_path, wire)
    assert (len(log), log.torn) == (3, len(tail))
    assert (tmp_path / "block_log").read_bytes() == whole


@pytest.mark.parametrize("left", [b"", b"\0" * 8, b"\0" * 13, b"\xff" * 24])
def test_a_damaged_index_is_rebuilt(tmp_path: Path, left: bytes) -> None:
    wire, blocks = empty_blocks(3)
    whole = written(tmp_path, wire, blocks)
    index = (tmp_path / "block_log.index").read_bytes()
    (tmp_path / "block_log.index").write_bytes(left)
    log = BlockLog(tmp_path, wire)
    assert (len(log), log.torn) == (3, 0)
    assert (tmp_path / "block_log.index").read_bytes() == index
    assert (tmp_path / "block_log").read_bytes() == whole


def test_an_index_without_its_log_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "block_log.index").write_bytes(bytes(8))
    assert len(BlockLog(tmp_path, case_wire())) == 0
    assert (tmp_path / "block_log.index").stat().st_size == 0


def test_damage_before_whole_blocks_is_not_cut_off(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(4)
    whole = written(tmp_path, wire, blocks)
    start = OFFSET.unpack_from((tmp_path / "block_log.index").read_bytes(), 8)[0]
    damaged = whole[: start - 8] + b"\xff" * 8 + whole[start:]
    (tmp_path / "block_log").write_bytes(damaged)
    (tmp_path / "block_log.index").unlink()
    with fails(FileError):
        BlockLog(tmp_path, wire)
    assert (tmp_path / "block_log").read_bytes() == damaged


def test_another_kind_of_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "block_log").write_bytes(b"\x1f\x8b and so on")
    with fails(FileError):
        BlockLog(tmp_path, case_wire())
    assert (tmp_path / "block_log").read_bytes() == b"\x1f\x8b and so on"


def test_a_failed_write_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire, blocks = empty_blocks(3)
    whole = written(tmp_path, wire, blocks[:2])
    log = BlockLog(tmp_path, wire)

    with monkeypatch.context() as patched:
        patched.setattr("node.storage.disk.SystemFile.write", full)
        with pytest.raises(OSError, match="No space"):
            log.append(blocks[2])
    assert (tmp_path / "block_log").read_bytes() == whole
    log.append(blocks[2])
    assert read(tmp_path / "block_log", wire)[-1] == blocks[2].id


# ------------------------------------------------------------------ the folder


def test_a_folder_belongs_to_one_chain(tmp_path: Path) -> None:
    wire = Wire(DEV)
    DataFolder(tmp_path / "a" / "b", DEV, wire).close()
    mark = (tmp_path / "a" / "b" / "chain.json").read_bytes()
    assert b'"dev"' in mark
    other = load_spec("testnet")
    with fails(NodeError):
        DataFolder(tmp_path / "a" / "b", other, wire)
    changed = msgspec.structs.replace(DEV, remove_threshold=7)
    with fails(NodeError):
        DataFolder(tmp_path / "a" / "b", changed, wire)
    free = msgspec.structs.replace(DEV, plugins=(), witness_keys=(), name="mine")
    DataFolder(tmp_path / "a" / "b", free, wire).close()


def test_a_folder_belongs_to_one_node(tmp_path: Path) -> None:
    wire = Wire(DEV)
    folder = DataFolder(tmp_path, DEV, wire)
    with fails(NodeError):
        DataFolder(tmp_path, DEV, wire)
    (tmp_path / "lock").write_text("")  # the content of the file shortly after it was locked
    with fails(NodeError):
        DataFolder(tmp_path, DEV, wire)
    folder.close()
    DataFolder(tmp_path, DEV, wire).close()


def test_a_copied_log_is_not_trusted(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(2)
    written(tmp_path, wire, blocks)
    folder = DataFolder(tmp_path, DEV, wire)
    assert not folder.is_verified
    folder.adopt()
    folder.close()
    again = DataFolder(tmp_path, DEV, wire)
    assert again.is_verified
    again.close()


def test_a_folder_that_can_not_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with fails(NodeError):
        DataFolder(tmp_path / "file" / "x", DEV, Wire(DEV))
