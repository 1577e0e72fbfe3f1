"""A data folder of a chain that begins with a fork file: restarts, replays, exports, snapshots, repairs, and other chains in the folder."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec import structs

from node.app.context import NodeContext
from node.app.node import load, opened_folder
from node.app.settings import Settings
from node.cli.run_options import Run, start_of
from node.processor.processor import Processor
from node.research.library.chains import chain_at
from node.research.library.replay import replayed
from node.runtime.errors import NodeError
from node.snapshots.base import read_base
from node.snapshots.folder import folder_of, paths
from node.specs.plugins import chosen_plugins
from node.storage.datafolder import FORK_NAME
from node.storage.disk import SystemDisk
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.state_edits import SetBalance
from state.plugins.account_history import history
from state.protocol.values.asset import COIN, Asset
from tests.conftest import ROOT
from tests.helpers.based import BASE, base_file, live
from tests.helpers.commands import coind
from tests.helpers.golden import fails
from tests.helpers.nodes import DEV, make_block, transfer

PLUGINS = chosen_plugins(DEV)
DISK = SystemDisk()


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fork file with the data of all plugins of the chain dev."""
    return base_file(tmp_path_factory.mktemp("fork"), plugins=PLUGINS)


async def run(data: Path, fork: Path, work: Callable[[NodeContext], Any], **given: Any) -> tuple[str, bytes]:
    """Start a node in a folder, let it work, and stop it. Return the state's digest and the head's id."""
    spec = read_base(fork)
    given["clock"] = lambda: spec.base.time * 1000  # a later clock would mean a gap, which is filled with blocks
    context = NodeContext(Settings(spec=spec, base=fork, plugins=PLUGINS, is_producing=True, data=data, **given))
    with opened_folder(context) as (folder, _):
        assert folder is not None
        context.devchain.edit_log = folder.edits
        loaded = await load(context, folder)
        if loaded is not None:
            loaded.finish()
        Processor(context.chain, log=folder.log)
        context.chain.sidecars.on_added.append(folder.edits.append)
        context.chain.sidecars.on_dropped.append(folder.edits.drop)
        work(context)
        context.chain.clear_pending()
        found = state_digest(context.chain.state), context.chain.state.props.head_block_id
    context.require_sound()
    return found


def nothing(_: NodeContext) -> None:
    pass


def some_blocks(chain: Chain, count: int = 40) -> None:
    for number in range(count):
        chain.push_transaction(transfer(chain, f"later {number}"))
        make_block(chain)


@pytest.fixture(scope="module")
def data(fork: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with 40 blocks and without edits or snapshots."""
    folder = tmp_path_factory.mktemp("folder") / "data"
    trio.run(partial(run, folder, fork, lambda context: some_blocks(context.chain), snapshot_every=0))
    return folder


@pytest.mark.parametrize("every", [0, 10])
async def test_a_node_goes_on_with_its_folder_alone(fork: Path, tmp_path: Path, every: int) -> None:
    copy, data = tmp_path / "given", tmp_path / "data"
    copy.write_bytes(fork.read_bytes())
    begin = await run(data, copy, nothing, snapshot_every=every)
    copy.unlink()
    own = data / FORK_NAME
    assert own.read_bytes() == fork.read_bytes()
    assert await run(data, own, nothing, snapshot_every=every) == begin
    for _ in range(2):
        lived = await run(data, own, lambda context: live(context.chain), snapshot_every=every)
        assert await run(data, own, nothing, snapshot_every=every) == lived
        assert bool(paths(folder_of(data), DISK)) == bool(every)

    def revert(context: NodeContext) -> None:
        """Return to a dev snapshot, across irreversible blocks, then to the start of the chain."""
        devchain = context.devchain
        first = devchain.snapshot()
        live(context.chain, 40)
        devchain.revert(first)
        live(context.chain, 3)
        devchain.reset()
        assert context.chain.state.props.head_block_number == BASE + 1

    assert await run(data, own, revert, snapshot_every=every) == await run(data, own, nothing, snapshot_every=every)


async def test_blocks_and_history_are_read_from_the_folder(data: Path) -> None:
    def look(context: NodeContext) -> None:
        chain = context.chain
        numbers = range(BASE - 5, BASE + 41)
        assert [number for number in numbers if chain.block_by_number(number) is None] == list(range(BASE - 5, BASE + 1))
        found = [record.block for _, record in history(chain.state, "alice", -1, 40)]
        assert found == list(range(BASE + 1, BASE + 41))

    await run(data, data / FORK_NAME, look, snapshot_every=0)


async def test_a_branch_from_the_base_replaces_the_log(fork: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"

    def switch(context: NodeContext) -> None:
        chain = context.chain
        for _ in range(3):
            make_block(chain)
        own = chain.savepoint()
        chain.pop_blocks(3)
        branch = [make_block(chain, 1) for _ in range(4)]
        chain.restore(own)
        for block in branch:
            chain.push_block(structs.replace(block))
        assert chain.state.props.head_block_id == branch[-1].id

    assert await run(data, fork, switch, snapshot_every=0) == await run(data, data / FORK_NAME, nothing, snapshot_every=0)


async def test_edits_stay(fork: Path, tmp_path: Path) -> None:
    def edit(context: NodeContext) -> None:
        make_block(context.chain)
        for amount in range(3):
            context.chain.edit(SetBalance("carol", Asset(amount, COIN)))

    for every in (0, 10):
        data = tmp_path / str(every)
        edited = await run(data, fork, edit, snapshot_every=every)
        assert await run(data, data / FORK_NAME, nothing, snapshot_every=every) == edited


# ------------------------------------------------------------------ commands


def replay(*words: object) -> subprocess.CompletedProcess[str]:
    """Run `coind replay` as a process."""
    command = [sys.executable, "-m", "node", "replay", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


async def test_a_replay_begins_with_the_fork_file(data: Path, tmp_path: Path) -> None:
    digest, head_id = await run(data, data / FORK_NAME, nothing, snapshot_every=0)
    shown = replay(data)
    assert f"head block {BASE + 40} {head_id.hex()}" in shown.stdout, shown.stderr
    assert f"state digest: {digest}" in shown.stdout
    other, saved = tmp_path / "other", tmp_path / "saved"
    assert digest in replay(data, "--data", other).stdout
    assert await run(other, other / FORK_NAME, nothing, snapshot_every=0) == (digest, head_id)
    assert digest in replay(data, "--snapshots", saved, "--snapshot-every", 10).stdout
    assert [path.name[:10].lstrip("0") for path in paths(saved, DISK)] == ["40"]
    assert digest in replay(data, "--parallel", "2", "--snapshots", saved).stdout
    assert digest in replay(data, "--from", paths(saved, DISK)[0]).stdout
    assert "before block 30" in replay(data, "--until", BASE - 1).stderr


async def test_the_library_begins_with_the_fork_file(data: Path) -> None:
    digest, _ = await run(data, data / FORK_NAME, nothing, snapshot_every=0)
    with chain_at(data, BASE + 40) as chain:
        assert chain.digest == digest
        assert chain.block(BASE + 1).number == BASE + 1
        assert chain.call("condenser_api.get_block", [BASE]) is None
    with chain_at(data / "block_log", BASE) as chain:
        assert chain.number == BASE
    with replayed(data, first=BASE - 3, last=BASE + 5) as steps:
        assert [step.block.number for step in steps] == list(range(BASE + 1, BASE + 6))


def test_an_export_has_the_blocks_after_the_base(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for only in ([], ["--only", "blocks"], ["--tables", "accounts"]):
        to = str(tmp_path / "-".join(only))
        shown = coind(capsys, "export", str(data), "--to", to, *only)
        assert shown.status == 0, shown.err
        assert f"blocks {BASE + 1:,} to {BASE + 40:,}" in shown.out + shown.err
        assert coind(capsys, "export", str(data), "--to", to, *only).status == 0
        rows = coind(capsys, "sql", to, "SELECT count(*) AS n, min(block) AS first FROM blocks", "--csv")
        assert rows.out.splitlines()[1:] == [f"40,{BASE + 1}"], rows.err


def test_snapshots_of_the_folder(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy, new = str(shutil.copytree(data, tmp_path / "copy")), tmp_path / "new"
    for words in (
        ["save", "--data", copy],
        ["verify", "--data", copy, "--replay"],
        ["list", "--data", copy],
        ["verify", str(Path(copy) / FORK_NAME)],
        ["save", "--data", copy, "--to", str(tmp_path), "--with-blocks"],
    ):
        shown = coind(capsys, "snapshot", *words)
        assert shown.status == 0, shown.err
    (snapshot,) = tmp_path.glob("*.snapshot")
    # The new folder first needs the fork file.
    assert coind(capsys, "snapshot", "load", str(snapshot), "--data", str(new)).status != 0
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    shutil.copy(data / FORK_NAME, new)
    shown = coind(capsys, "snapshot", "load", str(snapshot), "--data", str(new))
    assert shown.status == 0, shown.err
    assert coind(capsys, "snapshot", "verify", "--data", str(new), "--replay").status == 0
    assert (data / "block_log").read_bytes().startswith((new / "block_log").read_bytes())
    first = Path(copy) / "snapshots" / snapshot.name
    assert coind(capsys, "snapshot", "diff", str(first), str(new / "snapshots" / snapshot.name)).status == 0


def test_blocks_are_checked_and_repaired(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copytree(data, tmp_path / "copy")
    assert "40 good blocks" in coind(capsys, "blocks", "check", str(copy)).out
    log = copy / "block_log"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    shown = coind(capsys, "blocks", "check", str(copy))
    assert shown.status == 1
    shown = coind(capsys, "blocks", "repair", str(copy), "--accept-loss")
    assert f"kept blocks {BASE + 1} to" in shown.out
    assert "nothing is damaged" in coind(capsys, "blocks", "check", str(copy)).out


# ------------------------------------------------------------------ other chains


async def test_another_fork_file_is_refused(data: Path, fork: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(data, tmp_path / "copy")
    other = base_file(tmp_path, 31, PLUGINS)
    with fails(NodeError):
        await run(copy, other, nothing)
    shutil.rmtree(copy / "snapshots", ignore_errors=True)
    with fails(NodeError):
        NodeContext(Settings(spec=DEV, plugins=(), data=copy))
        with opened_folder(NodeContext(Settings(spec=DEV, plugins=(), data=copy))):
            pass
    (copy / FORK_NAME).unlink()
    assert await run(copy, fork, nothing, snapshot_every=0) == await run(data, data / FORK_NAME, nothing, snapshot_every=0)
    assert (copy / FORK_NAME).read_bytes() == fork.read_bytes()


def test_a_folder_determines_the_chain(data: Path, fork: Path, tmp_path: Path) -> None:
    for options, path in ((Run(data=str(data)), data / FORK_NAME), (Run(data=str(data), fork=str(fork)), fork)):
        with start_of(options) as (spec, settings):
            assert (spec, settings["base"]) == (read_base(fork), path)
    with start_of(Run(data=str(tmp_path))) as (_, settings):
        assert not settings
    with fails(NodeError), start_of(Run(data=str(data), chain="dev")):
        pass


def test_a_damaged_fork_file_is_reported(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copytree(data, tmp_path / "copy")
    content = bytearray((copy / FORK_NAME).read_bytes())
    content[1000] ^= 1
    (copy / FORK_NAME).write_bytes(content)
    assert "good copy of the fork file" in coind(capsys, "snapshot", "save", "--data", str(copy)).err
    assert "good copy of the fork file" in replay(copy).stderr
