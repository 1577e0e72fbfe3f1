"""Exit statuses are a public interface: scripts rely on the numbers, and the documentation must list them."""

import re

import pytest

from node.history.apply import BlockRefused
from node.runtime.errors import DiskError, FileError, NodeError, StateError, Status, last_line
from tests.conftest import ROOT
from tests.helpers.golden import same_as_golden

NUMBERS = {
    "DONE": 0, "REFUSED": 1, "USAGE": 2, "DAMAGED": 3, "DISK": 4, "BROKEN_INVARIANT": 5, "BUG": 70, "INTERRUPTED": 130, "PIPE_CLOSED": 141,
}  # fmt: skip


def test_exit_statuses_are_stable() -> None:
    assert {status.name: status.value for status in Status} == NUMBERS


def test_each_kind_of_error_has_its_own_status() -> None:
    kinds = (NodeError, FileError, BlockRefused, DiskError, StateError)
    assert [int(kind.STATUS) for kind in kinds] == [1, 3, 3, 4, 5]


def test_the_documentation_names_all_statuses() -> None:
    text = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \|", text.partition("## Exit codes")[2], re.MULTILINE)
    assert sorted(map(int, rows)) == sorted(NUMBERS.values())


def test_control_characters_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    last_line("coind: data holds the chain \x1b]0;owned\x07évil\ncoind: all is well")
    same_as_golden(capsys.readouterr().err)
