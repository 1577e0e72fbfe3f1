"""The file of edits by hand in a data folder: what is written is found again, a torn end is cut off, damage is said."""

from pathlib import Path

import pytest

from node.failures import FileError
from node.storage.disk import SystemDisk
from node.storage.edits import EDITS_NAME, EditLog
from state.chain.edits import ScheduleHardfork, SetBalance
from state.protocol.values.asset import COIN, Asset

BLOCK = bytes(range(20))
EDITS = [(BLOCK, SetBalance("alice", Asset(1, COIN))), (bytes(20), ScheduleHardfork(24))]


def opened(folder: Path) -> EditLog:
    return EditLog(folder, SystemDisk())


def written(folder: Path) -> EditLog:
    log = opened(folder)
    assert log.read() == []
    for block_id, edit in EDITS:
        log.append(block_id, edit)
    return log


def test_edits_are_found_again(tmp_path: Path) -> None:
    written(tmp_path).close()
    assert opened(tmp_path).read() == EDITS


def test_without_edits_there_is_no_file(tmp_path: Path) -> None:
    assert opened(tmp_path).read() == []
    assert list(tmp_path.iterdir()) == []


def test_a_last_line_that_is_not_whole_is_cut_off(tmp_path: Path) -> None:
    written(tmp_path).close()
    path = tmp_path / EDITS_NAME
    whole = path.read_bytes()
    for size in range(whole.index(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:size])
        log = opened(tmp_path)
        assert log.read() == EDITS[:1]
        log.append(*EDITS[1])
        log.close()
        assert path.read_bytes() == whole


def test_edits_are_forgotten(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(*EDITS[0])
    size = log.size
    log.append(*EDITS[1])
    log.cut(size)
    assert opened(tmp_path).read() == EDITS[:1]
    log.cut(0)
    assert opened(tmp_path).read() == []


@pytest.mark.parametrize("line", [b"{}", b"x", b'{"block":"zz","edit":{}}', b'{"block":"00","edit":{"edit":"x"}}'])
def test_damage_is_said(tmp_path: Path, line: bytes) -> None:
    (tmp_path / EDITS_NAME).write_bytes(line + b"\n")
    with pytest.raises(FileError, match="edits: line 1 can't be read"):
        opened(tmp_path).read()
