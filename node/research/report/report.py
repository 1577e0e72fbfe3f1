"""Makes a report of an export, or of blocks, which it exports first."""

import gc
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from node.history.sources import STANDARD_INPUT, open_source
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

MOMENTS = 200  # after so many blocks of all the supply is looked at
MOMENTS_EVERY = 10_000  # blocks, where it isn't known how many there are
CHUNK_BLOCKS = 100_000


def report(source: Path, spec: ChainSpec | None, to: Path, *, at: int | None, skip_flags: int = Skip.NOTHING, workers: int = 0) -> int:
    """Write a report of an export, or of a file or folder of blocks, into a file; returns the status of the process. Raises NodeError.

    `spec` is that of the chain; None is for an export, which names its own.
    """
    with exported(source, spec, to, at, skip_flags, workers) as (folder, status):
        if status:
            return status
        manifest = read_manifest(folder)
        with tempfile.TemporaryDirectory(prefix="coind-report-") as temporary:
            connection = open_export(folder, temporary=Path(temporary))
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
        f"Made by coind {VERSION}. Times are UTC; periods of {span.width:,} block{'' if span.width == 1 else 's'}.",
    )
    try:
        with written_whole(SystemDisk(), to) as file:
            file.write(text.encode(), 0)
    except OSError as error:
        raise NodeError(f"--to {to} can't be written: {error.strerror}") from None
    return 0


@contextmanager
def exported(source: Path, spec: ChainSpec | None, to: Path, at: int | None, skip_flags: int, workers: int) -> Iterator[tuple[Path, int]]:
    """Give the folder of an export, and the status of making it; one that was made for this is gone after the context."""
    if is_export(source):
        found = read_manifest(source).chain
        if spec is not None and spec.chain_id.hex() != found.chain_id:
            raise NodeError(f"--chain {spec.name}: {source} is of the chain {found.name}")
        yield source, 0
        return
    assert spec is not None, "only exports name their chain"
    last = last_of(source, spec) if at is None else at
    moments = max(1, last // MOMENTS) if last else MOMENTS_EVERY
    with tempfile.TemporaryDirectory(prefix=f".{to.name}-", dir=folder_of(to)) as folder:
        wanted = ExportOptions(
            spec=spec,
            source=source,
            to=Path(folder),
            last=at,
            tables={"accounts": 0, "witnesses": 0, "global_properties": moments},
            chunk_blocks=CHUNK_BLOCKS,
            skip=skip_flags,
            workers=workers,
        )
        try:
            status = run_to_end(partial(export, wanted))
        finally:
            # What an export has frozen isn't looked at by the collector, and DuckDB tells at the end of what it left.
            gc.unfreeze()
        yield Path(folder), status


def is_export(source: Path) -> bool:
    """Return whether what is at a path is an export."""
    return (source / NAME).exists()


def last_of(source: Path, spec: ChainSpec) -> int:
    """Return the number of the last block of a file or folder, 0 where that can't be known yet: what a pipe holds is read only once."""
    if source == STANDARD_INPUT or not (source.is_file() or source.is_dir()):
        return 0
    blocks = open_source(source, Wire(spec))
    try:
        return blocks.last
    finally:
        blocks.close()


def folder_of(to: Path) -> Path:
    """Return the folder in which a file is going to be. Raises NodeError."""
    if not to.parent.is_dir():
        raise NodeError(f"--to {to}: there is no folder {to.parent}")
    return to.parent
