"""The methods, options and commands that docs/anvil.md names exist."""

import re
from collections.abc import Callable

import pytest

from rpc.declare.method import METHODS
from tests.conftest import ROOT
from tests.helpers.commands import coind

PAGE = (ROOT / "docs" / "anvil.md").read_text(encoding="utf-8")
COMPARED, _, BEYOND = PAGE.partition("## What anvil doesn't have")
ROWS = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in COMPARED.splitlines() if line.startswith("| `")]
OURS = sorted({word for text in [*(row[-1] for row in ROWS), BEYOND] for word in re.findall(r"`([^`]+)`", text)})
OUR_METHODS = [word for word in OURS if re.match(r"^\w+_api\.\w+$|^(jsonrpc|rpc)\.\w+$", word)]
OUR_OPTIONS = [word for word in OURS if word.startswith("--")]
OUR_COMMANDS = [word for word in OURS if word.startswith("coind ")]
HELP: dict[tuple[str, ...], str] = {}


@pytest.fixture
def help_of(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function that returns a command's help for a wide terminal, cached."""
    monkeypatch.setenv("COLUMNS", "200")

    def help_of(*command: str) -> str:
        if command not in HELP:
            done = coind(capsys, *command, "--help")
            assert done.status == 0, done.err
            HELP[command] = done.out
        return HELP[command]

    return help_of


@pytest.mark.parametrize("name", OUR_METHODS)
def test_our_methods_exist(name: str) -> None:
    assert name in METHODS


def test_every_dev_api_method_is_listed() -> None:
    assert sorted(name for name in METHODS if name.startswith("dev_api.") and f"`{name}`" not in PAGE) == []


@pytest.mark.parametrize("text", OUR_OPTIONS)
def test_our_options_exist(text: str, help_of: Callable[..., str]) -> None:
    assert re.search(rf"(?<![\w-]){text.split()[0]}(?![\w-])", help_of("run"))


@pytest.mark.parametrize("text", OUR_COMMANDS)
def test_our_commands_exist(text: str, help_of: Callable[..., str]) -> None:
    words = text.split()[1:]
    options = [word for word in words if word.startswith("--")]
    command = [word for word in words if re.match(r"^[a-z][a-z-]*$", word)]
    shown = help_of(*command)
    assert [option for option in options if option not in shown] == []
