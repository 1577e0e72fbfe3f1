"""Starts from snapshots, and saving of snapshots while a node runs and at its shutdown."""

from pathlib import Path

import pytest
import trio

from node.app.context import NodeContext
from node.app.node import load
from node.app.settings import Settings
from node.history.resume import complete
from node.runtime import child_chunks
from node.snapshots import saver as saver_module
from node.snapshots.folder import folder_of, paths, save
from node.snapshots.saver import RETRY_SECONDS, SnapshotSaver
from node.storage.datafolder import DataFolder
from node.storage.disk import SystemDisk
from state.chain.chain import Chain
from state.chain.digest import state_digest
from tests.helpers.nodes import DEV, make_block, transfer
from tests.helpers.snapshots import snapshot

DISK = SystemDisk()
PLUGINS = ("account_history", "tags", "reputation", "follow")


def site(data: Path) -> NodeContext:
    return NodeContext(Settings(spec=DEV, plugins=PLUGINS, data=data))


def saver_of(chain: Chain, data: Path, every: int = 1000) -> SnapshotSaver:
    return SnapshotSaver(chain, folder_of(data), DISK, every)


async def started(data: Path) -> Chain:
    """Start a node with a data folder, then close it. Return its chain."""
    begun = site(data)
    folder = DataFolder(data, DEV, begun.chain.state.wire)
    try:
        loaded = await load(begun, folder)
        if loaded is not None:
            await complete(loaded)
    finally:
        folder.close()
    return begun.chain


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with 40 blocks, some of which contain a transfer."""
    begun = site(tmp_path)
    folder = DataFolder(tmp_path, DEV, begun.chain.state.wire)
    for number in range(40):
        if number % 7 == 3:
            begun.chain.push_transaction(transfer(begun.chain, f"the memo of {number}"))
        folder.log.append(make_block(begun.chain))
    folder.close()
    return tmp_path


def whole(chain: Chain) -> object:
    return state_digest(chain.state), {name: snapshot(plugin) for name, plugin in chain.state.plugins.items()}


async def test_a_start_from_a_snapshot_equals_a_replay(data: Path) -> None:
    replayed = await started(data)
    before = whole(replayed)
    assert replayed.started_at == 0
    saver_of(replayed, data).save_at_stop()
    again = await started(data)
    assert again.started_at > 0
    assert whole(again) == before
    # Again, from a snapshot of a chain that itself started from a snapshot.
    make_block(again)
    saver_of(again, data).save_at_stop()
    assert len(paths(folder_of(data), DISK)) >= 1
    assert whole(await started(data)) == before


async def test_a_start_survives_corrupt_snapshots(data: Path) -> None:
    replayed = await started(data)
    before = whole(replayed)
    saver_of(replayed, data).save_at_stop()
    (path,) = paths(folder_of(data), DISK)
    path.write_bytes(path.read_bytes()[:-1])
    again = await started(data)
    assert again.started_at == 0
    assert whole(again) == before
    assert [each.name for each in folder_of(data).iterdir()] == [f"{path.name}.broken"]


async def test_unverified_blocks_are_replayed(data: Path) -> None:
    """Without the folder's `chain.json`, a node trusts neither the block log nor the snapshots."""
    replayed = await started(data)
    saver_of(replayed, data).save_at_stop()
    (data / "chain.json").unlink()
    assert (await started(data)).started_at == 0
    assert (await started(data)).started_at > 0


async def test_old_blocks_come_from_the_log(data: Path) -> None:
    replayed = await started(data)
    saver_of(replayed, data).save_at_stop()
    begun = site(data)
    folder = DataFolder(data, DEV, begun.chain.state.wire)
    await load(begun, folder)
    blocks = [begun.chain.block_by_number(number) for number in range(1, 41)]
    assert [block.number for block in blocks if block is not None] == list(range(1, 41))
    assert begun.chain.block_by_number(41) is None
    folder.close()


async def test_a_running_node_saves_periodically(data: Path) -> None:
    chain = await started(data)
    digest = state_digest(chain.state)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(saver_of(chain, data, 10).run)
        while not paths(folder_of(data), DISK):
            await trio.sleep(0.1)
        nursery.cancel_scope.cancel()
    assert state_digest(chain.state) == digest  # saving in a child doesn't change the chain
    make_block(chain)
    assert (await started(data)).started_at > 0


async def test_a_snapshot_that_several_processes_encode_has_the_same_bytes(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_chunks, "COPIED_PAGES_MAX", 0)
    chain = await started(data)
    chain.rewind()
    written = []
    for chain.is_disposable in (False, True):
        path = save(chain, data / "written", DISK)
        written.append(path.read_bytes())
        path.unlink()
    assert written[0] == written[1]


async def test_a_failed_save_is_survived(data: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: object) -> None:
    chain = await started(data)

    def refuse(*arguments: object) -> None:
        raise OSError(28, "No space left on device", "snapshots")

    monkeypatch.setattr(saver_module, "save", refuse)
    with trio.move_on_after(RETRY_SECONDS / 2) as scope:
        await saver_of(chain, data, 10).run()
    assert scope.cancelled_caught
    assert paths(folder_of(data), DISK) == []


async def test_interval_0_disables_snapshots(data: Path, autojump_clock: object) -> None:
    chain = await started(data)
    saver = saver_of(chain, data, 0)
    await saver.run()
    saver.save_at_stop()
    assert not folder_of(data).exists()


async def test_snapshots_of_reverted_blocks_are_removed(data: Path) -> None:
    begun = site(data)
    start = begun.chain.savepoint()
    saver = saver_of(begun.chain, data, 1)
    saver.follow_moves()
    folder = DataFolder(data, DEV, begun.chain.state.wire)
    try:
        await load(begun, folder)
        folder_of(data).mkdir()
        (folder_of(data) / f"0000000019-{'0' * 40}.snapshot").touch()
        assert len(paths(folder_of(data), DISK)) == 1
        begun.chain.restore(start)
        assert paths(folder_of(data), DISK) == []
        for _ in range(30):
            make_block(begun.chain)
        saver.save_at_stop()
        assert [path.name[:10] for path in paths(folder_of(data), DISK)] == ["0000000009"]
    finally:
        folder.close()


async def test_each_due_snapshot_is_of_its_block_even_if_the_one_before_has_just_been_written(data: Path) -> None:
    chain = await started(data)
    saver = saver_of(chain, data, every=10)
    saved: list[int] = []
    for due in (chain.irreversible // 10 * 10 + 10, chain.irreversible // 10 * 10 + 20):
        while chain.irreversible < due:
            make_block(chain)
        begun = saver.save_if_due()
        assert begun is not None
        await begun
        saved.append(due)
        # The child ends between two blocks, before the next call.
        assert saver._child is not None
        while saver._child.status() is None:
            await trio.sleep(0.01)
    await saver.finish()
    assert {int(path.name[:10]) for path in paths(folder_of(data), DISK)} >= set(saved)
