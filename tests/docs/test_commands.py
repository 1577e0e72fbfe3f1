"""The commands in the code blocks of pages: each uses an existing command and existing options."""

import re
import shlex
from pathlib import Path

import pytest

from node.cli.app import app
from node.version import VERSION
from rpc.declare.method import METHODS
from tests.conftest import ROOT

SOURCES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
COMMAND = re.compile(r"^(?:bin/)?coind ([a-z-].*)$", re.MULTILINE)
NOTICE = "dev_api.notice"  # the notification for subscribers
METHOD = re.compile(r'"method": *"((?:\w+_api|bridge|jsonrpc|rpc)\.\w+)"')


def blocks(path: Path) -> str:
    """Return the code blocks of a page."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    return "".join(re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_and_options_exist(path: Path) -> None:
    assert [line for line in COMMAND.findall(blocks(path)) if not exists(line)] == []


def exists(line: str) -> bool:
    """Whether a command line uses existing commands and options; the rest of the shell line is ignored."""
    words = shlex.split(re.split(r"\s(?:[|>&#]|2>)|;", line)[0].replace("...", ""))
    if words[0].startswith("-"):
        return words[0] in ("--version", "--help", "-V", "-h")
    _, apps, rest = app.parse_commands(words)
    if len(apps) == 1:
        return words[0].isupper()
    if apps[-1].default_command is None:
        return rest == ["--help"]
    known = {name for argument in apps[-1].assemble_argument_collection() for name in argument.names} | {"--help"}
    return all(word.partition("=")[0] in known for word in rest if word.startswith("--"))


@pytest.mark.parametrize(
    ("line", "is_there"),
    [
        ("run --blocks instant &", True),
        ("run --block instant", False),
        ("runn", False),
        ("dev advance 7d > /dev/null", True),
        ("dev advanc 7d", False),
        ("tx transfer a b '1.000 COIN' --memmo x", False),
        ("--version", True),
    ],
)
def test_exists_detects_wrong_commands(line: str, is_there: bool) -> None:
    assert exists(line) is is_there


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_methods_exist(path: Path) -> None:
    named = set(METHOD.findall(blocks(path)))
    assert sorted(named - {*METHODS, NOTICE}) == []


def test_wheel_file_name_has_the_version() -> None:
    # The release instructions refer to the next version.
    named = {
        version
        for path in SOURCES
        if path.name != "release.md"
        for version in re.findall(r"coind-(\d[\w.]*)-py3-none-any", path.read_text(encoding="utf-8"))
    }
    assert named == {VERSION}
