"""Exports a chain range by range: applies the blocks, collects operations, blocks and table rows, and writes them to files. If an earlier
export exists, it is continued.
"""

import fcntl
import os
import sys
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import trio
from msgspec import Struct
from msgspec.structs import replace

from node.client.urls import shown_url
from node.history.apply import ChainCursor, keep_last_block_only, paced
from node.history.resume import resume
from node.history.sources import STANDARD_INPUT, BlockSource, open_source
from node.research.columns.column_buffer import BLOCKS, ColumnBuffer, Dataset
from node.research.columns.columns import ArrowSchemas, operations_of_chain
from node.research.columns.schedule import is_due
from node.research.columns.tables import plugins_for, rows_of
from node.research.export import manifest as manifests
from node.research.export.files import Format
from node.research.export.manifest import FORMAT, ChainOf, Manifest, Options, Program, Range
from node.research.export.range_writer import TEMPORARY, RangeWriter, clear, path_of
from node.runtime.errors import FileError, NodeError, Status
from node.runtime.shutdown import stopped_by_signals
from node.runtime.suggestions import alternatives
from node.snapshots.base import new_chain
from node.snapshots.saver import SnapshotSaver
from node.storage.datafolder import fork_in
from node.storage.disk import Disk, SystemDisk
from node.version import VERSION
from state.chain.skip import TRUSTED, Skip
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock
from state.protocol.values.symbols import SYMBOL_NAMES

FOLDERS = ("operations", "blocks", "tables")  # the folders of an export
# The folder of snapshots for resuming an export; without one, all blocks are applied again. Shorter intervals than
# SECONDS_BETWEEN_SNAPSHOTS aren't worth the disk space.
SNAPSHOTS = ".snapshots"
SECONDS_BETWEEN_SNAPSHOTS = 300.0


class ExportOptions(Struct, frozen=True, kw_only=True):
    """Options of an export. `source` is the path of the blocks, or `follow` the URL of a node or broker to get them from. `last` is the
    number of the last block, or None for all blocks. `only` contains the kinds to export, or is None
    for all kinds. `tables` contains the interval in blocks at which each table is exported (0: only at the end), `seconds` an interval in
    seconds for some of them. `accounts` contains the accounts whose rows are exported, or is None for all.
    """

    spec: ChainSpec
    source: Path = STANDARD_INPUT
    follow: str = ""
    to: Path
    first: int = 1
    last: int | None = None
    only: tuple[str, ...] | None = None
    tables: dict[str, int] = {}
    seconds: dict[str, int] = {}
    accounts: tuple[str, ...] | None = None
    form: Format = "parquet"
    chunk_blocks: int = 100_000
    skip: int = Skip.NOTHING
    workers: int = 0
    disk: Disk = SystemDisk()

    @property
    def origin(self) -> str:
        """The origin of the blocks, for messages."""
        return shown_url(self.follow) if self.follow else str(self.source)


class Export:
    """One run of an export. Setting `stop` ends it gracefully, and the ranges that are complete by then remain."""

    def __init__(self, wanted: ExportOptions) -> None:
        # The blocks up to the chain's base are missing.
        wanted = replace(wanted, first=max(wanted.first, wanted.spec.base.number + 1))
        self.wanted = wanted
        self.stop = trio.Event()
        require_kinds(wanted.spec, wanted.only)
        plugins = plugins_for(wanted.spec, set(wanted.tables))
        self.chain = new_chain(wanted.spec, None if wanted.follow else fork_in(wanted.source), plugins, wanted.disk)
        state = self.chain.state
        schemas = ArrowSchemas(wanted.spec, is_flat=wanted.form == "csv")
        self.collector = ColumnBuffer(state, schemas, None if wanted.only is None else set(wanted.only))
        self.datasets = {each.file: each for each in self.collector.datasets()}
        self.rows = {name: rows_of(state, name, is_flat=schemas.is_flat, accounts=wanted.accounts) for name in wanted.tables}
        self.tables = {name: Dataset(f"tables/table={name}", name, rows.schema, 1) for name, rows in self.rows.items()}
        self._is_swept = False
        self.manifest = self._found() or self._new_manifest()

    def _found(self) -> Manifest | None:
        """Return the manifest of the existing export without its incomplete ranges, or None if there is no export."""
        require_no_links_out(self.wanted.to)
        found = manifests.load(self.wanted.to, self.wanted.disk)
        if found is None:
            self._require_ours()
            return None
        manifests.require_same(self.wanted.to, found, self._new_manifest())
        found.ranges = list(self._whole(found.ranges))
        return found

    def _require_ours(self) -> None:
        """Raise NodeError if the folder has subfolders like those of an export but no manifest, because an export would remove the files in
        them.
        """
        for name in FOLDERS:
            if (self.wanted.to / name).exists():
                raise NodeError(
                    f"{self.wanted.to} has {name} but no {manifests.NAME}, so the origin of its files is unknown."
                    " Remove them, or give another folder by --to."
                )

    def _whole(self, ranges: list[Range]) -> Iterator[Range]:
        """Yield ranges, beginning with the first, while they are contiguous and their files exist with the recorded sizes."""
        for index, each in enumerate(ranges):
            if index and each.first != ranges[index - 1].last + 1:
                return
            if not all(has_size(self.wanted.to / chunk.path, chunk.bytes) for chunk in each.chunks):
                return
            yield each

    def _new_manifest(self) -> Manifest:
        wanted, letters = self.wanted, self.chain.state.wire.codecs.symbols.letters
        only, accounts = (None if names is None else sorted(names) for names in (wanted.only, wanted.accounts))
        datasets = (*self.datasets.values(), *self.tables.values())
        return Manifest(
            FORMAT,
            Program(VERSION, pa.__version__),
            ChainOf(wanted.spec.name, wanted.spec.chain_id.hex(), {SYMBOL_NAMES[symbol]: text for symbol, text in letters.items()}),
            Options(wanted.form, wanted.chunk_blocks, wanted.first, only, dict(wanted.tables), dict(wanted.seconds), accounts),
            {each.folder: {field.name: str(field.type) for field in each.schema} for each in datasets},
            [],
        )

    # -------------------------------------------------------------- the plan

    @property
    def needs_state(self) -> bool:
        """Whether the export needs a chain that applies the blocks. Otherwise blocks are only read, unless the user requests a check."""
        return self.collector.needs_state or bool(self.wanted.tables) or self.wanted.skip != TRUSTED

    def end_of_range(self, number: int) -> int:
        """Return the number of the last requested block in the range that contains block `number`."""
        size = self.wanted.chunk_blocks
        end = number // size * size + size - 1
        return end if self.wanted.last is None else min(end, self.wanted.last)

    def begin(self, last: int) -> int:
        """Return the number of the first block to export: the one after the ranges that won't be written again.

        A range is written again if it is open, or if the earlier export ended with it and this one doesn't. `last` is the last block of the
        source, or 0 if unknown.
        """
        begin = self.wanted.first
        for each in self.manifest.ranges:
            is_partial = each.last < self.end_of_range(each.last)
            is_former_end = each.is_end and each.last not in (last, self.wanted.last)
            if each.is_open or (is_former_end and (is_partial or self.wanted.tables)):
                break
            begin = each.last + 1
        return begin

    def _drop_ranges(self, begin: int) -> None:
        """Drop the ranges from block `begin` on from the manifest."""
        self.manifest.ranges = [each for each in self.manifest.ranges if each.last < begin]

    def plan(self) -> Iterator[str]:
        """Yield lines of text that describe the planned export."""
        source = self._source(1)
        source.close()
        last = source.last
        self._require_first(last)
        begin = self.begin(last)
        self._drop_ranges(begin)
        yield from self._done()
        end = last if self.wanted.last is None else min(last, self.wanted.last)
        if not last:
            yield f"from block {begin:,} on: to do, up to the end of {self.wanted.source}"
        while begin <= end:
            stop = min(self.end_of_range(begin), end)
            yield f"blocks {begin:,} to {stop:,}: to do"
            begin = stop + 1

    def _done(self) -> Iterator[str]:
        """Yield a line of text for each range that is done."""
        for each in self.manifest.ranges:
            yield f"blocks {each.first:,} to {each.last:,}: done, {len(each.chunks)} files"

    def summary(self) -> str:
        """Return a summary of the export in one line."""
        ranges = self.manifest.ranges
        if not ranges:
            return "no blocks exported yet"
        chunks = [chunk for each in ranges for chunk in each.chunks]
        rows, size = sum(chunk.rows for chunk in chunks), sum(chunk.bytes for chunk in chunks)
        return f"blocks {ranges[0].first:,} to {ranges[-1].last:,}: {rows:,} rows in {len(chunks):,} files, {size:,} bytes"

    # -------------------------------------------------------------- the work

    async def run(self) -> bool:
        """Export the blocks that are missing. Return whether the export is complete. It isn't if `stop` was set."""
        wanted = self.wanted
        try:
            wanted.disk.make_folder(wanted.to)
        except OSError as error:
            raise NodeError(f"--to {wanted.to}: {error.strerror}. Give another folder.") from None
        with locked(wanted.to):
            clear(wanted.to)
            return await self._run()

    async def _run(self) -> bool:
        """Export the missing blocks of the source."""
        source = self._source(1)
        begin = self.begin(source.last)
        if begin > (self.wanted.last or begin) or 0 < source.last < begin:
            source.close()
            self._require_first(source.last)
            return True
        self._drop_ranges(begin)
        started = self._start(begin) if self.needs_state else begin - 2
        if started > 0 and not source.is_pipe:
            source.close()
            source = self._source(started + 1)
        async with self._writing() as (writer, saver):
            is_done = await self._write(source, started, begin, writer, saver)
        if is_done and not self.manifest.ranges:
            raise NodeError(f"{source.path} has no block of the range. Check the program that writes it, and --blocks.")
        return is_done

    @asynccontextmanager
    async def _writing(self) -> AsyncGenerator[tuple[RangeWriter, SnapshotSaver]]:
        """Yield the writers of files and snapshots, for a chain that has its first block."""
        wanted = self.wanted
        keep_last_block_only(self.chain)
        writer = RangeWriter(wanted.to, wanted.form, wanted.disk)
        every = int(self.needs_state)
        saver = SnapshotSaver(self.chain, wanted.to / SNAPSHOTS, wanted.disk, every, seconds=SECONDS_BETWEEN_SNAPSHOTS)
        try:
            yield writer, saver
            await saver.finish()
        finally:
            saver.close()
            writer.close()

    def _source(self, first: int) -> BlockSource:
        try:
            return open_source(self.wanted.source, self.chain.state.wire, first)
        except FileError as error:  # a missing file, or one without blocks
            raise NodeError(str(error)) from None

    def _require_first(self, last: int) -> None:
        if 0 < last < self.wanted.first:
            raise NodeError(f"{self.wanted.source} has no block {self.wanted.first:,}, its last one is {last:,}. Change --blocks.")

    def _start(self, begin: int) -> int:
        """Load a snapshot from which the export can resume. Return the number of its block, or 0 for genesis if there is no such
        snapshot.
        """
        if not self.manifest.ranges:
            return 0
        found = resume(self.chain, self.wanted.to / SNAPSHOTS, self.wanted.disk, None, latest=begin - 1)
        return 0 if found is None else found.finish().number

    async def _write(self, source: BlockSource, started: int, begin: int, writer: RangeWriter, saver: SnapshotSaver) -> bool:
        """Export the blocks from `begin` on, with a chain whose head is block `started`. Return whether the export is complete."""
        wanted, collector, last = self.wanted, self.collector, self.wanted.last or sys.maxsize
        done = self.manifest.ranges[-1] if self.manifest.ranges else None
        # Exported blocks were already checked. The signature of the first block identifies the chain.
        trusted = 0 if done is None else done.last
        cursor = ChainCursor(
            self.chain, source, skip_flags=wanted.skip, signed=(self.chain.base + 1,), trusted=trusted, workers=wanted.workers
        )
        first, number = begin, 0
        props, due = self.chain.state.props, set[str]()
        newest: SignedBlock | None = None  # of the uncommitted range
        async with aclosing(paced(cursor, stop=self.stop)) as blocks:
            async for block in blocks:
                number = block.number
                if number <= started:  # A pipe is read from its start.
                    continue
                if newest is not None and newest.number == self.end_of_range(newest.number):
                    await self._commit(writer, first, newest, saver)
                    first, newest = number, None
                if self.needs_state or number == self.chain.base + 1:
                    if number == begin:
                        collector.watch()
                    due = self._due(block, props.time if props.head_block_number else 0)
                    cursor.apply(block)
                if done is not None and number == done.last:
                    self._require_id(block, done)
                if begin <= number <= last:
                    newest = block
                    collector.take(block)
                    self._add(writer, first)
                    self._add_tables(writer, number, due)
                if number >= last:
                    break
        if self.stop.is_set() and number < last:
            return False
        if newest is not None:
            await self._commit(writer, first, newest, saver, end_tables=wanted.tables.keys() - due)
        elif number < begin and done is None:
            self._require_first(number)
        return True

    def _require_id(self, block: SignedBlock, done: Range) -> None:
        if block.id.hex() != done.last_id:
            raise other_blocks(self.wanted, done)

    def _add(self, writer: RangeWriter, first: int, *, is_whole: bool = False) -> None:
        """Pass the collected columns to the writer. `first` is the first exported block of their range."""
        start = self._start_of(first)
        for name, arrays in self.collector.filled(whole=is_whole):
            dataset = self.datasets[name]
            writer.add(path_of(dataset, self.wanted.form, "blocks", start), dataset, arrays)

    def _due(self, block: SignedBlock, before: int) -> set[str]:
        """Return the tables that must be exported after a block by their intervals. `before` is the time of the previous block."""
        seconds = self.wanted.seconds
        return {
            name for name, every in self.wanted.tables.items() if is_due(every, seconds.get(name, 0), block.number, block.timestamp, before)
        }

    def _add_tables(self, writer: RangeWriter, number: int, names: Iterable[str]) -> None:
        """Pass the rows that these tables have after block `number` to the writer."""
        for name in names:
            dataset = self.tables[name]
            path = path_of(dataset, self.wanted.form, "at", number)
            for arrays in self.rows[name].arrays():
                writer.add(path, dataset, arrays)

    def _start_of(self, number: int) -> int:
        """Return the first number of the range that contains block `number`, a multiple of the range size. The export can begin later."""
        return number // self.wanted.chunk_blocks * self.wanted.chunk_blocks

    async def _commit(
        self, writer: RangeWriter, first: int, block: SignedBlock, saver: SnapshotSaver, *, end_tables: Iterable[str] | None = None
    ) -> None:
        """Add the finished chunks of a range to the export. `block` is the last block of the range. At the end of the export, also write
        the rows of `end_tables`, the tables that are not due after the block.
        """
        disk, to = self.wanted.disk, self.wanted.to
        self._add(writer, first, is_whole=True)
        self._add_tables(writer, block.number, end_tables or ())
        # While the files of a range are replaced, the manifest must not list it.
        manifests.save(to, self.manifest, disk)
        chunks = writer.finish()
        self.manifest.ranges.append(Range(self._start_of(first), first, block.number, block.id.hex(), end_tables is not None, chunks))
        if not self._is_swept:
            self._sweep()
        manifests.save(to, self.manifest, disk)
        if (waiting := saver.save_if_due()) is not None:
            await waiting

    def _sweep(self) -> None:
        """Remove chunks that the manifest doesn't list, for example those written at the former end of a chain that has grown since."""
        to, form = self.wanted.to, self.wanted.form
        named = {chunk.path for each in self.manifest.ranges for chunk in each.chunks}
        found = {path.relative_to(to).as_posix() for name in FOLDERS for path in (to / name).rglob(f"*.{form}")}
        remove_chunks(to, found - named)
        self._is_swept = True


def has_size(path: Path, size: int) -> bool:
    """Whether a file exists and has this size."""
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def require_no_links_out(folder: Path) -> None:
    """Raise NodeError for a link in an export's folder that leads outside of it, where the export would remove files."""
    for name in (*FOLDERS, SNAPSHOTS, TEMPORARY):
        for path in (folder / name, *(folder / name).rglob("*")):
            target = Path(os.path.realpath(path)) if path.is_symlink() else path
            if target != path and not target.is_relative_to(os.path.realpath(folder)):
                raise NodeError(f"{path} is a link to {target}, outside of the export. Replace it with the file or folder.")


def require_kinds(spec: ChainSpec, only: tuple[str, ...] | None) -> None:
    """Raise NodeError for a name that is not an operation of the chain."""
    known = [*operations_of_chain(spec), BLOCKS]
    for name in only or ():
        if name not in known:
            raise NodeError(
                f"--only {name}: {spec.name} has no such kind of operation; {alternatives(name.removesuffix('_operation'), known)}"
            )


def other_blocks(wanted: ExportOptions, done: Range) -> NodeError:
    """Return the error for a source that doesn't have the last block of an exported range."""
    return NodeError(
        f"{wanted.to} was exported from other blocks than those of {wanted.origin}, where block {done.last} isn't {done.last_id}."
        " Give another folder by --to."
    )


def remove_chunks(folder: Path, paths: Iterable[str]) -> None:
    """Remove files of an export, and their folders if these are empty then."""
    for path in paths:
        (folder / path).unlink(missing_ok=True)
        with suppress(OSError):
            (folder / path).parent.rmdir()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other exports during the `with` block. Raises NodeError if another export has the lock."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise NodeError(f"{folder}: another export is writing there. Wait for its end, or give another folder by --to.") from None
    finally:
        os.close(descriptor)


async def export(wanted: ExportOptions) -> int:
    """Run an export until it is done or a signal stops it. Return the exit status of the process."""
    task = Export(wanted)
    is_done = False
    async with stopped_by_signals(task.stop):
        is_done = await task.run()
    sys.stdout.write(task.summary() + "\n")
    return Status.DONE if is_done else Status.INTERRUPTED
