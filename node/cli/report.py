"""`coind report`: pictures of what a chain did, in one file."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from node.cli.parameters import ChainOfBlocks, Config, Positive
from node.key_recovery.pool import default_workers
from node.runtime.optional_libraries import load_extra
from node.runtime.output import say
from node.specs.builder import load_spec
from state.chain.skip import TRUSTED, Skip


def report_command(
    source: Annotated[
        Path, Parameter(help="The folder of an export in Parquet; or a file or folder of blocks, or -.", allow_leading_hyphen=True)
    ],
    /,
    *,
    to: Annotated[Path, Parameter(help="The file to write, as report.html.")],
    chain: ChainOfBlocks = None,
    at: Annotated[int | None, Positive, Parameter(help="Report up to this block; by default the last.")] = None,
    verify: Annotated[Literal["all", "none"], Parameter(help="Check everything in the blocks, or trust them.")] = "all",
    config: Config = None,
) -> int:
    """Write a page with pictures of what a chain did, and the numbers behind them. It needs no network.

    Example: bin/coind report block_log --chain steem-testnet --to report.html
    """
    for library in ("pyarrow", "duckdb"):
        load_extra(library, "data", what="a report")
    from node.cli.chain_of_blocks import spec_of_blocks
    from node.research.report.report import is_export, report

    if is_export(source):
        spec = None if chain is None else load_spec(chain)
    else:
        spec = spec_of_blocks(source, chain)
    status = report(source, spec, to, at=at, skip_flags=TRUSTED if verify == "none" else Skip.NOTHING, workers=default_workers())
    if not status:
        say(f"{to} is written: {to.stat().st_size:,} bytes")
    return status
