"""The file of state edits in a data folder: writing and reading, torn ends, and damage."""

from pathlib import Path

import pytest

from node.runtime.errors import FileError
from node.storage.disk import SystemDisk
from node.storage.edit_log import EDITS_NAME, EditLog, cut_damage
from state.chain.state_edits import ScheduleHardfork, SetBalance
from state.protocol.values.asset import COIN, Asset
from tests.helpers.golden import fails, same_as_golden

BLOCK, OTHER = bytes(range(20)), bytes(20)
EDITS = [(BLOCK, SetBalance("alice", Asset(1, COIN))), (OTHER, ScheduleHardfork(24))]
FOUND = {BLOCK: [EDITS[0][1]], OTHER: [EDITS[1][1]]}
TAG = BLOCK.hex()


def opened(folder: Path, tag: str = TAG) -> EditLog:
    return EditLog(folder, SystemDisk(), tag)


def written(folder: Path) -> EditLog:
    log = opened(folder, "")
    assert log.read() == {}
    for block_id, edit in EDITS:
        log.append(block_id, edit)
    return log


def test_edits_are_read_back(tmp_path: Path) -> None:
    written(tmp_path).close()
    assert opened(tmp_path).read() == FOUND


def test_without_edits_there_is_no_file(tmp_path: Path) -> None:
    assert opened(tmp_path, "").read() == {}
    assert list(tmp_path.iterdir()) == []


def test_the_tag_is_reported_once_the_file_exists(tmp_path: Path) -> None:
    seen = []
    log = EditLog(tmp_path, SystemDisk(), "", lambda tag: seen.append((tag, (tmp_path / EDITS_NAME).read_bytes())))
    log.append(*EDITS[0])
    log.append(*EDITS[1])
    assert seen == [(TAG, b"")]


@pytest.mark.parametrize("rest", [b"", b"\0" * 20, b"\0" * 20 + b"\n"])
def test_a_torn_last_line_is_cut_off(tmp_path: Path, rest: bytes) -> None:
    written(tmp_path).close()
    path = tmp_path / EDITS_NAME
    whole = path.read_bytes()
    for size in range(whole.index(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:size] + rest)
        log = opened(tmp_path)
        assert log.read() == {BLOCK: FOUND[BLOCK]}
        log.append(*EDITS[1])
        log.close()
        assert path.read_bytes() == whole


def test_edits_are_cut_off(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(*EDITS[0])
    size = log.size
    log.append(*EDITS[1])
    log.cut(size)
    assert opened(tmp_path).read() == {BLOCK: FOUND[BLOCK]}
    log.cut(0)
    assert opened(tmp_path).read() == {}


def test_edits_are_dropped_and_restored(tmp_path: Path) -> None:
    log = written(tmp_path)
    size = log.size
    log.drop([BLOCK, b"\1" * 20])
    assert opened(tmp_path).read() == {OTHER: FOUND[OTHER]}
    log.append(BLOCK, EDITS[1][1])
    assert opened(tmp_path).read() == {OTHER: FOUND[OTHER], BLOCK: [EDITS[1][1]]}
    log.drop([BLOCK])
    log.restore({BLOCK: FOUND[BLOCK], OTHER: FOUND[OTHER]})
    assert opened(tmp_path).read() == FOUND
    log.cut(size)
    assert opened(tmp_path).read() == FOUND


def test_a_stopped_log_writes_nothing_and_errors_are_reported(tmp_path: Path) -> None:
    log, errors = written(tmp_path), list[OSError]()
    is_over = False
    log.follow(lambda: is_over, errors.append)
    log.close()
    (tmp_path / EDITS_NAME).chmod(0o400)
    log._file = SystemDisk().open_to_read(tmp_path / EDITS_NAME)
    log.append(*EDITS[0])
    assert len(errors) == 1
    is_over = True
    log.cut(0)
    assert len(errors) == 1
    assert opened(tmp_path).read() == FOUND


@pytest.mark.parametrize("line", [b"{}", b"x", b'{"block":"zz","edit":{},"check":""}', b'{"block":"00","edit":{"edit":"x"},"check":""}'])
def test_an_invalid_line_is_an_error(tmp_path: Path, line: bytes) -> None:
    (tmp_path / EDITS_NAME).write_bytes(line + b"\n")
    with fails(FileError):
        opened(tmp_path).read()


def test_every_flipped_bit_is_detected(tmp_path: Path) -> None:
    """The last line is left out, because damage at its end can't be distinguished from a torn write."""
    written(tmp_path).append(BLOCK, EDITS[1][1])
    path = tmp_path / EDITS_NAME
    whole = path.read_bytes()
    for place in range(whole.rindex(b"\n", 0, len(whole) - 1)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            with pytest.raises(FileError):
                opened(tmp_path).read()


def test_a_missing_line_and_a_foreign_file_are_detected(tmp_path: Path) -> None:
    written(tmp_path).close()
    path = tmp_path / EDITS_NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[1])
    with fails(FileError):
        opened(tmp_path).read()
    path.write_bytes(b"".join(lines))
    with fails(FileError):
        opened(tmp_path, OTHER.hex()).read()


def test_a_missing_file_is_detected(tmp_path: Path) -> None:
    written(tmp_path).close()
    (tmp_path / EDITS_NAME).unlink()
    with fails(FileError):
        opened(tmp_path).read()


def test_damage_is_cut_off_after_a_copy(tmp_path: Path) -> None:
    """`bin/coind blocks repair --accept-loss` makes the same repair."""
    written(tmp_path).close()
    path = tmp_path / EDITS_NAME
    assert cut_damage(tmp_path, TAG, SystemDisk()) == ""
    whole = path.read_bytes()
    damaged = whole.replace(b"24", b"23")
    for copy in ("edits.damaged.0", "edits.damaged.1"):
        path.write_bytes(damaged)
        assert copy in cut_damage(tmp_path, TAG, SystemDisk())
        assert (tmp_path / copy).read_bytes() == damaged
        assert opened(tmp_path).read() == {BLOCK: FOUND[BLOCK]}
    path.unlink()
    same_as_golden(cut_damage(tmp_path, TAG, SystemDisk()))
    assert opened(tmp_path).read() == {}
