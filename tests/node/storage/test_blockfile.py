"""Files of blocks: what opening one leaves behind. What is in them is tested by replays."""

import os
from pathlib import Path

import pytest

from node.failures import FileError
from node.storage.blockfile import BlockFile
from tests.helpers.nodes import dev_chain


@pytest.mark.parametrize("content", [b"neither", b"\x1f\x8b\x08{?626", b"\x28\xb5\x2f\xfd what"])
def test_a_file_that_is_refused_is_closed(tmp_path: Path, content: bytes) -> None:
    file, wire = tmp_path / "blocks", dev_chain().state.wire
    file.write_bytes(content)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        with pytest.raises(FileError, match=str(file)):
            BlockFile(file, wire)
    assert len(os.listdir("/proc/self/fd")) == before
