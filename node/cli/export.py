"""`coind export`: writes operations, blocks and rows of tables to files for other programs."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from node.cli.block_numbers import block_range, count
from node.cli.parameters import ChainOfBlocks, Config, Flag
from node.client.urls import followed_url
from node.key_recovery.pool import default_workers
from node.runtime.errors import NodeError
from node.runtime.optional_libraries import load_extra
from node.runtime.output import say
from node.runtime.shutdown import run_to_end
from state.chain.skip import TRUSTED, Skip

CHUNK_BLOCKS = "100k"
FOLLOWED_CHUNK_BLOCKS = "1k"  # The rows of the last range stay in memory.


def export_command(
    source: Annotated[
        Path | None,
        Parameter(
            help="A block log, JSON lines of blocks, a folder of such files, a data folder, or - (stdin).", allow_leading_hyphen=True
        ),
    ] = None,
    /,
    *,
    follow: Annotated[str | None, Parameter(help="Instead of a source: the URL of a node, to export its blocks as they appear.")] = None,
    to: Annotated[Path, Parameter(help="The output folder; files already exported there are skipped.")],
    chain: ChainOfBlocks = None,
    blocks: Annotated[str, Parameter(help="The range of blocks, for example 1M:2M (excludes block 2,000,000).")] = ":",
    only: Annotated[str | None, Parameter(help="The kinds of operations, for example transfer,vote (blocks: the blocks).")] = None,
    tables: Annotated[str, Parameter(help="Tables to write at the end (comments@100k: also every 100,000 blocks, @1d: every day).")] = "",
    accounts: Annotated[str | None, Parameter(help="Write only the rows of these accounts, for example alice,bob.")] = None,
    format: Annotated[Literal["parquet", "csv", "jsonl"], Parameter(help="The file format.")] = "parquet",
    chunk: Annotated[
        str | None, Parameter(help=f"Blocks per file; by default {CHUNK_BLOCKS}, with --follow {FOLLOWED_CHUNK_BLOCKS}.")
    ] = None,
    verify: Annotated[Literal["all", "none"], Parameter(help="Check everything in the blocks, or trust them.")] = "all",
    signature_workers: Annotated[
        int | None,
        Parameter(
            name=("--signature-workers", "--workers"),
            help="Processes that recover the keys of signatures in advance; by default one per additional core.",
        ),
    ] = None,
    dry: Annotated[Flag, Parameter(help="Only print the plan.")] = False,
    config: Config = None,
) -> int:
    """Write operations, blocks and rows of tables to files: Parquet, CSV or JSON lines.

    Run it again with the same options to resume a stopped export, or to add new blocks.

    Example: bin/coind export block_log --chain steem-testnet --to steem --tables accounts
    """
    load_extra("pyarrow", "data", what="an export")
    from node.cli.chain_of_blocks import spec_of_blocks, spec_of_node
    from node.history.sources import STANDARD_INPUT
    from node.research.export.follow import FollowingExport, follow_node
    from node.research.export.run import Export, ExportOptions, export

    first, last = block_range(blocks, "--blocks")
    blocks_between, seconds_between = tables_of(tables)
    if accounts is not None and not blocks_between:
        raise NodeError("--accounts chooses rows of tables. Give the tables by --tables, for example --tables account_summaries@1d.")
    url = url_of(source, follow)
    wanted = ExportOptions(
        spec=spec_of_blocks(source, chain) if source is not None else spec_of_node(url, chain),
        source=source or STANDARD_INPUT,
        follow=url,
        to=to,
        first=first,
        last=last,
        only=None if only is None else names(only, "--only"),
        tables=blocks_between,
        seconds=seconds_between,
        accounts=None if accounts is None else names(accounts, "--accounts"),
        form=format,
        chunk_blocks=count(chunk or (FOLLOWED_CHUNK_BLOCKS if url else CHUNK_BLOCKS), "--chunk", least=1),
        skip=TRUSTED if verify == "none" else Skip.NOTHING,
        workers=default_workers() if signature_workers is None else signature_workers,
    )
    if dry:
        for line in (FollowingExport(wanted) if url else Export(wanted)).plan():
            say(line)
        return 0
    return run_to_end(partial(follow_node if url else export, wanted))


def url_of(source: Path | None, follow: str | None) -> str:
    """Return the URL of `--follow`, or "" if there is a source. Raises NodeError, also if both or neither are given."""
    from node.cli.run_options import named

    if follow is None:
        if source is None:
            raise NodeError("Give the blocks to export, for example a block log, or a node by --follow.")
        return ""
    if source is not None:
        raise NodeError(f"{source} and --follow are both sources of blocks. Leave one of them out.")
    with named("--follow"):
        return followed_url(follow)


def names(text: str, option: str) -> tuple[str, ...]:
    """Parse names separated by commas. Raises NodeError if one of them is empty."""
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(found):
        raise NodeError(f"{option} {text!r} has an empty name. Separate names by commas, for example transfer,vote.")
    return found


def tables_of(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """Parse the option `--tables`. Return the interval in blocks at which each table is written (0: only at the end), and the intervals in
    seconds. Raises NodeError.
    """
    from node.research.columns.schedule import period

    blocks: dict[str, int] = {}
    seconds: dict[str, int] = {}
    for each in names(text, "--tables") if text else ():
        name, at, every = each.partition("@")
        if (time := period(every)) is not None:
            blocks.setdefault(name, 0)
            seconds[name] = time
        else:
            blocks[name] = count(every, f"--tables {name}@", least=1) if at else 0
    return blocks, seconds
