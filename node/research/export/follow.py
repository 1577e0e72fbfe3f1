"""Exports a chain while a node extends it: follows the node as a replica does, and writes new blocks even while they can be undone.

The newest ranges of blocks are open: they are written again until they are whole and irreversible. Their rows stay in memory until then.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from itertools import count
from typing import Any

import trio
from msgspec import Struct

from node.history.apply import BlockRefused
from node.processor.long_jobs import ChainSummary
from node.replicas.follow.replica_applier import ReplicaApplier
from node.replicas.follow.replica_task import ReplicaTask, source_at
from node.replicas.follow.sources import Source
from node.research.export import manifest as manifests
from node.research.export.manifest import Range
from node.research.export.range_writer import path_of
from node.research.export.run import SNAPSHOTS, Export, ExportOptions, other_blocks, remove_chunks
from node.runtime.clock import system_clock
from node.runtime.errors import NodeError, Status
from node.runtime.output import say
from node.runtime.progress import Progress
from node.runtime.shutdown import stopped_by_signals
from node.snapshots.folder import remove_after
from rpc.jsonrpc.scheduler import ALWAYS_OPEN
from rpc.log import Log
from state.chain.chain import Chain
from state.chain.head_change import HeadChange
from state.chain.skip import TRUSTED
from state.chain.state_edits import StateEdit
from state.protocol.transaction import SignedBlock, block_number
from state.tables import State

# Open ranges are written at most every WRITE_SECONDS_MIN. After a write, the export waits PAUSE_FACTOR times as long as the write took.
WRITE_SECONDS_MIN, PAUSE_FACTOR = 1.0, 9
SLICE_SECONDS = 0.05
POLL_SECONDS = 0.05
RESTART_SECONDS = 1.0

_log = Log("export")


class ChainReplaced(NodeError):
    """Irreversible blocks were undone or edited, as a test chain can do. The export must start again, with a new chain."""


class RowsAt(Struct, frozen=True):
    """The rows of a table after block `number`, as columns in batches."""

    number: int
    name: str
    batches: list[list[Any]]


class LoneStepRunner:
    """Applies the steps of a replica to a chain that nothing else uses. Calls `after` after each step, and `refused` at a refused block."""

    gate = ALWAYS_OPEN

    def __init__(self, chain: Chain, after: Callable[[], Awaitable[None]], refused: Callable[[BlockRefused], None]) -> None:
        self._chain, self._after, self._refused = chain, after, refused

    @property
    def summary(self) -> ChainSummary:
        """The summary of the chain."""
        return ChainSummary.of(self._chain)

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Run the steps, and return their number."""
        done = 0
        try:
            for done, _ in enumerate(steps, 1):  # noqa: B007
                await self._after()
        except BlockRefused as error:
            self._refused(error)
            raise
        await self._after()
        return done


class FollowingExport(Export):
    """One run of an export that follows a node. Setting `stop` ends it, after all received blocks are written.

    `is_restarted` means that a previous run ended with ChainReplaced.
    """

    def __init__(self, wanted: ExportOptions, *, is_restarted: bool = False) -> None:
        super().__init__(wanted)
        self._is_restarted = is_restarted
        self._open = 0  # the first block of the open ranges
        # Tables that are due at the head, and those that will be due after the block that is being applied.
        self._due_at_head, self._due_next = set[str](), set[str]()
        self._rows_at: list[RowsAt] = []
        self._rows_at_head: list[RowsAt] = []  # read before the block that is being applied, which can be refused
        self._last_ids: dict[int, bytes] = {}  # ids of the last blocks of open ranges
        self._changed = trio.Event()
        self._is_in_sync = False  # whether the chain has caught up with the node
        self._scope = trio.CancelScope()
        self._failure: NodeError | None = None
        self._progress = Progress(0)
        self._pause = 0.0

    def plan(self) -> Iterator[str]:
        """Yield lines of text that describe the planned export."""
        begin = self.begin(0)
        self._drop_ranges(begin)
        yield from self._done()
        if begin <= (self.wanted.last or begin):
            yield f"from block {begin:,} on: to do, from {self.wanted.origin}"

    @property
    def _is_done(self) -> bool:
        return self.wanted.last is not None and self._open > self.wanted.last

    @property
    def _head(self) -> int:
        return self.chain.state.props.head_block_number

    async def _run(self) -> bool:
        """Export blocks until `stop` is set, or until the last requested block is irreversible."""
        wanted, chain = self.wanted, self.chain
        source = source_at(wanted.follow, wanted.spec)
        self._open = await self._find_begin(source)
        if self._is_done:
            return True
        # A folder with files but without a manifest is refused.
        manifests.save(wanted.to, self.manifest, wanted.disk)
        self._start(self._open)
        self.collector.watch()
        chain.state.listeners.before_block.append(self._before_block)
        chain.on_head_change.append(self._on_head_change)
        chain.sidecars.on_added.append(self._on_edit)
        applier = ReplicaApplier(
            chain,
            reset=self._reset if wanted.spec.is_test else None,
            is_trusting=wanted.skip == TRUSTED,
            workers=wanted.workers,
            # With this clock, each block is a step.
            stopwatch=count().__next__,
        )
        async with self._writing() as (self._writer, self._saver):
            task = ReplicaTask(wanted.follow, source, applier, LoneStepRunner(chain, self._advance, self._fail), self._fail, system_clock)
            async with trio.open_nursery() as nursery:
                self._scope = nursery.cancel_scope
                nursery.start_soon(task.run)
                nursery.start_soon(self._write_often, task)
                await self.stop.wait()
                nursery.cancel_scope.cancel()
            is_refused = isinstance(self._failure, BlockRefused)
            if self._failure is not None and not is_refused:
                raise self._failure
            if (self._is_in_sync or is_refused) and self._changed.is_set():
                self._write_open()
            if is_refused:
                raise NodeError(f"{wanted.origin} has a block that isn't valid here, {self._failure}. The blocks before it are exported.")
        return self._is_done

    async def _find_begin(self, source: Source) -> int:
        """Return the number of the first block to export. Raises NodeError if the exported blocks aren't on the node's chain.

        After a restart, all ranges and snapshots are dropped, since state edits can differ although the blocks are equal.
        """
        if self._is_restarted:
            self.manifest.ranges.clear()
            remove_after(self.wanted.to / SNAPSHOTS, self.wanted.disk, 0)
        begin = self.begin(0)
        closed = [each for each in self.manifest.ranges if each.last < begin]
        if closed and (await source.id_of(closed[-1].last) or b"").hex() != closed[-1].last_id:
            raise other_blocks(self.wanted, closed[-1])
        return begin

    # -------------------------------------------------------------- changes of the chain

    def _before_block(self, state: State, block: SignedBlock) -> None:
        """Read the tables that are due at the head, since the state of the head is complete only now: it can be edited until then."""
        wanted, number = self.wanted, block.number
        self._rows_at_head = [RowsAt(self._head, name, list(self.rows[name].arrays())) for name in sorted(self._due_at_head)]
        is_wanted = self._open <= number <= (wanted.last or number)
        due = self._due(block, state.props.time if self._head else 0) if is_wanted else set[str]()
        self._due_next = set(wanted.tables) if number == wanted.last else due

    def _on_head_change(self, change: HeadChange) -> None:
        """Remove the rows of the undone blocks, and collect the applied ones."""
        self._changed.set()
        if change.popped:
            first = change.popped[-1].number
            if first < self._open:
                self._fail(ChainReplaced(f"blocks from {first:,} on were undone"))
            self.collector.drop_from(first)
            # The new head can be edited, so its tables are read again.
            self._due_at_head = {each.name for each in self._rows_at if each.number == first - 1}
            self._rows_at = [each for each in self._rows_at if each.number < first - 1]
        for block in change.applied:
            self._take(block)

    def _on_edit(self, block_id: bytes, _: StateEdit) -> None:
        """End this run if the block of an edit was exported before, perhaps without the edit."""
        self._changed.set()
        if self.wanted.first <= (number := block_number(block_id)) < self._open:
            self._fail(ChainReplaced(f"the state after block {number:,} was edited"))

    def _take(self, block: SignedBlock) -> None:
        number = block.number
        if self._open <= number <= (self.wanted.last or number):
            self.collector.take(block)
            if number == self.end_of_range(number):
                self._last_ids[number] = block.id
        self._rows_at += self._rows_at_head
        self._due_at_head = self._due_next
        if not self._is_in_sync:
            self._progress.count(number, len(block.transactions), 0)

    def _reset(self) -> None:
        """End this run, since the chain can't be reverted to its start without its blocks."""
        error = ChainReplaced("irreversible blocks were undone")
        self._fail(error)
        raise error

    def _fail(self, error: NodeError) -> None:
        """End this run with an error."""
        self._failure = self._failure or error
        self._scope.cancel()

    # -------------------------------------------------------------- writing

    async def _advance(self) -> None:
        """After a step, write the ranges that have become irreversible, and save a snapshot if it is due."""
        if self._failure is not None:  # The rows can be those of another branch.
            raise self._failure
        try:
            while not self._is_done and (end := self.end_of_range(self._open)) <= self.chain.irreversible:
                self._write_open(end)
                # An export resumes at the start of a range, so a snapshot of a later block can't be used.
                if self.chain.irreversible == end and (waiting := self._saver.save_if_due()) is not None:
                    await waiting
        except NodeError as error:
            self._fail(error)
            raise
        if self._is_done:
            self.stop.set()
        if trio.current_time() > self._pause:
            await trio.lowlevel.checkpoint()
            self._pause = trio.current_time() + SLICE_SECONDS

    async def _write_often(self, task: ReplicaTask) -> None:
        """Once the chain has caught up with the node, write the open ranges after each change, with pauses.

        Until then, the files keep the open ranges of an earlier run.
        """
        with closing(self._progress):
            while task.problem or task.blocks_behind:
                await trio.sleep(POLL_SECONDS)
        self._is_in_sync = True
        try:
            self._write_changes()
            say(f"{self.summary()}; waiting for new blocks (Ctrl-C to stop)")
            while True:
                await self._changed.wait()
                begun = trio.current_time()
                self._write_changes()
                await trio.sleep(max(WRITE_SECONDS_MIN, PAUSE_FACTOR * (trio.current_time() - begun)))
        except NodeError as error:
            self._fail(error)

    def _write_changes(self) -> None:
        self._changed = trio.Event()
        self._write_open()

    def _write_open(self, until: int | None = None) -> None:
        """Write the open ranges up to block `until`, the last one of a range, or by default up to the head. Those that are whole and
        irreversible aren't open afterwards.
        """
        wanted, manifest, irreversible = self.wanted, self.manifest, self.chain.irreversible
        last = min(self._head, wanted.last or self._head) if until is None else until
        kept = [each for each in manifest.ranges if each.last < self._open]
        replaced = manifest.ranges[len(kept) :]
        later = [each for each in replaced if until is not None and each.first > until]
        first = self._open
        written: list[Range] = []
        while first <= last:
            written.append(each := self._write_range(first, min(self.end_of_range(first), last), is_to_head=until is None))
            first = each.last + 1
        manifest.ranges = [*kept, *written, *later]
        manifests.save(wanted.to, manifest, wanted.disk)
        self._remove_old(replaced)
        for each in written:
            if each.last == self.end_of_range(each.last) and each.last <= irreversible:
                self._close_range(each)

    def _write_range(self, first: int, last: int, *, is_to_head: bool) -> Range:
        """Write the files of one range up to block `last`. The range with the head is the end of the export if `is_to_head`."""
        writer, wanted, head = self._writer, self.wanted, self._head
        start = self._start_of(first)
        for name, arrays in self.collector.between(first, last):
            writer.add(path_of(self.datasets[name], wanted.form, "blocks", start), self.datasets[name], arrays)
        for rows in self._rows_at:
            if first <= rows.number <= last:
                for arrays in rows.batches:
                    writer.add(path_of(self.tables[rows.name], wanted.form, "at", rows.number), self.tables[rows.name], arrays)
        if last == head:
            self._add_tables(writer, head, wanted.tables if is_to_head else self._due_at_head)
        last_id = self.chain.state.props.head_block_id if last == head else self._last_ids[last]
        is_open = last < self.end_of_range(first) or last > self.chain.irreversible
        is_end = last == wanted.last or (is_to_head and last == head)
        return Range(start, first, last, last_id.hex(), is_end, writer.finish(), is_open)

    def _close_range(self, each: Range) -> None:
        """Drop the rows of a range that won't be written again."""
        self._open = each.last + 1
        self.collector.drop_before(self._open)
        self._rows_at = [rows for rows in self._rows_at if rows.number > each.last]
        self._last_ids.pop(each.last, None)

    def _remove_old(self, replaced: list[Range]) -> None:
        """Remove the chunks of replaced ranges that the manifest no longer lists. At the first call, remove all such chunks."""
        if not self._is_swept:
            self._sweep()
            return
        named = {chunk.path for each in self.manifest.ranges for chunk in each.chunks}
        remove_chunks(self.wanted.to, {chunk.path for each in replaced for chunk in each.chunks} - named)


async def follow_node(wanted: ExportOptions) -> int:
    """Run an export that follows a node until a signal stops it, or until the last requested block is exported. Return the exit status of
    the process.
    """
    task = FollowingExport(wanted)
    async with stopped_by_signals(task.stop):
        while True:
            try:
                await task.run()
                break
            except ChainReplaced as error:
                _log.warning("the export starts again", reason=str(error))
                await trio.sleep(RESTART_SECONDS)
                stop, task = task.stop, FollowingExport(wanted, is_restarted=True)
                task.stop = stop
    say(task.summary())
    return Status.DONE
