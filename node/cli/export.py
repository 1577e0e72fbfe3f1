"""`coind export`: writes what a chain has done into files for other programs."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from node.cli.block_numbers import block_range, count
from node.cli.parameters import ChainOfBlocks, Config, Flag
from node.key_recovery.pool import default_workers
from node.runtime.errors import NodeError
from node.runtime.optional_libraries import load_extra
from node.runtime.output import say
from node.runtime.shutdown import run_to_end
from state.chain.skip import TRUSTED, Skip

CHUNK_BLOCKS = "100k"


def export_command(
    source: Annotated[
        Path, Parameter(help="A block log or JSON lines of blocks; a folder of them, or of a node; or -.", allow_leading_hyphen=True)
    ],
    /,
    *,
    to: Annotated[Path, Parameter(help="The folder of the export; what is there of it already is skipped.")],
    chain: ChainOfBlocks = None,
    blocks: Annotated[str, Parameter(help="Only these blocks, as 1M:2M, which ends before block 2,000,000.")] = ":",
    only: Annotated[str | None, Parameter(help="Only these kinds of operations, as transfer,vote; blocks: the blocks themselves.")] = None,
    tables: Annotated[str, Parameter(help="Rows of these tables at the end; as comments@100k, every 100,000 blocks too.")] = "",
    format: Annotated[Literal["parquet", "csv", "jsonl"], Parameter(help="The form of the files.")] = "parquet",
    chunk: Annotated[str, Parameter(help="Blocks that share a file.")] = CHUNK_BLOCKS,
    verify: Annotated[Literal["all", "none"], Parameter(help="Check everything in the blocks, or trust them.")] = "all",
    signature_workers: Annotated[
        int | None,
        Parameter(
            name=("--signature-workers", "--workers"), help="Processes that recover keys ahead; by default one for each further core."
        ),
    ] = None,
    dry: Annotated[bool, Flag, Parameter(help="Only say what would be done.")] = False,
    config: Config = None,
) -> int:
    """Write operations, blocks and rows of tables into files for other programs: Parquet, CSV or JSON lines.

    An export that was stopped, or that has more blocks by now, goes on when it is started again with the same options.

    Example: bin/coind export block_log --chain steem-testnet --to steem --tables accounts
    """
    load_extra("pyarrow", "data", what="an export")
    from node.cli.chain_of_blocks import spec_of_blocks
    from node.research.export.run import Export, ExportOptions, export

    first, last = block_range(blocks, "--blocks")
    wanted = ExportOptions(
        spec=spec_of_blocks(source, chain),
        source=source,
        to=to,
        first=first,
        last=last,
        only=None if only is None else names(only, "--only"),
        tables=tables_of(tables),
        form=format,
        chunk_blocks=count(chunk, "--chunk", least=1),
        skip=TRUSTED if verify == "none" else Skip.NOTHING,
        workers=default_workers() if signature_workers is None else signature_workers,
    )
    if dry:
        for line in Export(wanted).plan():
            say(line)
        return 0
    return run_to_end(partial(export, wanted))


def names(text: str, option: str) -> tuple[str, ...]:
    """Return the names of a list with commas. Raises NodeError for an empty one."""
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(found):
        raise NodeError(f"{option} {text!r} has an empty name; expected names with commas in between, as transfer,vote")
    return found


def tables_of(text: str) -> dict[str, int]:
    """Return after how many blocks the rows of each table are written, 0: only at the end. Raises NodeError."""
    found = {}
    for each in names(text, "--tables") if text else ():
        name, at, every = each.partition("@")
        found[name] = count(every, f"--tables {name}@", least=1) if at else 0
    return found
