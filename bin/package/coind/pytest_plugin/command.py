"""Finds the command that starts coind."""

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

VARIABLE, NAME = "COIND", "coind"
PACKAGE = Path(__file__).resolve().parents[1]
ADVICE = f"Give it by --coind, coind_command in the settings of pytest, or the variable {VARIABLE}, or put {NAME} on the PATH."


def find_command(config: pytest.Config) -> list[str]:
    """Return the command with its arguments. The sources are the option, the setting, the variable, the plugin's own package, and the PATH.

    The first source that has a command is used. Raises pytest.UsageError if there is none.
    """
    for text, place, folder in (
        (config.getoption("--coind"), "--coind", config.invocation_params.dir),
        (config.getini("coind_command"), "coind_command", (config.inipath or config.rootpath / "x").parent),
        (os.environ.get(VARIABLE), VARIABLE, Path.cwd()),
    ):
        if text:
            return words(text, folder, place)
    if (PACKAGE / "node").is_dir():
        return [sys.executable, "-P", "-m", PACKAGE.name]
    in_checkout = PACKAGE.parents[1] / NAME
    found = str(in_checkout) if in_checkout.is_file() else shutil.which(NAME)
    if found is None:
        raise pytest.UsageError(f"coind.pytest_plugin: the command {NAME} isn't found. {ADVICE}")
    return [found]


def words(text: str, folder: Path, place: str) -> list[str]:
    """Split a command into its words. A relative path starts from `folder`. Raises pytest.UsageError if the program doesn't exist."""
    whole = folder / os.path.expanduser(text)
    first, *rest = [text] if whole.is_file() else shlex.split(text)
    program = shutil.which(folder / os.path.expanduser(first) if os.sep in first else first)
    if program is None:
        raise pytest.UsageError(f"coind.pytest_plugin: {place}: there is no program {first}. {ADVICE}")
    return [str(program), *rest]
