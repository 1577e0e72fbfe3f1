"""Command line of `bin/coind`: its commands, each in a module that is imported only when the command is used, and its exit statuses."""

import re
import sys
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Group, Parameter
from cyclopts.exceptions import UnusedCliTokensError

from node.cli.option_sources import OptionSources, require_whole_numbers
from node.runtime.errors import NodeError, Status, last_line
from node.runtime.logs import end_of_lines
from node.runtime.output import say
from node.version import VERSION, VERSION_WORDS

NODE, CHAIN, TOOLS, ABOUT = (Group.create_ordered(name) for name in ("Node", "Chain", "Tools", "About"))

SOURCES_HELP = """Each option can also be set by an environment variable, for example COIND_HTTP for --http, or by a key in the file of
--config. The command line takes precedence, then the variable. Separate the items of a list in a variable by commas.
"""
TX_HELP = """Build, sign and broadcast transactions.

The keys of a test chain's accounts are built in. Give other keys by --key, COIND_KEY or at the prompt.

Example: bin/coind tx transfer alice bob "1.000 COIN" --memo thanks --wait
"""
SHOW_HELP = """Show the state of a chain: accounts, blocks, posts, the market...

Prints tables on a terminal, aligned text elsewhere, and JSON with --json.

Example: bin/coind show account alice
"""
DEV_HELP = """Drive a local chain: blocks, time, snapshots, balances...

The node must run on this machine, with a test chain.

Example: bin/coind dev advance 7d
"""


app = App(
    name="coind",
    help="A node of a Steem-family blockchain, in memory.",
    version=lambda: f"coind {VERSION}",
    version_flags=VERSION_WORDS,
    version_format="plaintext",
    group_commands=ABOUT,
)
sources = OptionSources(app)
app.config = (sources, require_whole_numbers)
app["--help"].group = app["--version"].group = ABOUT
app.command("node.cli.run_options:run_command", name="run", help=f"Start a node.\n\n{SOURCES_HELP}", group=NODE, sort_key=1)
app.command("node.cli.run_options:replay_command", name="replay", help=f"Apply a file of blocks.\n\n{SOURCES_HELP}", group=NODE, sort_key=2)
app.command("node.cli.fork:fork_command", name="fork", help="Read a part of a live chain into a fork file.", group=NODE, sort_key=3)
app.command("node.cli.relay:relay_command", name="relay", help="Relay the blocks of a node to a broker.", group=NODE, sort_key=4)
app.command("node.cli.tx.app:tx", name="tx", help=TX_HELP, group=CHAIN)
app.command("node.cli.show.app:show", name="show", help=SHOW_HELP, group=CHAIN)
app.command("node.cli.dev.app:dev", name="dev", help=DEV_HELP, group=CHAIN)
app.command("node.cli.blocks:blocks", name="blocks", help="Check or repair the block log of a data folder.", group=TOOLS)
app.command("node.cli.snapshot:snapshot", name="snapshot", help="Save, list, load, verify or compare state snapshots.", group=TOOLS)
app.command("node.cli.export:export_command", name="export", help="Export blocks to Parquet, CSV or JSON lines.", group=TOOLS)
app.command("node.cli.sql:sql_command", name="sql", help="Query an export in SQL.", group=TOOLS)
app.command("node.cli.report:report_command", name="report", help="Draw charts of a chain's activity, in one HTML file.", group=TOOLS)
app.command(
    "node.cli.optional_libraries:install_command",
    name="install",
    help="Install optional dependencies: data, nats, ray or testcontainers.",
    group=TOOLS,
)
app.command("node.cli.keys:keys_command", name="keys", help="Print the keys of an account.", group=TOOLS)


@app.command(name="completion", group=ABOUT)
def completion_command(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell.")], /) -> int:
    """Print a shell's completion script for the commands and options."""
    print(app.generate_completion(shell=shell))
    return 0


@app.command(name="version", group=ABOUT)
def version_command() -> int:
    """Print the versions of coind and Python, and the names of the chain specs."""
    import platform

    from node.specs.builder import spec_names

    say(f"coind {VERSION}")
    say(f"Python {platform.python_version()}")
    say(f"chains {' '.join(spec_names())}")
    return 0


def main() -> int:
    """Run the command line of this process and return its exit status."""
    try:
        status = app(sys.argv[1:], result_action="return_value", print_error=False, exit_on_error=False)
    except CycloptsError as error:
        last_line(f"coind: {problem(error)} {usage(error)}")
        return Status.USAGE
    except NodeError as error:
        end_of_lines()
        last_line(f"coind: {sources.name_sources(str(error))}")
        return error.STATUS
    return status if isinstance(status, int) else Status.DONE


def problem(error: CycloptsError) -> str:
    """Return an error in the command line as a sentence."""
    if isinstance(error, UnusedCliTokensError):
        given = " ".join(map(repr, error.unused_tokens or ()))
        return f'Unexpected argument: {given}. Put texts with spaces in quotes, for example "1.000 COIN".'
    text = " ".join(str(error).split())
    # With a suggestion, the list of all commands is only noise.
    return re.sub(r"(Did you mean .*?\?) Available commands: .*", r"\1", text)


def usage(error: CycloptsError) -> str:
    """Return a sentence that refers to the help of the command, or to the general help."""
    return f"See: {' '.join(['bin/coind', *(error.command_chain or ()), '--help'])}"
