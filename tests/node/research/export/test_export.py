"""Exports: their contents compared with the chain. A resumed export gives the same bytes as an uninterrupted one."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import trio

from node.research.export.manifest import NAME, load
from node.research.export.run import Export, ExportOptions
from node.research.sql.connection import open_export
from node.runtime.errors import DiskError, NodeError
from node.specs.builder import load_spec
from node.storage.blockfile import BlockFile
from node.storage.disk import SystemDisk
from state.chain.skip import Skip
from state.plugins.reputation import REPUTATION, reputation_of
from tests.conftest import CASES
from tests.export.comparing import Reader, compare_operations, compare_rewards, compare_totals, exported, replayed, wanted_of
from tests.export.kills import contents
from tests.helpers.golden import fails
from tests.helpers.simulated_disk import FailingDisk

REWARDS = CASES / "rewards" / "block_log"
BLOCKS = 105


def wanted(to: Path, **changes: Any) -> ExportOptions:
    """Return options to export the recorded test case with a few tables, in ranges of 40 blocks."""
    return wanted_of(REWARDS, to, **{"chunk_blocks": 40, "tables": {"accounts": 30, "market_buckets": 0}} | changes)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted export of the test case."""
    return exported(wanted(tmp_path_factory.mktemp("whole") / "export")).wanted.to


@pytest.mark.parametrize("case", ["rewards", "smt_tokens"])
def test_operations_and_totals_are_those_of_the_chain(tmp_path: Path, case: str) -> None:
    log = CASES / case / "block_log"
    export = exported(wanted_of(log, tmp_path, chunk_blocks=50))
    reader, chain = Reader(export), replayed(log, export.wanted.spec)
    assert compare_operations(reader, chain).total() > 100
    compare_totals(reader, chain)
    if case == "rewards":
        assert compare_rewards(reader, chain.state) == 10


def test_chunks_lie_in_partitions_and_the_manifest_names_them(whole: Path) -> None:
    manifest = load(whole, SystemDisk())
    assert manifest is not None
    assert [(each.blocks, each.first, each.last, each.is_end) for each in manifest.ranges] == [
        (0, 1, 39, False),
        (40, 40, 79, False),
        (80, 80, BLOCKS, True),
    ]
    assert manifest.chain.symbols == {"COIN": "TESTS", "SBD": "TBD", "VESTS": "VESTS"}
    named = {chunk.path: chunk for each in manifest.ranges for chunk in each.chunks}
    assert named.keys() == contents(whole).keys() - {NAME}
    assert {"operations/kind=vote/blocks=0000000000/vote.parquet", "tables/table=accounts/at=0000000105/accounts.parquet"} <= named.keys()
    assert [path for path in named if "table=accounts" in path] == [
        f"tables/table=accounts/at={at:010}/accounts.parquet" for at in (30, 60, 90, BLOCKS)
    ]
    for path, chunk in named.items():
        file = pq.ParquetFile(whole / path)
        assert file.metadata.num_rows == chunk.rows
        dataset = manifest.schema[path.rpartition("/")[0].rpartition("/")[0]]
        assert file.schema_arrow.names == list(dataset)


def test_a_second_run_changes_nothing(whole: Path, tmp_path: Path) -> None:
    before = contents(whole)
    exported(wanted(whole))
    assert contents(whole) == before
    assert contents(exported(wanted(tmp_path)).wanted.to) == before


def test_checked_blocks_give_the_same_bytes_as_trusted_ones(whole: Path, tmp_path: Path) -> None:
    assert contents(exported(wanted(tmp_path, skip=Skip.NOTHING)).wanted.to) == contents(whole)


@pytest.mark.parametrize("renames", [0, 2, 20, 40])
def test_an_interrupted_export_resumes_to_the_same_bytes(whole: Path, tmp_path: Path, renames: int) -> None:
    with fails(DiskError):
        exported(wanted(tmp_path, disk=FailingDisk(renames)))
    # Every chunk that has its final name is complete.
    right = contents(whole)
    assert all(right[name] == data for name, data in contents(tmp_path).items() if name.startswith(("operations/", "blocks/", "tables/")))
    exported(wanted(tmp_path))
    assert contents(tmp_path) == right


DAILY = {"tables": {"account_summaries": 0, "accounts": 50}, "seconds": {"account_summaries": 86_400}, "accounts": ("max", "ada")}


def test_tables_are_exported_at_intervals_of_time(tmp_path: Path) -> None:
    export = exported(wanted(tmp_path / "whole", **DAILY))
    days: dict[int, int] = {}
    for block in BlockFile(REWARDS, export.chain.state.wire):
        days.setdefault(block.timestamp // 86_400, block.number)
    connection = open_export(tmp_path / "whole")
    rows = connection.sql("SELECT at_block, name FROM account_summaries_at ORDER BY at_block, id").fetchall()
    assert {at for at, _ in rows} == {*days.values(), BLOCKS} - {1}  # the accounts don't exist at block 1
    assert {name for _, name in rows} == {"ada", "max"}
    found = connection.sql("SELECT name, balance, reputation FROM account_summaries ORDER BY id").fetchall()
    chain = replayed(REWARDS, export.wanted.spec)
    accounts = [chain.state.accounts.by_name.get(name) for name in ("ada", "max")]
    assert [row[:2] for row in found] == [(each.name, each.balance) for each in accounts if each is not None]
    assert [row[2] for row in found] == [reputation_of(REPUTATION.of(chain.state), name) for name in ("ada", "max")]
    with fails(DiskError):
        exported(wanted(tmp_path / "failed", disk=FailingDisk(30), **DAILY))
    exported(wanted(tmp_path / "failed", **DAILY))
    assert contents(tmp_path / "failed") == contents(tmp_path / "whole")
    for changes in ({"accounts": None}, {"seconds": {"account_summaries": 3600}}):
        with fails(NodeError):
            exported(wanted(tmp_path / "whole", **DAILY | changes))


def test_exports_of_earlier_versions_are_continued(tmp_path: Path) -> None:
    exported(wanted(tmp_path, last=60))
    path = tmp_path / NAME
    manifest = json.loads(path.read_bytes())
    del manifest["options"]["seconds"], manifest["options"]["accounts"]
    path.write_text(json.dumps(manifest))
    assert exported(wanted(tmp_path)).summary().startswith("blocks 1 to 105: ")


def test_a_stopped_export_keeps_complete_ranges(whole: Path, tmp_path: Path) -> None:
    export = Export(wanted(tmp_path))

    async def stopped() -> bool:
        export.stop.set()
        return await export.run()

    assert not trio.run(stopped) or contents(tmp_path) == contents(whole)
    exported(wanted(tmp_path))
    assert contents(tmp_path) == contents(whole)


def test_more_blocks_are_added(whole: Path, tmp_path: Path) -> None:
    for last in (20, 39, 60, 79, 95):
        exported(wanted(tmp_path, last=last))
    exported(wanted(tmp_path))
    assert contents(tmp_path) == contents(whole)


def test_an_export_resumes_from_a_snapshot(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.research.export.run.SECONDS_BETWEEN_SNAPSHOTS", 0.0)
    first = exported(wanted(tmp_path, last=79))
    second = exported(wanted(tmp_path))
    assert first.chain.started_at == 0
    assert 0 < second.chain.started_at < 79
    assert contents(tmp_path) == contents(whole)
    # An unreadable snapshot is skipped.
    (tmp_path / "operations/kind=vote/blocks=0000000080/vote.parquet").unlink(missing_ok=True)
    for path in (tmp_path / ".snapshots").iterdir():
        path.write_bytes(path.read_bytes()[:-9])
    third = exported(wanted(tmp_path, first=1))
    assert third.chain.started_at == 0
    assert contents(tmp_path) == contents(whole)


def test_a_chunk_that_is_missing_is_written_again(whole: Path, tmp_path: Path) -> None:
    exported(wanted(tmp_path))
    (tmp_path / "operations/kind=vote/blocks=0000000040/vote.parquet").unlink()
    exported(wanted(tmp_path))
    assert contents(tmp_path) == contents(whole)


@pytest.mark.parametrize("name", ["operations", "operations/kind=other", ".part", ".snapshots"])
def test_files_behind_a_link_out_of_the_export_stay(tmp_path: Path, name: str) -> None:
    folder, other = tmp_path / "export", tmp_path / "other"
    exported(wanted(folder, last=39))
    link, kept = folder / name, other / "blocks=0000000000" / "kept.parquet"
    kept.parent.mkdir(parents=True)
    kept.touch()
    if link.exists():
        shutil.rmtree(link)
    link.symlink_to(other)
    with fails(NodeError):
        exported(wanted(folder))
    assert list(other.rglob("*")) == [kept.parent, kept]


def test_a_range_of_blocks_can_be_exported(whole: Path, tmp_path: Path) -> None:
    part = exported(wanted(tmp_path, first=40, last=79))
    right, found = contents(whole), contents(tmp_path)
    chunks = [name for name in found if name.startswith(("operations/", "blocks/"))]
    assert chunks == [name for name in right if "blocks=0000000040" in name]
    assert all(found[name] == right[name] for name in chunks)
    assert part.summary().startswith("blocks 40 to 79: ")


def test_without_virtual_operations_blocks_are_only_read(whole: Path, tmp_path: Path) -> None:
    export = exported(wanted(tmp_path, only=("vote", "blocks"), tables={}))
    assert not export.needs_state
    assert export.chain.state.props.head_block_number == 1  # its signature identifies the chain
    right, found = contents(whole), contents(tmp_path)
    assert {name: data for name, data in right.items() if "kind=vote/" in name or name.startswith("blocks/")} == {
        name: data for name, data in found.items() if name != NAME
    }
    assert Export(wanted(tmp_path / "b", only=("author_reward",), tables={})).needs_state
    assert Export(wanted(tmp_path / "c", only=("vote",), tables={}, skip=Skip.NOTHING)).needs_state


@pytest.mark.parametrize(
    "changes",
    [
        {"form": "csv"},
        {"chunk_blocks": 50},
        {"first": 5},
        {"only": ("vote",)},
        {"tables": {}},
        {"spec": load_spec("dev")},
    ],
)
def test_other_options_are_refused(whole: Path, changes: dict[str, Any]) -> None:
    before = contents(whole)
    given = wanted(whole)
    with fails(NodeError):
        Export(ExportOptions(**{field: getattr(given, field) for field in ExportOptions.__struct_fields__} | changes))
    assert contents(whole) == before


def test_other_blocks_are_refused(whole: Path, tmp_path: Path) -> None:
    exported(wanted(tmp_path, last=60))
    before = contents(tmp_path)
    other = wanted_of(CASES / "threads" / "block_log", tmp_path, chunk_blocks=40, tables={"accounts": 30, "market_buckets": 0})
    with fails(NodeError):
        exported(other)
    assert contents(tmp_path) == before


def test_unknown_kinds_and_missing_blocks_are_refused(tmp_path: Path) -> None:
    with fails(NodeError):
        Export(wanted(tmp_path, only=("transfr",)))
    with fails(NodeError):
        exported(wanted(tmp_path, first=1000))
    (tmp_path / NAME).write_text("{}")
    with fails(NodeError):
        Export(wanted(tmp_path))


def test_a_source_without_blocks_is_refused(tmp_path: Path) -> None:
    with fails(NodeError):
        exported(ExportOptions(spec=load_spec("dev"), source=Path(os.devnull), to=tmp_path))


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "blocks" / "theirs.parquet"
    theirs.parent.mkdir()
    theirs.touch()
    with fails(NodeError):
        exported(wanted(tmp_path))
    assert theirs.exists()


def test_two_exports_do_not_write_into_one_folder(tmp_path: Path) -> None:
    from node.research.export.run import locked

    with locked(tmp_path), fails(NodeError):
        exported(wanted(tmp_path))


def test_the_plan_lists_done_and_missing_ranges(tmp_path: Path) -> None:
    assert list(Export(wanted(tmp_path)).plan()) == ["blocks 1 to 39: to do", "blocks 40 to 79: to do", "blocks 80 to 105: to do"]
    exported(wanted(tmp_path, last=50))
    lines = list(Export(wanted(tmp_path)).plan())
    assert lines[0].startswith("blocks 1 to 39: done, ")
    assert lines[1:] == ["blocks 40 to 79: to do", "blocks 80 to 105: to do"]


@pytest.mark.parametrize(("form", "start"), [("csv", b'"block","trx","op","virtual_op","time","trx_id","voter"'), ("jsonl", b'{"block":')])
def test_ranges_can_be_text_files(whole: Path, tmp_path: Path, form: str, start: bytes) -> None:
    exported(wanted(tmp_path, form=form))
    manifest = load(whole, SystemDisk())
    assert manifest is not None
    for chunk in (chunk for each in manifest.ranges for chunk in each.chunks):
        text = (tmp_path / chunk.path.replace(".parquet", f".{form}")).read_bytes()
        assert text.count(b"\n") == chunk.rows + (form == "csv")
    assert (tmp_path / f"operations/kind=vote/blocks=0000000000/vote.{form}").read_bytes().startswith(start)
