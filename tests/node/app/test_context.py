"""Whether a node that starts with a data folder has the spec's accounts at genesis or creates them in blocks depends on the folder's chain,
not on the node's options. Commands that read a folder find the numbers of its witnesses and accounts in it.
"""

from pathlib import Path

import pytest

from node.app.context import NodeContext
from node.app.settings import Settings
from node.cli.app import app
from node.specs.builder import load_spec
from node.storage.blocklog import LOG_NAME
from node.storage.datafolder import CHAIN_NAME, DataFolder
from state.chain.head_change import HeadChange

SPEC = load_spec("dev")


def context_of(folder: Path, is_in_blocks: bool) -> NodeContext:
    return NodeContext(Settings(spec=SPEC.with_accounts_in_blocks(is_in_blocks), plugins=(), is_producing=True, accounts=3, data=folder))


def filled(folder: Path, is_in_blocks: bool, *, accounts: int | None = 3, witnesses: int | None = None) -> Path:
    """Write the first blocks of a chain to a folder. Return the folder."""
    spec = SPEC.with_accounts_in_blocks(is_in_blocks)
    context = NodeContext(Settings(spec=spec, plugins=(), is_producing=True, accounts=accounts, witnesses=witnesses, data=folder))
    data = DataFolder(folder, context.settings.spec, context.chain.state.wire)

    def write(change: HeadChange) -> None:
        data.log.switch((), change.applied)

    context.chain.on_head_change.append(write)
    context.devchain.make_first_blocks()
    data.close()
    return folder


@pytest.mark.parametrize("is_in_blocks", [True, False])
@pytest.mark.parametrize("gone", ["", CHAIN_NAME])
def test_the_chain_in_the_folder_decides(tmp_path: Path, is_in_blocks: bool, gone: str) -> None:
    folder = filled(tmp_path, is_in_blocks)
    if gone:
        (folder / gone).unlink()
    for wanted in (True, False):
        assert context_of(folder, wanted).settings.spec.genesis.accounts_in_blocks == is_in_blocks


def test_without_a_chain_the_options_decide(tmp_path: Path) -> None:
    for wanted in (True, False):
        for folder in (tmp_path / "missing", tmp_path):
            assert context_of(folder, wanted).settings.spec.genesis.accounts_in_blocks == wanted
    (tmp_path / CHAIN_NAME).write_text("damaged")
    assert context_of(tmp_path, True).settings.spec.genesis.accounts_in_blocks


@pytest.mark.parametrize("is_in_blocks", [True, False])
@pytest.mark.parametrize(("witnesses", "accounts"), [(None, None), (21, 300)])
def test_commands_read_all_kinds(
    tmp_path: Path, is_in_blocks: bool, witnesses: int | None, accounts: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.cli.run_options.configure_logs", lambda *_, **__: None)
    folder = filled(tmp_path / "data", is_in_blocks, accounts=accounts, witnesses=witnesses)
    snapshots = tmp_path / "snapshots"

    def run(*words: str | Path) -> None:
        assert app([str(word) for word in words], result_action="return_value", exit_on_error=False) == 0

    run("snapshot", "save", "--data", folder, "--to", snapshots, "--with-blocks")
    (snapshot,) = snapshots.iterdir()
    run("snapshot", "verify", snapshot, "--data", folder, "--replay")
    run("snapshot", "diff", snapshot, snapshot)
    run("snapshot", "load", snapshot, "--data", tmp_path / "loaded")
    run("blocks", "check", folder)
    run("replay", folder, "--workers", "0")
    run("replay", folder, "--workers", "0", "--from", snapshot)
    run("replay", folder / LOG_NAME, "--parallel", "1", "--snapshots", snapshots)
    run("export", folder, "--to", tmp_path / "exported")
