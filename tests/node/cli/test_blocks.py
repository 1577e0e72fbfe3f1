"""The chain that `coind blocks` reads from a data folder. A chain name written by an attacker must not be used as a path."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from node.storage.datafolder import DataFolder
from state.protocol.transaction import Wire
from tests.helpers.commands import coind
from tests.helpers.golden import same_as_golden
from tests.helpers.nodes import DEV

SPEC = 'base = "dev"\nname = "other"\n'


@pytest.mark.parametrize("command", ["check", "repair"])
def test_a_folder_names_a_chain_and_no_file(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.toml"
    file.write_text(SPEC, "utf-8")
    folder = tmp_path / "data"
    DataFolder(folder, replace(DEV, name=str(file)), Wire(DEV)).close()
    done = coind(capsys, "blocks", command, str(folder))
    assert done.status == 1
    same_as_golden(done.err)
    assert coind(capsys, "blocks", command, str(folder), "--chain", str(file)).status == 0
