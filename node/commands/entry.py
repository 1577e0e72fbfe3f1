"""The command line of `bin/coind`: a plain `run` at once, everything else through cyclopts; and how a command ends."""

import sys

from node.commands.plain import read_plain
from node.failures import NodeError, Status, last_line
from node.logs import end_of_lines
from node.version import VERSION

VERSION_WORDS = ("--version", "-V")


def main() -> int:
    """Run the command line of `bin/coind`; returns the status of the process."""
    words = sys.argv[1:]
    if len(words) == 1 and words[0] in VERSION_WORDS:
        print(f"coind {VERSION}")
        return Status.DONE
    try:
        status = run_plain(words[1:]) if words[:1] == ["run"] else None
        if status is None:
            from node.commands.app import main as parsed

            status = parsed()
    except NodeError as error:
        end_of_lines()
        last_line(f"coind: {error}")
        return error.STATUS
    return status


def run_plain(words: list[str]) -> int | None:
    """Run a node with the options of a plain command line; None when it isn't plain, and nothing was done."""
    from node.commands.running import Common, Run, run_command

    plain = read_plain(words, Common, Run)
    if plain is None or plain[1].config is not None:
        return None
    return run_command(common=plain[0], own=plain[1])
