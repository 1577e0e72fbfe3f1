"""Sources of blocks: files, folders of files, data folders and pipes yield the same blocks, starting at any number."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from node.history.sources import Pipe, open_source
from node.runtime.errors import FileError
from state.protocol.transaction import SignedBlock, frame
from tests.conftest import ROOT
from tests.helpers.golden import fails
from tests.helpers.nodes import case_log, case_wire, json_lines, write_as

WIRE = case_wire()


def read(path: Path, first: int = 1) -> list[SignedBlock]:
    """Read a source to its end, and return the blocks."""
    source = open_source(path, WIRE, first)
    try:
        blocks = list(source)
        assert source.position >= source.size
        assert source.last in (0, blocks[-1].number)
        return blocks
    finally:
        source.close()


def log_of(blocks: list[SignedBlock]) -> bytes:
    """Encode blocks as a block log, which can begin with any block."""
    data = b""
    for block in blocks:
        data += frame(WIRE.pack_block(block), len(data))
    return data


@pytest.fixture(scope="module")
def blocks() -> list[SignedBlock]:
    """The blocks of a recorded test case."""
    return read(case_log("tx_validity"))


@pytest.fixture
def folder(tmp_path: Path, blocks: list[SignedBlock]) -> Path:
    """A folder with four files, one in each format, whose names are not in the order of their blocks. It also contains a subfolder and a
    hidden file.
    """
    made = tmp_path / "files"
    (made / "more").mkdir(parents=True)
    (made / ".hidden").write_bytes(b"what")
    (made / "empty").touch()
    write_as(made / "z.zst", log_of(blocks[:20]))
    write_as(made / "y.gz", json_lines(WIRE, blocks[20:50]))
    write_as(made / "x", json_lines(WIRE, blocks[50:60], legacy=True))
    write_as(made / "w", log_of(blocks[60:]))
    return made


@pytest.mark.parametrize("first", [1, 15, 21, 50, 51, 61, 107])
def test_the_files_of_a_folder_are_read_in_the_order_of_their_blocks(folder: Path, blocks: list[SignedBlock], first: int) -> None:
    assert [block.id for block in read(folder, first)] == [block.id for block in blocks[first - 1 :]]


def test_a_data_folder_is_its_block_log(tmp_path: Path, blocks: list[SignedBlock]) -> None:
    (tmp_path / "block_log").write_bytes(case_log("tx_validity").read_bytes())
    (tmp_path / "chain.json").write_bytes(b"{}")
    assert [block.id for block in read(tmp_path)] == [block.id for block in blocks]


def test_a_gap_between_files_is_named(folder: Path, blocks: list[SignedBlock]) -> None:
    (folder / "x").unlink()
    with fails(FileError):
        read(folder)
    write_as(folder / "x", json_lines(WIRE, blocks[40:60]))
    with fails(FileError):
        read(folder)


def test_a_folder_without_blocks_is_refused(tmp_path: Path) -> None:
    with fails(FileError):
        open_source(tmp_path, WIRE)
    (tmp_path / "README").write_text("what")
    with fails(FileError):
        open_source(tmp_path, WIRE)
    with fails(FileError):
        open_source(tmp_path / "none", WIRE)
    with fails(FileError):
        open_source(tmp_path / "a\0b", WIRE)


def piped(data: bytes, portion: int) -> int:
    """Start writing data to a pipe, `portion` bytes at a time. Return the descriptor of the reading end."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as out:
            for at in range(0, len(data), portion):
                out.write(data[at : at + portion])

    threading.Thread(target=write, daemon=True).start()
    return reading


@pytest.mark.parametrize("name", ["log", "log.gz", "log.zst", "lines", "lines.gz"])
@pytest.mark.parametrize("first", [1, 30])
def test_a_pipe_gives_the_same_blocks(tmp_path: Path, blocks: list[SignedBlock], name: str, first: int) -> None:
    data = log_of(blocks) if name.startswith("log") else json_lines(WIRE, blocks)
    reading = piped(write_as(tmp_path / name, data).read_bytes(), 999)
    try:
        assert [block.id for block in read(Path(f"/dev/fd/{reading}"), first)] == [block.id for block in blocks[first - 1 :]]
    finally:
        os.close(reading)


def test_a_block_of_a_pipe_is_available_once_written(blocks: list[SignedBlock]) -> None:
    reading, writing = os.pipe()
    data = log_of(blocks[:2])
    os.write(writing, data)
    source = open_source(Path(f"/dev/fd/{reading}"), WIRE)
    assert [next(iter(source)).number for _ in range(1)] == [1]
    os.close(writing)
    os.close(reading)
    source.close()


def test_an_empty_pipe_has_no_blocks() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    pipe = Pipe(reading)
    assert (pipe.size(), pipe.read(10, 0)) == (0, b"")
    pipe.close()


def test_the_standard_input_is_a_source() -> None:
    program = (
        "from pathlib import Path; from tests.helpers.nodes import case_wire; from node.history.sources import open_source;"
        "print(len(list(open_source(Path('-'), case_wire()))))"
    )
    with case_log("tx_validity").open("rb") as file:
        ran = subprocess.run([sys.executable, "-c", program], stdin=file, capture_output=True, cwd=ROOT, check=True)
    assert int(ran.stdout) == len(read(case_log("tx_validity")))


def test_no_file_stays_open(folder: Path, blocks: list[SignedBlock]) -> None:
    count: Callable[[], int] = lambda: len(os.listdir("/proc/self/fd"))  # noqa: E731
    before = count()
    source = open_source(folder, WIRE)
    iterator = iter(source)
    for _ in range(30):
        next(iterator)
    source.close()
    del iterator
    read(folder)
    assert count() == before
