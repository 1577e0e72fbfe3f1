"""Opening of block files. The tests of replays check their contents."""

import gzip
import os
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from node.runtime.errors import FileError
from node.storage import blockfile
from node.storage.blockfile import BlockFile
from tests.helpers.nodes import dev_chain


@pytest.mark.parametrize("content", [b"neither", b"\x1f\x8b\x08{?626", b"\x28\xb5\x2f\xfd what"])
def test_a_file_that_is_refused_is_closed(tmp_path: Path, content: bytes) -> None:
    file, wire = tmp_path / "blocks", dev_chain().state.wire
    file.write_bytes(content)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        with pytest.raises(FileError):
            BlockFile(file, wire)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("start", [b"{", b"\1"])
def test_a_block_much_larger_than_its_file_is_refused(tmp_path: Path, start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blockfile, "UNPACKED_FREE", 0)
    file = tmp_path / "blocks"
    # Not a block: its number of transactions exceeds its bytes.
    file.write_bytes(gzip.compress(start + b"\xff" * (1 << 25)))
    blocks = BlockFile(file, dev_chain().state.wire)
    tracemalloc.start()
    try:
        with pytest.raises(FileError):
            list(blocks)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()
        blocks.close()


def test_zstd_is_decompressed_in_pieces(tmp_path: Path) -> None:
    file, packer = tmp_path / "blocks", zstandard.ZstdCompressor().compressobj()
    file.write_bytes(b"".join([packer.compress(b"{"), *(packer.compress(bytes(1 << 24)) for _ in range(12)), packer.flush()]))
    tracemalloc.start()
    try:
        BlockFile(file, dev_chain().state.wire).close()
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
