"""Runs the command line in this process and captures its status, stdout and stderr."""

import sys
import warnings
from dataclasses import dataclass

import pytest

from node.cli.app import main


@dataclass(frozen=True)
class CommandResult:
    """The exit status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def pairs(self) -> dict[str, str]:
        """The name-value pairs that the command printed."""
        found = (line.partition("  ") for line in self.lines)
        return {name.strip(): value.strip() for name, _, value in found}


def coind(capsys: pytest.CaptureFixture[str], *words: str) -> CommandResult:
    """Run a command until it ends."""
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["coind", *words])
        with warnings.catch_warnings():
            # Cyclopts warns in tests that call an app without arguments.
            warnings.simplefilter("ignore", UserWarning)
            status = main()
    captured = capsys.readouterr()
    return CommandResult(status, captured.out, captured.err)
