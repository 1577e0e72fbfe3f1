"""The command line of `bin/coind`: its commands, each in a module that is loaded when it is called, and how a command ends."""

import re
import sys
from typing import Literal

from cyclopts import App, CycloptsError, Group
from cyclopts.exceptions import UnusedCliTokensError

from node.cli.option_sources import OptionSources
from node.runtime.errors import NodeError, Status, last_line
from node.runtime.logs import end_of_lines
from node.runtime.output import say
from node.version import VERSION, VERSION_WORDS

NODE, CHAIN, TOOLS, ABOUT = (Group.create_ordered(name) for name in ("Node", "Chain", "Tools", "About"))

SOURCES_HELP = """Each option also has a variable of the environment, for example COIND_HTTP for --http, and a key in the file of
--config. The command line takes precedence, then the variable. Lists have commas in a variable.
"""
TX_HELP = """Make, sign and broadcast transactions.

The keys of the accounts of a chain made for tests are known; others come from --key, COIND_KEY or a prompt.

Example: bin/coind tx transfer alice bob "1.000 COIN" --memo thanks --wait
"""
SHOW_HELP = """Look at a chain: accounts, blocks, posts, the market...

Tables on a terminal, aligned text elsewhere, JSON with --json.

Example: bin/coind show account alice
"""
DEV_HELP = """Drive a local chain: blocks, time, snapshots, balances...

The node must run on this machine, and have a chain that is made for tests.

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
app.config = (sources,)
app["--help"].group = app["--version"].group = ABOUT
app.command("node.cli.run_options:run_command", name="run", help=f"Start a node.\n\n{SOURCES_HELP}", group=NODE, sort_key=1)
app.command("node.cli.run_options:replay_command", name="replay", help=f"Apply a file of blocks.\n\n{SOURCES_HELP}", group=NODE, sort_key=2)
app.command("node.cli.relay:relay_command", name="relay", help="Put the blocks of a node into a broker.", group=NODE, sort_key=3)
app.command("node.cli.tx.app:tx", name="tx", help=TX_HELP, group=CHAIN)
app.command("node.cli.show.app:show", name="show", help=SHOW_HELP, group=CHAIN)
app.command("node.cli.dev.app:dev", name="dev", help=DEV_HELP, group=CHAIN)
app.command("node.cli.blocks:blocks", name="blocks", help="Look at the blocks of a data folder, or repair them.", group=TOOLS)
app.command("node.cli.snapshot:snapshot", name="snapshot", help="Work with snapshots of the state, without a node.", group=TOOLS)
app.command("node.cli.export:export_command", name="export", help="Write what a chain has done into files for other programs.", group=TOOLS)
app.command("node.cli.sql:sql_command", name="sql", help="Ask an export questions in SQL.", group=TOOLS)
app.command("node.cli.report:report_command", name="report", help="Pictures of what a chain did, in one file.", group=TOOLS)
app.command(
    "node.cli.optional_libraries:install_command", name="install", help="Add what only some users need: data, nats, ray.", group=TOOLS
)
app.command("node.cli.keys:keys_command", name="keys", help="Print the keys of an account.", group=TOOLS)


@app.command(name="completion", group=ABOUT)
def completion_command(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print what makes a shell complete the commands and options.

    Parameters
    ----------
    shell
        The shell that reads it.
    """
    print(app.generate_completion(shell=shell))
    return 0


@app.command(name="version", group=ABOUT)
def version_command() -> int:
    """Print the version of this program, of Python, and the names of its chains."""
    import platform

    from node.specs.builder import spec_names

    say(f"coind {VERSION}")
    say(f"Python {platform.python_version()}")
    say(f"chains {' '.join(spec_names())}")
    return 0


def main() -> int:
    """Run the command line of this process; returns its status."""
    try:
        status = app(sys.argv[1:], result_action="return_value", print_error=False, exit_on_error=False)
    except CycloptsError as error:
        last_line(f"coind: {problem(error)} {usage(error)}")
        return Status.USAGE
    except NodeError as error:
        end_of_lines()
        last_line(f"coind: {sources.in_words(str(error))}")
        return error.STATUS
    return status if isinstance(status, int) else Status.DONE


def problem(error: CycloptsError) -> str:
    """Return what is wrong with the command line, in a sentence."""
    if isinstance(error, UnusedCliTokensError):
        given = " ".join(map(repr, error.unused_tokens or ()))
        return f'No argument is expected at {given}. A text with spaces stands in quotes, as "1.000 COIN".'
    text = " ".join(str(error).split())
    # Where a nearest one is named, nobody needs the others.
    return re.sub(r"(Did you mean .*?\?) Available commands: .*", r"\1", text)


def usage(error: CycloptsError) -> str:
    """Return where to look after an error in the command line: at the help of the command, if there is one."""
    return f"See: {' '.join(['bin/coind', *(error.command_chain or ()), '--help'])}"
