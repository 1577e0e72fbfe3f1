"""`coind install`: adds what only some users need. The launcher does it; the command is left to say that it is done."""

from typing import Annotated

from cyclopts import Parameter

from node.commands.shared import say
from node.extras import Extra, load_extra

# A module of each, which shows whether it is there.
MODULES: dict[Extra, tuple[str, ...]] = {"data": ("pyarrow", "duckdb", "pandas"), "nats": ("nats",), "ray": ("ray", "grpc")}


def install_command(
    extra: Annotated[Extra, Parameter(help="data: exports, SQL, reports; nats: blocks by a broker; ray: replay in parallel.")], /
) -> int:
    """Add what only some users need."""
    for module in MODULES[extra]:
        load_extra(module, extra, what=f"the extra {extra}")
    say(f"{extra} is installed")
    return 0
