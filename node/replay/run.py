"""A replay: applies the blocks of a file, starting at genesis, a snapshot or a data folder. Can save snapshots, and serve the resulting
chain.
"""

import sys
from collections.abc import Awaitable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Literal

import trio
from msgspec import Struct
from msgspec.structs import replace

from node.app.context import NodeContext
from node.app.node import DISK_ADVICE, load, opened_folder, serve_chain
from node.app.settings import Settings
from node.history.apply import BlockPoint, BlockRefused, ChainCursor, attach_source, replay
from node.history.chain_detection import recorded_variant
from node.history.sources import STANDARD_INPUT, BlockSource, OlderBlocks, open_source
from node.runtime.errors import DiskError, FileError, NodeError, Status
from node.runtime.progress import Progress
from node.runtime.shutdown import run_to_end, stopped_by_signals
from node.snapshots.file import Snapshot
from node.snapshots.folder import block_of, folder_of, paths
from node.snapshots.folder import load as load_snapshot
from node.snapshots.saver import SnapshotSaver
from node.storage.datafolder import DataFolder
from node.storage.disk import SystemDisk
from node.storage.edit_log import EDITS_NAME
from rpc.log import Log
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.head_change import HeadChange
from state.chain.skip import Skip
from state.plugins.registry import PLUGINS
from state.portable import shown_digest
from state.protocol.transaction import OFFSET

BLOCKS_BETWEEN_SYNCS = 1000
PARTS = 8  # of a file, so that 2, 4 or 8 processes have equal work; each part costs a load and two digests of the state

_log = Log("replay")


class Replay(Struct, frozen=True, kw_only=True):
    """Settings of a replay: its blocks, its start and its end, its checks and its snapshots."""

    source: Path  # for `open_source`
    until: BlockPoint | None = None
    skip: int = Skip.NOTHING
    start: Path | None = None  # the snapshot to start from; None: genesis, or the state of the data folder
    checkpoints: dict[int, bytes] = {}  # required ids of blocks, by number
    snapshots: Path | None = None  # the folder that retains all snapshots; None: the data folder, which retains the newest as a node does
    is_divided: bool = False  # save PARTS - 1 of them, after equal amounts of bytes, so that the ranges between them take equally long
    digest: Literal["state", "shown"] = "state"


def replay_file(settings: Settings, task: Replay) -> int:
    """Replay blocks, then serve the chain if the settings have a listen address. Return the exit status of the process."""
    return run_to_end(partial(_replay_file, settings, task))


async def _replay_file(settings: Settings, task: Replay) -> int:
    if task.start is not None:
        settings = with_plugins_of(task.start, settings)
    context = NodeContext(settings)
    is_done = False
    older = OlderBlocks(task.source)
    with opened_folder(context) as (folder, _), closing(older):
        async with stopped_by_signals(context.stop, context.interrupt):
            if folder is not None:
                if (loaded := await load(context, folder)) is not None:
                    loaded.finish()
            elif task.start is not None:
                start_at(context.chain, task, older)
            if not context.stop.is_set():
                is_done = await replay_on(context, folder, task, older)
            if is_done and settings.http is not None:
                await serve_chain(context, folder)
    status = context.status()
    return status if is_done else Status.INTERRUPTED


async def replay_on(context: NodeContext, folder: DataFolder | None, task: Replay, older: OlderBlocks) -> bool:
    """Apply the blocks after the head, and print the result. Return whether the replay reached its end."""
    chain, settings = context.chain, context.settings
    require_ahead(chain, task)
    blocks = await opened(chain, task)
    progress = Progress(blocks.size, blocks.last, until=None if task.until is None else task.until.block)
    warn_of_edits(settings, task.source)
    writing = partial(write, folder, context) if folder is not None else None
    applied = AppliedBytes(chain, blocks)
    saver = new_saver(context, task, blocks, applied)
    warn_of_later_snapshots(chain, task)
    detach = attach_source(chain, blocks, older) if folder is None else None
    if writing is not None:
        chain.on_head_change.append(writing)
    try:
        cursor = ChainCursor(
            chain, blocks, skip_flags=task.skip, signed=(chain.base + 1,), checkpoints=task.checkpoints, workers=settings.workers
        )
        is_done = await replay(cursor, progress, until=task.until, stop=context.stop, after=partial(save_after, saver, applied))
        await saver.finish()
    finally:
        saver.close()
        if detach is not None:
            detach()
        if writing is not None:
            chain.on_head_change.remove(writing)
        show_result(chain, progress, task.digest)
    if is_done:
        # The end of a pipe doesn't reveal whether the writing program has failed.
        if blocks.is_pipe and not progress.blocks:
            raise NodeError(f"{task.source}: no blocks. Check the program that writes them.")
        require_reached(chain, task)
        if task.snapshots is not None and not paths(task.snapshots, SystemDisk()):
            reason = "the blocks are too few, or compressed: give --snapshot-every N"
            _log.warning("no snapshot was saved", folder=str(task.snapshots), reason=reason)
    return is_done


# ------------------------------------------------------------------ the start


def with_plugins_of(path: Path, settings: Settings) -> Settings:
    """Return the settings without the plugins whose data is missing from the snapshot at `path`, and with the spec that fits it."""
    snapshot = Snapshot(path, settings.disk)
    snapshot.close()
    # Some names are groups of methods, which have no data.
    plugins = tuple(name for name in settings.plugins if name not in PLUGINS or name in snapshot.head.plugins)
    if left := [name for name in settings.plugins if name not in plugins]:
        _log.warning("plugins disabled, since the snapshot lacks their data", plugins=" ".join(left))
    return replace(settings, plugins=plugins, spec=recorded_variant(settings.spec, snapshot.index.chain, snapshot.index.spec.encode()))


def start_at(chain: Chain, task: Replay, older: OlderBlocks) -> None:
    """Load the snapshot of a replay into a chain at genesis. If the replay's source is a block log, earlier blocks are read from it."""
    assert task.start is not None
    head = load_snapshot(chain, task.start, SystemDisk(), older.packed).finish()
    expected = task.checkpoints.get(head.number)
    if expected is not None and expected.hex() != head.block_id:
        raise BlockRefused(head.number, f"is {head.block_id} in {task.start}, but the checkpoint requires {expected.hex()}")


def require_ahead(chain: Chain, task: Replay) -> None:
    """Raise NodeError if a replay would end before the block at which it starts."""
    head = chain.state.props.head_block_number
    if task.until is not None and task.until.whole_blocks < head:
        place = f"the snapshot {task.start}" if task.start is not None else "the data folder"
        raise NodeError(f"--until {task.until} is before block {head}, the head of {place}. Start from an earlier state.")


async def opened(chain: Chain, task: Replay) -> BlockSource:
    """Open the source of a replay at the block after the chain's head. Raises NodeError."""
    first = chain.state.props.head_block_number + 1
    try:
        # In a thread, since opening a pipe waits for its writer.
        return await trio.to_thread.run_sync(open_source, task.source, chain.state.wire, first, abandon_on_cancel=True)
    except FileError as error:  # a missing file, or one without blocks
        raise NodeError(str(error)) from None


def warn_of_edits(settings: Settings, source: Path) -> None:
    """Log a warning if the source is a data folder with state edits, because a replay of its blocks doesn't apply them."""
    edits = (source if source.is_dir() else source.parent) / EDITS_NAME
    if source != STANDARD_INPUT and settings.disk.exists(edits):
        what = "the blocks alone don't lead to a state with edits or impersonated accounts"
        _log.warning(f"{edits} is ignored: {what}. For this state, start a node in the folder (coind run --data).")


# ------------------------------------------------------------------ saving


class AppliedBytes:
    """The position in a source after the blocks that were applied. Blocks are read long before they are applied, so the source itself is
    further. In a compressed file, the position is that of the source.
    """

    def __init__(self, chain: Chain, blocks: BlockSource) -> None:
        self._chain, self._blocks, self._size = chain, blocks, 0

    def count(self) -> None:
        """Count the head block."""
        if (head := self._chain.head) is not None:
            self._size += head.size + OFFSET.size

    def __call__(self) -> int:
        """Return the position."""
        return self._size if self._blocks.last else self._blocks.position


def save_after(saver: SnapshotSaver, applied: AppliedBytes) -> Awaitable[None] | None:
    """Count a block that was applied, and do what `SnapshotSaver.save_if_due` does."""
    applied.count()
    return saver.save_if_due()


def warn_of_later_snapshots(chain: Chain, task: Replay) -> None:
    """Log a warning if the replay's folder has a snapshot of a later block than the head, because earlier ones are not saved then."""
    newest = 0 if task.snapshots is None else max(map(block_of, paths(task.snapshots, SystemDisk())), default=0)
    if newest > chain.state.props.head_block_number:
        reason = f"it has one of block {newest}; only later ones are saved: give another folder for all"
        _log.warning("the folder has snapshots already", folder=str(task.snapshots), reason=reason)


def new_saver(context: NodeContext, task: Replay, blocks: BlockSource, applied: AppliedBytes) -> SnapshotSaver:
    """Return the object that saves snapshots during a replay. It keeps all snapshots in the replay's folder or, like a node, only the
    newest ones in the data folder.
    """
    settings = context.settings
    folder = task.snapshots or (None if settings.data is None else folder_of(settings.data))
    if folder is None:
        return SnapshotSaver(context.chain, Path(), settings.disk, 0)
    saved = max([block_of(path) for path in paths(folder, settings.disk)], default=0)
    is_named = task.snapshots is not None
    part = blocks.size // PARTS + 1 if task.is_divided and not blocks.is_pipe else 0
    return SnapshotSaver(
        context.chain,
        folder,
        settings.disk,
        part or settings.snapshot_every,
        saved=saved,
        keeps_all=is_named,
        is_required=True,
        progress=applied if part else None,
    )


def write(folder: DataFolder, context: NodeContext, change: HeadChange) -> None:
    """Write the new blocks of a head change to a data folder."""
    try:
        folder.log.switch(change.popped, change.applied)
        if change.applied[-1].number % BLOCKS_BETWEEN_SYNCS == 0:
            folder.log.sync()
    except OSError as error:
        context.fail(DiskError(f"{folder.path}: {error.strerror}. {DISK_ADVICE}"))


# ------------------------------------------------------------------ the end


def require_reached(chain: Chain, task: Replay) -> None:
    """Raise NodeError if the blocks end before `--until`. Log a warning for checkpoints that the replay didn't pass."""
    head, until = chain.state.props.head_block_number, task.until
    if until is not None and head < until.block and (until.transactions is None or chain.pool.position is None):
        raise NodeError(f"--until {until} is beyond the end: the blocks end with block {head}")
    if missed := [number for number in task.checkpoints if number > head or number < chain.started_at]:
        _log.warning("checkpoints not passed", blocks=" ".join(map(str, sorted(missed))), head_block_number=head)


def show_result(chain: Chain, progress: Progress, digest: Literal["state", "shown"]) -> None:
    """Print the head after a replay, its speed, and the digest of the state, or of what methods show of it."""
    props = chain.state.props
    done = f"{progress.blocks:,} blocks, {progress.transactions:,} transactions in {progress.seconds:.3f} s"
    inside = "" if chain.pool.position is None else f", in block {props.head_block_number + 1} after transaction {len(chain.pending)}"
    sys.stdout.write(f"head block {props.head_block_number} {props.head_block_id.hex()}{inside}\n{done}: {progress.rate()}\n")
    sys.stdout.write(f"{digest} digest: {(state_digest if digest == 'state' else shown_digest)(chain.state)}\n")
    sys.stdout.flush()
