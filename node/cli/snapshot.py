"""`coind snapshot`: saves, lists, loads, verifies and compares snapshots of a chain's state, without starting a node."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from node.app.context import NodeContext
from node.app.node import load
from node.app.settings import Settings
from node.cli.parameters import Chain, Config, Flag, Repeated, data_folder
from node.history.apply import TRUST_OWN, ChainCursor, replay
from node.history.chain_detection import recorded_variant, stored_variant
from node.history.sources import OlderBlocks
from node.runtime.errors import NodeError, last_line
from node.runtime.output import say
from node.runtime.shutdown import run_to_end
from node.snapshots.base import SPEC, new_chain, read_base
from node.snapshots.differences import differences
from node.snapshots.file import Snapshot, SnapshotError
from node.snapshots.folder import BLOCKS, folder_of, has_positions, paths, require_in_log, save
from node.snapshots.folder import load as load_snapshot
from node.snapshots.install import blocks_of, install
from node.specs.builder import DEFAULT_CHAIN, load_spec
from node.specs.plugins import chosen_plugins
from node.storage.datafolder import DataFolder, fork_in
from node.storage.disk import SystemDisk
from state.chain.digest import state_digest
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire
from state.snapshot.image import Older
from state.tables import State

snapshot = App(name="snapshot", help="Save, list, load, verify or compare snapshots of the state.", group_commands="Commands")

Data = Annotated[str, Parameter(help="The data folder of a node, which must not be running.")]
Existing = Annotated[Path, Parameter(help="A snapshot.")]


@snapshot.command(name="save")
def save_command(
    *,
    data: Data,
    chain: Chain = DEFAULT_CHAIN,
    enable: Annotated[Repeated, Parameter(help="An additional plugin to save; can be repeated.")] = (),
    disable: Annotated[Repeated, Parameter(help="A plugin to leave out; can be repeated.")] = (),
    to: Annotated[Path | None, Parameter(help="The folder for the snapshot; by default that of the data folder.")] = None,
    with_blocks: Annotated[Flag, Parameter(help="Include the blocks, so that it can be loaded into an empty folder.")] = False,
    config: Config = None,
) -> int:
    """Save a snapshot at the last irreversible block of a data folder."""
    folder = existing_folder(data)
    fork = fork_in(folder)
    spec = stored_variant(load_spec(chain), folder) if fork is None else read_base(fork)
    settings = Settings(spec=spec, base=fork, plugins=chosen_plugins(spec, enable, disable), data=folder)
    return run_to_end(partial(_save, settings, to, with_blocks))


@snapshot.command(name="list")
def list_command(*, data: Data, config: Config = None) -> int:
    """List the snapshots of a data folder, newest first."""
    folder = folder_of(existing_folder(data))
    found = paths(folder, SystemDisk())
    if not found:
        say(f"{folder}: no snapshots")
    for place, path in enumerate(found):
        if place:
            say("")
        try:
            show(path)
        except SnapshotError as error:
            say(f"unusable    {error}")
    return 0


@snapshot.command(name="verify")
def verify_command(
    file: Annotated[Path | None, Parameter(help="A snapshot; by default all of the data folder.")] = None,
    /,
    *,
    data: Annotated[str | None, Parameter(help="A data folder.")] = None,
    chain: Chain = DEFAULT_CHAIN,
    replay: Annotated[Flag, Parameter(help="Replay the data folder's blocks and compare the states.")] = False,
    config: Config = None,
) -> int:
    """Check every byte of a snapshot, load it, and compare the state's digest with the stored one."""
    folder = None if data is None else existing_folder(data)
    if replay and folder is None:
        raise NodeError("--replay needs the blocks. Give their folder by --data.")
    if file is not None:
        found = [file]
    elif folder is not None:
        found = paths(folder_of(folder), SystemDisk())
    else:
        raise NodeError("give a snapshot, or a data folder by --data")
    if not found:
        raise NodeError(f"{data}: no snapshots")
    bad = 0
    for path in found:
        try:
            verify(path, chain, folder)
            if replay and folder is not None:
                run_to_end(partial(_compare, path, chain, folder))
            show(path)
        except SnapshotError as error:
            bad += 1
            last_line(f"coind: {error}")
    return 1 if bad else 0


@snapshot.command(name="load")
def load_command(file: Existing, /, *, data: Data, chain: Chain = DEFAULT_CHAIN, config: Config = None) -> int:
    """Install a snapshot in a data folder for the next start.

    The folder's block log must contain the blocks up to the snapshot. An empty folder gets them from a snapshot that was saved
    `--with-blocks`. The state is trusted. Use `verify --replay` to check that the blocks lead to it.
    """
    folder = data_folder(data)
    verify(file, chain, folder)
    path = install(file, folder, spec_for(chain, opened_snapshot(file), folder)[0], SystemDisk())
    show(path)
    return 0


@snapshot.command(name="diff")
def diff_command(
    first: Existing,
    second: Existing,
    /,
    *,
    chain: Chain = DEFAULT_CHAIN,
    rows: Annotated[int, Parameter(help="The number of differing rows to show per table.")] = 5,
    config: Config = None,
) -> int:
    """Show the tables in which two snapshots differ, and their first differing rows (exit status 1: they differ)."""
    # Positions of texts can be compared with each other. To compare them with texts, the blocks are needed.
    is_mixed = has_positions(first, SystemDisk()) != has_positions(second, SystemDisk())
    one, other = (load_state(path, chain, older=older_blocks if is_mixed else None) for path in (first, second))
    found = False
    for line in differences(one, other, rows):
        found = True
        say(line)
    if not found:
        say("no difference")
    return 1 if found else 0


# ------------------------------------------------------------------ the work


async def _save(settings: Settings, to: Path | None, with_blocks: bool) -> int:
    assert settings.data is not None
    context = NodeContext(settings)
    folder = DataFolder(settings.data, context.settings.spec, context.chain.state.wire, fork=settings.base)
    try:
        await load(context, folder)
        to_folder = to or folder_of(settings.data)
        path = save(context.chain, to_folder, SystemDisk(), with_blocks=with_blocks, is_used_with_log=to is None)
    finally:
        folder.close()
    show(path)
    return 0


async def _compare(path: Path, name: str, data: Path) -> int:
    """Replay the blocks of a data folder up to a snapshot's block, and compare the digest of the resulting state with the snapshot's.
    Raises SnapshotError.
    """
    opened = opened_snapshot(path)
    head, (spec, fork) = opened.head, spec_for(name, opened, data)
    chain = new_chain(spec, fork)
    folder = DataFolder(data, spec, chain.state.wire)
    try:
        require_in_log(path, head.number, head.block_id, chain, folder.log.packed)
        await replay(ChainCursor(chain, folder.log.blocks(), skip_flags=TRUST_OWN), until=head.number)
    finally:
        folder.close()
    digest = state_digest(chain.state)
    if digest != head.digest:
        why = ". It includes state edits, which are not in blocks" if head.is_changed_by_hand else ""
        raise SnapshotError(f"{path}: the blocks lead to the state {digest}, not to {head.digest}{why}")
    return 0


def verify(path: Path, name: str, folder: Path | None) -> None:
    """Check every byte of a snapshot, load it, and compare the digest of the loaded state with the stored one. Raises SnapshotError."""
    opened = Snapshot(path, SystemDisk())
    try:
        opened.check()
    finally:
        opened.close()
    digest = state_digest(load_state(path, name, folder, older=older_blocks))
    if digest != opened.head.digest:
        raise SnapshotError(f"{path}: its state has the digest {digest}, not {opened.head.digest}")


def load_state(path: Path, name: str, folder: Path | None = None, *, older: Callable[[Path, Path | None, Wire], Older] | None) -> State:
    """Load a snapshot with the plugins that it contains, and return its state. Without `older`, texts of posts can't be read."""
    opened = opened_snapshot(path)
    spec, fork = spec_for(name, opened, folder)
    chain = new_chain(spec, path if fork == path else None, opened.head.plugins)
    if fork != path:
        find = None if older is None else older(path, folder, chain.state.wire)
        load_snapshot(chain, path, SystemDisk(), find).finish()
    return chain.state


def older_blocks(path: Path, folder: Path | None, wire: Wire) -> Older:
    """Return a function that finds the blocks up to that of a snapshot: those in it, or in the block log of `folder` or of the snapshot's
    own data folder.
    """
    snapshot = Snapshot(path, SystemDisk())
    try:
        if snapshot.has(BLOCKS):
            return {block.number: wire.pack_block(block) for block in blocks_of(snapshot, wire)}.get
    finally:
        snapshot.close()
    return OlderBlocks(folder or path.resolve().parent.parent).packed


def spec_for(name: str, opened: Snapshot, folder: Path | None = None) -> tuple[ChainSpec, Path | None]:
    """Return the spec of a snapshot's chain, and the fork file with which this chain begins, if it does.

    The fork file is the snapshot itself or in `folder` or in the snapshot's own data folder. Otherwise the spec is the variant of the named
    one that fits the snapshot.
    """
    forks = (opened.path if opened.has(SPEC) else None, fork_in(folder or opened.path.parent.parent))
    fork = next((each for each in forks if each is not None), None)
    if fork is not None:
        return read_base(fork), fork
    return recorded_variant(load_spec(name), opened.index.chain, opened.index.spec.encode()), None


def opened_snapshot(path: Path) -> Snapshot:
    """Open a snapshot, close its file, and return it. Only the snapshot's index can be used. Raises SnapshotError."""
    opened = Snapshot(path, SystemDisk())
    opened.close()
    return opened


def show(path: Path) -> None:
    """Print the description of a snapshot. Raises SnapshotError."""
    for line in lines(opened_snapshot(path)):
        say(line)


def lines(opened: Snapshot) -> Iterator[str]:
    """Yield the description of a snapshot in two columns. Raises SnapshotError."""
    head, index = opened.head, opened.index
    try:
        when = datetime.fromtimestamp(head.time, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (OSError, OverflowError, ValueError):
        raise SnapshotError(f"{opened.path}: its block has an invalid time: {head.time}") from None
    columns: list[tuple[str, Any]] = [
        ("snapshot", opened.path),
        ("block", f"{head.number} {head.block_id} {when}"),
        ("digest", head.digest),
        ("chain", f"{index.chain.name}, made by coind {index.program}"),
        ("plugins", " ".join(head.plugins) or "none"),
        ("size", f"{opened.size:,} bytes{', with blocks' if opened.has(BLOCKS) else ''}"),
    ]
    if head.is_changed_by_hand:
        columns.append(("note", "the state includes edits by debugging methods, so a replay doesn't lead to it"))
    for name, value in columns:
        yield f"{name:<12}{value}"


def existing_folder(data: str) -> Path:
    """Return the path of a data folder. Raises NodeError if the folder doesn't exist."""
    path = data_folder(data)
    if not path.is_dir():
        raise NodeError(f"{data} is not a folder. Give the data folder of a node.")
    return path
