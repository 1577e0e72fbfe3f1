"""Exports that follow a node: their rows are those of an export of the node's blocks, also after blocks were undone."""

import math
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import trio

from node.replicas.follow.sources import SyncPosition
from node.research.export import follow
from node.research.export.follow import FollowingExport, follow_node
from node.research.export.manifest import Manifest, load
from node.research.export.run import Export, ExportOptions
from node.research.sql.connection import open_export
from node.runtime.errors import DiskError, NodeError
from node.storage.disk import SystemDisk
from rpc.push.events import BlocksRemoved, Event, Heartbeat, NewBlock, new_block
from state.chain.chain import Chain
from state.chain.state_edits import SetBalance
from state.protocol.values.asset import COIN, Asset
from tests.helpers.followed import until
from tests.helpers.golden import fails
from tests.helpers.nodes import DEV, block_at, copy_of, grown_chain, json_lines, make_block, signed_block, transfer
from tests.helpers.push import PushClients, pushing
from tests.helpers.simulated_disk import FailingDisk

TABLES = {"accounts": 0, "global_properties": 5, "witnesses": 0}


@pytest.fixture(autouse=True)
def _written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "WRITE_SECONDS_MIN", 0.0)
    monkeypatch.setattr(follow, "PAUSE_FACTOR", 0)
    monkeypatch.setattr(follow, "RESTART_SECONDS", 0.0)


def wanted(world: PushClients, to: Path, **changes: Any) -> ExportOptions:
    """Return options to follow a node, in ranges of ten blocks."""
    given: dict[str, Any] = {"follow": f"http://127.0.0.1:{world.port}", "chunk_blocks": 10, "tables": TABLES}
    return ExportOptions(spec=DEV, to=to, **given | changes)


@asynccontextmanager
async def following(options: ExportOptions) -> AsyncIterator[FollowingExport]:
    """Run an export while the context lasts, then stop it."""
    task = FollowingExport(options)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(task.run)
        yield task
        task.stop.set()


def manifest_in(folder: Path) -> Manifest | None:
    return load(folder, SystemDisk())


def last_id(folder: Path) -> str:
    """Return the id of the last exported block, or "" if there is none."""
    found = manifest_in(folder)
    return found.ranges[-1].last_id if found is not None and found.ranges else ""


def has(folder: Path, chain: Chain) -> Callable[[], bool]:
    """Return a function that tells whether the last exported block is the head of a chain."""
    return lambda: last_id(folder) == chain.state.props.head_block_id.hex()


def rows_in(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each dataset of an export, in order of the files that its manifest names."""
    found = manifest_in(folder)
    assert found is not None
    named = sorted(chunk.path for each in found.ranges for chunk in each.chunks)
    assert named == sorted(path.relative_to(folder).as_posix() for path in folder.glob("[!.]*/**/*.parquet"))
    rows: dict[str, list[dict[str, Any]]] = {}
    for path in named:
        rows.setdefault(path.partition("/blocks=")[0].partition("/at=")[0], []).extend(pq.ParquetFile(folder / path).read().to_pylist())
    return rows


async def require_like(folder: Path, chain: Chain, to: Path) -> None:
    """Assert that an export has the rows of an export of the chain's blocks."""
    source = to.with_suffix(".jsonl")
    blocks = [block_at(chain, number) for number in range(1, chain.state.props.head_block_number + 1)]
    source.write_bytes(json_lines(chain.state.wire, blocks))
    assert await Export(ExportOptions(spec=DEV, source=source, to=to, chunk_blocks=10, tables=TABLES)).run()
    assert rows_in(folder) == rows_in(to)


async def test_new_blocks_are_appended_and_undone_ones_removed(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    async with pushing() as world:
        world.make(12)
        async with following(wanted(world, folder)):
            await until(has(folder, world.chain))
            for memo in ("a", "b"):
                world.chain.push_transaction(transfer(world.chain, memo))
                world.make(2)
            await until(has(folder, world.chain))
            assert [row["memo"] for row in rows_in(folder)["operations/kind=transfer"]] == ["a", "b"]
            await require_like(folder, world.chain, tmp_path / "grown")
            world.chain.pop_blocks(2)
            world.chain.clear_pending()
            await until(has(folder, world.chain))
            assert [row["memo"] for row in rows_in(folder)["operations/kind=transfer"]] == ["a"]
            await require_like(folder, world.chain, tmp_path / "shorter")
            world.switch(3)
            await until(has(folder, world.chain))
            assert "operations/kind=transfer" not in rows_in(folder)
            world.make(20)
            await until(has(folder, world.chain))
        await require_like(folder, world.chain, tmp_path / "switched")
        found = manifest_in(folder)
        assert found is not None
        assert [each.first for each in found.ranges] == [1, 10, 20, 30]
        *whole, newest = found.ranges
        assert [each.is_open for each in whole] == [each.last > world.chain.irreversible for each in whole]
        assert newest.is_open


async def test_a_stopped_export_continues_from_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.research.export.run.SECONDS_BETWEEN_SNAPSHOTS", 0.0)
    folder = tmp_path / "export"
    async with pushing() as world:
        world.make(55)
        async with following(wanted(world, folder)):
            await until(has(folder, world.chain))
        first = manifest_in(folder)
        world.switch(2)
        world.make(9)
        async with following(wanted(world, folder)) as task:
            await until(has(folder, world.chain))
        assert 0 < task.chain.started_at <= world.chain.irreversible
        await require_like(folder, world.chain, tmp_path / "whole")
        second = manifest_in(folder)
        assert first is not None
        assert second is not None
        closed = [each for each in first.ranges if not each.is_open]
        assert closed
        assert second.ranges[: len(closed)] == closed
        # A file of blocks continues it, too.
        before = rows_in(folder)
        source = tmp_path / "whole.jsonl"
        assert await Export(wanted(world, folder, follow="", source=source)).run()
        assert rows_in(folder) == before


async def test_tables_are_those_after_the_edits_of_their_block(tmp_path: Path) -> None:
    async with pushing() as world:
        world.make(10)
        world.chain.edit(SetBalance("alice", Asset(5, COIN)))
        async with following(wanted(world, tmp_path, tables={"accounts": 5})):
            await until(has(tmp_path, world.chain))
            world.make(2)
            await until(has(tmp_path, world.chain))
            connection = open_export(tmp_path)
            found = "SELECT at_block, balance FROM accounts_at WHERE name = 'alice' ORDER BY at_block"
            first, *edited = connection.sql(found).fetchall()
            assert (first[0], edited) == (5, [(10, Asset(5, COIN).amount), (12, 5)])


async def test_a_range_of_blocks_ends_once_it_is_irreversible(tmp_path: Path) -> None:
    async with pushing() as world:
        world.make(40)
        task = FollowingExport(wanted(world, tmp_path, first=5, last=17))
        assert await task.run()
        found = manifest_in(tmp_path)
        assert found is not None
        assert [(each.first, each.last, each.is_end) for each in found.ranges] == [(5, 9, False), (10, 17, True)]
        assert not any(each.is_open for each in found.ranges)
        assert {row["block"] for row in rows_in(tmp_path)["blocks"]} == set(range(5, 18))
        assert (tmp_path / "tables/table=accounts/at=0000000017").exists()
        again = FollowingExport(wanted(world, tmp_path, first=5, last=17))
        assert await again.run()
        assert manifest_in(tmp_path) == found
        assert all("done" in line for line in again.plan())


async def test_the_blocks_of_another_node_are_refused(tmp_path: Path) -> None:
    async with pushing() as world:
        world.make(40)
        async with following(wanted(world, tmp_path)):
            await until(has(tmp_path, world.chain))
    before = rows_in(tmp_path)
    async with pushing() as world:
        make_block(world.chain, missed=1)
        world.make(40)
        with fails(NodeError):
            await FollowingExport(wanted(world, tmp_path)).run()
    assert rows_in(tmp_path) == before


@pytest.mark.parametrize("renames", [0, 1, 4, 12])
async def test_an_export_with_a_failing_disk_ends_and_can_be_continued(tmp_path: Path, renames: int) -> None:
    folder = tmp_path / "export"
    async with pushing() as world:
        world.make(40)
        with pytest.raises(DiskError):
            await FollowingExport(wanted(world, folder, disk=FailingDisk(renames))).run()
        async with following(wanted(world, folder)):
            await until(has(folder, world.chain))
        await require_like(folder, world.chain, tmp_path / "whole")


async def test_a_chain_that_undoes_irreversible_blocks_is_exported_again(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    async with pushing() as world:
        world.make(12)
        savepoint = world.chain.savepoint()
        world.make(30)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow_node, wanted(world, folder))
            await until(has(folder, world.chain))
            world.chain.restore(savepoint)
            make_block(world.chain, missed=1)
            world.make(3)
            await until(has(folder, world.chain))
            nursery.cancel_scope.cancel()
        await require_like(folder, world.chain, tmp_path / "again")


class ScriptedNode:
    """A source of events. Each connection gets the events of the script, and then no more until it ends."""

    def __init__(self, chain: Chain, script: Callable[[], AsyncGenerator[list[Event | Heartbeat]]]) -> None:
        self._chain, self._script = chain, script

    async def batches(self, _: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        async with aclosing(self._script()) as script:
            async for batch in script:
                yield batch
        await trio.sleep_forever()

    async def head(self) -> int:
        return self._chain.state.props.head_block_number

    async def id_of(self, number: int) -> bytes | None:
        return block_at(self._chain, number).id


def events(chain: Chain, first: int, last: int) -> list[Event | Heartbeat]:
    """Return the events of some blocks, with the head of their chain."""
    return [Heartbeat(last), *[new_block(chain, block_at(chain, number)) for number in range(first, last + 1)]]


async def test_a_refused_block_ends_the_export_and_leaves_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, chain = tmp_path / "export", grown_chain(25)
    wrong = signed_block(other := copy_of(chain), make_block(other), b"\x01" * 32)

    async def script() -> AsyncGenerator[list[Event | Heartbeat]]:
        yield events(chain, 1, 25)
        await until(has(folder, chain))
        yield [NewBlock(26, wrong.id, chain.state.wire.pack_block(wrong))]

    monkeypatch.setattr(follow, "source_at", lambda url, spec: ScriptedNode(chain, script))
    with fails(NodeError):
        await FollowingExport(ExportOptions(spec=DEV, follow="http://node", to=folder, chunk_blocks=10, tables=TABLES)).run()
    await require_like(folder, chain, tmp_path / "whole")


async def test_an_export_that_fails_writes_no_more_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "SLICE_SECONDS", math.inf)
    chain, left = grown_chain(40), copy_of(grown_chain(40), 3)
    make_block(left, missed=1)

    async def script() -> AsyncGenerator[list[Event | Heartbeat]]:
        yield [*events(left, 1, 4), BlocksRemoved(4, 4), *events(chain, 4, 40)]

    monkeypatch.setattr(follow, "source_at", lambda url, spec: ScriptedNode(chain, script))
    options = ExportOptions(spec=DEV, follow="http://node", to=tmp_path, chunk_blocks=10, tables=TABLES, first=5)
    with pytest.raises(follow.ChainReplaced):
        await FollowingExport(options).run()
    assert last_id(tmp_path) == ""


async def test_equal_blocks_with_other_edits_are_exported_again(tmp_path: Path) -> None:
    async with pushing() as world:
        world.make(12)
        savepoint = world.chain.savepoint()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow_node, wanted(world, tmp_path, tables={"accounts": 5}))
            for amount, count in ((100, 40), (200, 41)):
                world.chain.restore(savepoint)
                world.chain.edit(SetBalance("alice", Asset(amount, COIN)))
                world.make(count)
                await until(has(tmp_path, world.chain))
            nursery.cancel_scope.cancel()
        found = "SELECT DISTINCT balance FROM accounts_at WHERE name = 'alice' AND at_block > 12"
        assert open_export(tmp_path).sql(found).fetchall() == [(200,)]


@pytest.mark.parametrize("is_running", [True, False])
async def test_an_edit_of_an_irreversible_block_is_exported(tmp_path: Path, is_running: bool) -> None:
    async with pushing() as world:
        options = wanted(world, tmp_path, tables={"accounts": 1}, chunk_blocks=1)
        world.make(30)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow_node, options)
            await until(has(tmp_path, world.chain))
            if not is_running:
                nursery.cancel_scope.cancel()
            world.chain.pop_blocks(world.chain.main_branch.poppable)
            number = world.chain.state.props.head_block_number
            assert number == world.chain.irreversible
            world.chain.edit(SetBalance("alice", Asset(100, COIN)))
            world.make(31)
            await until(lambda: not is_running or has(tmp_path, world.chain)())
            nursery.cancel_scope.cancel()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow_node, options)
            await until(has(tmp_path, world.chain))
            nursery.cancel_scope.cancel()
        found = f"SELECT balance FROM accounts_at WHERE name = 'alice' AND at_block = {number}"
        assert open_export(tmp_path).sql(found).fetchall() == [(100,)]


@pytest.mark.parametrize("seed", range(4))
async def test_any_sequence_of_changes_is_followed(tmp_path: Path, seed: int) -> None:
    chance, folder = random.Random(seed), tmp_path / "export"
    async with pushing() as world:
        chain = world.chain
        for _ in range(6):
            async with following(wanted(world, folder)):
                for _ in range(chance.randrange(1, 5)):
                    reversible = chain.main_branch.poppable
                    match chance.randrange(5):
                        case 0 if reversible:
                            chain.pop_blocks(chance.randrange(reversible) + 1)
                            chain.clear_pending()
                        case 1 if reversible:
                            world.switch(chance.randrange(reversible) + 1)
                        case 2:
                            chain.push_transaction(transfer(chain, str(chance.random())))
                            world.make()
                        case _:
                            world.make(chance.randrange(1, 8))
                    await (until(has(folder, chain)) if chance.random() < 0.5 else trio.sleep(0))
        async with following(wanted(world, folder)):
            await until(has(folder, chain))
        await require_like(folder, chain, tmp_path / "whole")
