"""`coind report`: draws charts of a chain's activity, in one HTML file."""

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
        Path, Parameter(help="The folder of a Parquet export, a file or folder of blocks, or - (stdin).", allow_leading_hyphen=True)
    ],
    /,
    *,
    to: Annotated[Path, Parameter(help="The file to write, for example report.html.")],
    chain: ChainOfBlocks = None,
    at: Annotated[Positive | None, Parameter(help="The last block of the report; by default the last one.")] = None,
    verify: Annotated[Literal["all", "none"], Parameter(help="Check everything in the blocks, or trust them.")] = "all",
    config: Config = None,
) -> int:
    """Write an HTML page with charts of a chain's activity and their numbers. The page works offline.

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
        say(f"{to} written: {to.stat().st_size:,} bytes")
    return status
