"""Fixtures and helpers for tests that run command lines in the tests' own process."""

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
    """Keep commands from configuring the log of this process, and from starting a node."""

    def configured(*_options: Any, **_more: Any) -> None:
        pass

    def unexpected(*_options: Any, **_more: Any) -> int:
        raise AssertionError("a node would be started")

    monkeypatch.setattr(run_options, "configure_logs", configured)
    monkeypatch.setattr(run_options, "run", unexpected)


def call(*words: str | Path) -> Any:
    """Run a command line, and return the result of the command's function."""
    return app([str(word) for word in words], result_action="return_value", print_error=False, exit_on_error=False)


def refused(*words: str | Path) -> str:
    """Run `coind` with arguments that it must refuse, and return the error message."""
    with pytest.raises(NodeError) as refused:
        call(*words)
    return sources.name_sources(str(refused.value))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """A function that runs a command line and returns the settings with which the command would start a node."""
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
