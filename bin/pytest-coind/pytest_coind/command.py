"""Where the command is that starts coind."""

import json
import os
import shlex
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

VARIABLE, NAME = "COIND", "coind"
DISTRIBUTION = "pytest-coind"
ADVICE = f"name it with --coind, coind_command in the settings of pytest, the variable {VARIABLE}, or put {NAME} on the PATH"


def find_command(config: pytest.Config) -> list[str]:
    """Return the command with its arguments: that of the option, the setting, the variable, the PATH, or the checkout of this plugin.

    Raises pytest.UsageError when there is none.
    """
    for text, place, folder in (
        (config.getoption("--coind"), "--coind", config.invocation_params.dir),
        (config.getini("coind_command"), "coind_command", (config.inipath or config.rootpath / "x").parent),
        (os.environ.get(VARIABLE), VARIABLE, Path.cwd()),
    ):
        if text:
            return words(text, folder, place)
    found = shutil.which(NAME) or next((str(path) for path in in_checkout() if path.is_file()), None)
    if found is None:
        raise pytest.UsageError(f"pytest-coind: the command {NAME} isn't found; {ADVICE}")
    return [found]


def words(text: str, folder: Path, place: str) -> list[str]:
    """Return a command as its words; a path counts from a folder. Raises pytest.UsageError for a program that there isn't."""
    whole = folder / os.path.expanduser(text)
    first, *rest = [text] if whole.is_file() else shlex.split(text)
    program = shutil.which(folder / os.path.expanduser(first) if os.sep in first else first)
    if program is None:
        raise pytest.UsageError(f"pytest-coind: {place}: there is no program {first}; {ADVICE}")
    return [str(program), *rest]


def in_checkout() -> list[Path]:
    """Return where the command is if this plugin lies in a checkout of coind, or was installed from one."""
    found = [Path(__file__).resolve().parents[2] / NAME]
    try:
        origin = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        origin = None
    if origin:
        found.append(Path(unquote(urlsplit(json.loads(origin)["url"]).path)).parent / NAME)
    return found
