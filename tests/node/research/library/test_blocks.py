"""Blocks that scripts read from sources in every format, and the errors for unreadable sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from node.research.library import BeyondEnd, DataError, UnknownChain, UnreadableBlocks, open_blocks
from tests.conftest import ROOT
from tests.helpers.golden import fails
from tests.helpers.nodes import case_log, case_wire, json_lines, write_as

LOG = case_log("rewards")
LAST = 105


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Path]:
    """Files and folders with the same blocks, one in each format."""
    wire = case_wire()
    blocks = [block.value for block in open_blocks(LOG)]
    parts, data = tmp_path / "parts", tmp_path / "data"
    parts.mkdir()
    data.mkdir()
    write_as(parts / "a.jsonl.gz", json_lines(wire, blocks[50:]))
    write_as(parts / "b.jsonl", json_lines(wire, blocks[:50], legacy=True))
    shutil.copy(LOG, data)
    return {
        "log": LOG,
        "gzip": write_as(tmp_path / "log.gz", LOG.read_bytes()),
        "zstd": write_as(tmp_path / "lines.zst", json_lines(wire, blocks)),
        "folder": parts,
        "data folder": data,
    }


def test_every_form_gives_the_same_blocks(sources: dict[str, Path]) -> None:
    found = {form: [block.id for block in open_blocks(path, "steem-testnet")] for form, path in sources.items()}
    assert len(found["log"]) == LAST
    assert all(ids == found["log"] for ids in found.values()), found.keys()


def test_the_chain_is_found_by_the_blocks(sources: dict[str, Path]) -> None:
    assert {open_blocks(sources[form]).chain for form in ("log", "folder")} == {"steem-testnet"}


def test_a_range_of_blocks_can_be_read(sources: dict[str, Path]) -> None:
    for path in sources.values():
        assert [block.number for block in open_blocks(path, "steem-testnet", first=40, last=60)] == list(range(40, 61))


def test_the_contents_of_a_block() -> None:
    block = next(iter(open_blocks(LOG, first=25)))
    assert (block.number, block.witness, str(block.time), len(block.transactions)) == (25, "initminer", "2020-12-01 00:01:12+00:00", 15)
    trx = block.transactions[1]
    (operation,) = trx.operations
    assert (operation.kind, operation.place, operation.trx_id, operation.is_virtual) == ("transfer", (25, 1, 0, 0), trx.id, False)
    assert (operation["from"], operation.value.from_, operation["amount"].amount) == ("initminer", "initminer", 100_000)
    assert operation.json(legacy=True) == ["transfer", {"from": "initminer", "to": "ada", "amount": "100.000 TESTS", "memo": ""}]
    assert operation.json()["type"] == "transfer_operation"
    assert trx.json()["operations"] == [operation.json()]
    assert block.json()["transactions"][1] == trx.json()
    assert list(block.operations)[1].place == operation.place
    with pytest.raises(KeyError):
        operation["from_"]


@pytest.mark.parametrize("form", [True, False], ids=["condenser", "database"])
def test_json_of_blocks_can_be_read_back(form: bool, tmp_path: Path) -> None:
    import json

    path = tmp_path / "lines"
    path.write_text("\n".join(json.dumps(block.json(legacy=form)) for block in open_blocks(LOG)))
    assert [block.id for block in open_blocks(path)] == [block.id for block in open_blocks(LOG)]


def test_files_are_closed_at_the_end_and_by_with() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in open_blocks(LOG):
        pass
    with open_blocks(LOG, "steem-testnet") as blocks:
        next(iter(blocks))
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_library_can_be_imported_first_and_reads_a_pipe() -> None:
    program = "from node.research.library import open_blocks\nprint(sum(1 for _ in open_blocks('-', 'steem-testnet')))"
    with LOG.open("rb") as log:
        ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdin=log, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == (f"{LAST}\n", "")


@pytest.mark.parametrize(
    ("path", "chain", "kind"),
    [
        ("/nowhere/log", None, UnreadableBlocks),
        ("/nowhere/log", "dev", UnreadableBlocks),
        (ROOT / "pyproject.toml", None, UnreadableBlocks),
        (LOG, "moon", UnknownChain),
        ("-", None, UnknownChain),
    ],
)
def test_each_error_has_its_class(path: str | Path, chain: str | None, kind: type[DataError]) -> None:
    with fails(kind) as caught:
        open_blocks(path, chain)
    assert "--" not in str(caught.value)


def test_a_torn_file_raises_during_iteration(tmp_path: Path) -> None:
    torn = tmp_path / "log"
    torn.write_bytes(LOG.read_bytes()[:-20])
    found = []
    with fails(UnreadableBlocks):
        found += [block.number for block in open_blocks(torn, "steem-testnet")]
    assert issubclass(UnreadableBlocks, DataError)
    assert not issubclass(UnreadableBlocks, BeyondEnd)
