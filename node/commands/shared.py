"""What the commands share: paths of data folders, and lines of output. It knows no command."""

import sys
from pathlib import Path

from node.failures import NodeError, on_one_line

DEFAULT_CHAIN = "dev"
VERSION_WORDS = ("--version", "-V")


def data_folder(text: str) -> Path:
    """Return the path of a data folder. Raises NodeError.

    An empty path, as of a variable that isn't set, would mean the current folder, and so is refused.
    """
    if not text or "\0" in text:
        raise NodeError(f"--data {text!r} is no folder; name one, or . for the current one")
    return Path(text)


def say(line: str) -> None:
    """Print a line on stdout."""
    sys.stdout.write(on_one_line(line) + "\n")
