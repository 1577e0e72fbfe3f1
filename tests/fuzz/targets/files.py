"""Targets for files that users or crashes may have damaged: block files, a data folder's log with its index, and chain specs."""

import contextlib
import os
import tempfile
from pathlib import Path

from node.runtime.errors import FileError
from node.specs.builder import SpecError, load_spec
from node.storage.blockfile import BlockFile
from node.storage.blocklog import INDEX_NAME, LOG_NAME, BlockLog
from tests.fuzz.target import Run
from tests.fuzz.targets.wires import new_wire

# A folder in memory if available, since each input is written to a file.
MEMORY = Path("/dev/shm")
BLOCKS_MAX = 1000  # blocks read from one file
# An input for a block log is the log's size in four bytes, then the log, then the index.
LENGTH_BYTES = 4


def scratch() -> Path:
    """Return a temporary folder that is removed when the process ends."""
    made = tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY if MEMORY.is_dir() else None)
    KEPT.append(made)
    return Path(made.name)


KEPT: list[tempfile.TemporaryDirectory[str]] = []


def write(path: Path, data: bytes) -> None:
    """Write a file without the overhead of pathlib, since this runs for each input."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, data)
    os.close(descriptor)


def block_file() -> Run:
    """Return a target that reads the blocks of a file in any format."""
    ours, path = new_wire(), scratch() / "blocks"

    def run(data: bytes) -> None:
        write(path, data)
        with contextlib.suppress(FileError):
            blocks = BlockFile(path, ours)
            try:
                for count, block in enumerate(blocks):
                    assert block.number >= 1
                    if count == BLOCKS_MAX:
                        break
            finally:
                blocks.close()

    return run


def block_log() -> Run:
    """Return a target that opens a data folder's log and reads its blocks."""
    ours, folder = new_wire(), scratch()

    def run(data: bytes) -> None:
        size = int.from_bytes(data[:LENGTH_BYTES], "little")
        content = data[LENGTH_BYTES:]
        for name in os.listdir(folder):
            os.unlink(folder / name)
        write(folder / LOG_NAME, content[:size])
        write(folder / INDEX_NAME, content[size:])
        try:
            log = BlockLog(folder, ours)
        except FileError:
            return
        try:
            # On startup a node reads all blocks, and uses the log only if that succeeds.
            blocks = log.blocks()
            try:
                ids = [block.id for block in blocks]
            except FileError:
                return
            finally:
                blocks.close()
            assert len(ids) == len(log)
            for number, block_id in enumerate(ids, 1):
                packed = log.packed(number)
                assert packed is not None
                assert ours.unpack_block(packed)[0].id == block_id
        finally:
            log.close()

    return run


def specs() -> Run:
    """Return a target that loads a chain spec."""
    path = scratch() / "chain.toml"

    def run(data: bytes) -> None:
        write(path, data)
        with contextlib.suppress(SpecError):
            load_spec(str(path))

    return run
