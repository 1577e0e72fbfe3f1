"""Writes a report about an export. For a report about a file of blocks, it first exports the blocks."""

import gc
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from node.history.sources import is_pipe, open_source
from node.research.export.manifest import NAME
from node.research.export.run import ExportOptions, export
from node.research.report.page import page
from node.research.report.queries import answers, facts_of, span_of
from node.research.sql.connection import open_export, read_manifest
from node.runtime.errors import NodeError
from node.runtime.shutdown import run_to_end
from node.storage.disk import SystemDisk, written_whole
from node.version import VERSION
from state.chain.skip import Skip
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire

SAMPLES = 200  # samples of the supply over all blocks
SAMPLE_BLOCKS = 10_000  # the interval of samples in blocks, if the number of blocks is unknown
CHUNK_BLOCKS = 100_000


def report(source: Path, spec: ChainSpec | None, to: Path, *, at: int | None, skip_flags: int = Skip.NOTHING, workers: int = 0) -> int:
    """Write a report of an export, or of a file or folder of blocks. Return the exit status of the process. Raises NodeError.

    `spec` is the chain's spec. It can be None for an export, since the export's manifest identifies the chain.
    """
    with exported(source, spec, to, at, skip_flags, workers) as (folder, status):
        if status:
            return status
        manifest = read_manifest(folder)
        with tempfile.TemporaryDirectory(prefix="coind-report-") as temporary:
            connection = open_export(folder, temporary=Path(temporary), is_compatible=False)
            try:
                span = span_of(connection, at)
                facts, parts = facts_of(connection, span), answers(connection, manifest, span)
            finally:
                connection.close()
    title = f"{manifest.chain.name} up to block {span.last:,}"
    text = page(
        title,
        facts,
        parts,
        span,
        f"Made by coind {VERSION}. Times are in UTC. A period has {span.width:,} block{'' if span.width == 1 else 's'}.",
    )
    try:
        with written_whole(SystemDisk(), to) as file:
            file.write(text.encode(), 0)
    except OSError as error:
        raise NodeError(f"--to {to} can't be written: {error.strerror}") from None
    return 0


@contextmanager
def exported(source: Path, spec: ChainSpec | None, to: Path, at: int | None, skip_flags: int, workers: int) -> Iterator[tuple[Path, int]]:
    """Export the source if it isn't an export. Yield the folder of the export, and the exit status of exporting. A temporary export is
    removed at the end of the `with` block.
    """
    if is_export(source):
        found = read_manifest(source).chain
        if spec is not None and spec.chain_id.hex() != found.chain_id:
            raise NodeError(f"--chain {spec.name}: {source} belongs to the chain {found.name}")
        yield source, 0
        return
    assert spec is not None, "only exports name their chain"
    last = last_of(source, spec) if at is None else at
    interval = max(1, last // SAMPLES) if last else SAMPLE_BLOCKS
    with tempfile.TemporaryDirectory(prefix=f".{to.name}-", dir=folder_of(to)) as folder:
        wanted = ExportOptions(
            spec=spec,
            source=source,
            to=Path(folder),
            last=at,
            tables={"accounts": 0, "witnesses": 0, "global_properties": interval},
            chunk_blocks=CHUNK_BLOCKS,
            skip=skip_flags,
            workers=workers,
        )
        try:
            status = run_to_end(partial(export, wanted))
        finally:
            # The garbage collector ignores objects that the export froze, and DuckDB warns at exit about objects that were not collected.
            gc.unfreeze()
        yield Path(folder), status


def is_export(source: Path) -> bool:
    """Whether a path is the folder of an export."""
    return (source / NAME).exists()


def last_of(source: Path, spec: ChainSpec) -> int:
    """Return the number of the last block of a file or folder. Return 0 for a missing file, and for a pipe, which can be read only once."""
    if is_pipe(source) or not source.exists():
        return 0
    with closing(open_source(source, Wire(spec))) as blocks:
        return blocks.last


def folder_of(to: Path) -> Path:
    """Return the folder that will contain the report's file. Raises NodeError if it doesn't exist."""
    if not to.parent.is_dir():
        raise NodeError(f"--to {to}: there is no folder {to.parent}")
    return to.parent
