"""For tests that read command lines in their own process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.app.settings import Settings
from node.cli import run_options
from node.cli.app import app, sources
from node.runtime.errors import NodeError

Started = Callable[..., Settings]


@pytest.fixture(autouse=True)
def log_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands set up the log of their process, which is that of all tests here; and a mistake that isn't refused starts no node."""

    def configured(*_options: Any, **_more: Any) -> None:
        pass

    def unexpected(*_options: Any, **_more: Any) -> int:
        raise AssertionError("a node would be started")

    monkeypatch.setattr(run_options, "configure_logs", configured)
    monkeypatch.setattr(run_options, "run", unexpected)


def call(*words: str | Path) -> Any:
    """Run a command line, and return what the command returns."""
    return app([str(word) for word in words], result_action="return_value", print_error=False, exit_on_error=False)


def refused(*words: str | Path) -> str:
    """The text with which a command is refused whose command line can be read."""
    with pytest.raises(NodeError) as refused:
        call(*words)
    return sources.name_sources(str(refused.value))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """The settings that a command line starts a node with."""
    found: list[Settings] = []

    def run(settings: Settings, *_others: Any, **_more: Any) -> int:
        found.append(settings)
        return 0

    monkeypatch.setattr(run_options, "run", run)
    monkeypatch.setattr("node.replay.run.replay_file", run)

    def start(*words: str | Path) -> Settings:
        assert call(*words) == 0
        return found.pop()

    return start
