"""The command line of `bin/coind`: a plain `run` at once, everything else through cyclopts; and how a command ends."""

import os
import sys

from node.failures import NodeError, Status, last_line
from node.logs import end_of_lines
from node.version import VERSION, VERSION_WORDS


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
        last_line(f"coind: {in_words(error, words)}")
        return error.STATUS
    return status


def in_words(error: NodeError, words: list[str]) -> str:
    """Return the text of an error that ended a command; options that a variable has given are named by it."""
    if words[:1] not in (["run"], ["replay"]):
        return str(error)
    from node.commands.environment import in_words_of_their_places
    from node.commands.running import options_of_command

    return in_words_of_their_places(str(error), options_of_command(words[0]), words[1:])


def run_plain(words: list[str]) -> int | None:
    """Run a node with the options of a plain command line; None when it isn't plain, and nothing was done."""
    # Imported here, since the version is told without.
    from node.commands.plain import read_plain
    from node.commands.running import Common, Run, run_command

    plain = read_plain(words, Common, Run, environ=os.environ)
    if plain is None or plain[1].config is not None:
        return None
    return run_command(common=plain[0], own=plain[1])
