"""For tests that read command lines in their own process."""

from typing import Any

import pytest

from node.commands import running


@pytest.fixture(autouse=True)
def log_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands set up the log of their process, which is that of all tests here."""

    def configured(*_options: Any, **_more: Any) -> None:
        pass

    monkeypatch.setattr(running, "configure_logs", configured)
