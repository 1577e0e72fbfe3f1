"""The command line in this process: its words in, status, stdout and stderr out."""

import sys
import warnings
from dataclasses import dataclass

import pytest

from node.cli.app import main


@dataclass(frozen=True)
class CommandResult:
    """How a command has ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines on stdout."""
        return self.out.splitlines()

    @property
    def pairs(self) -> dict[str, str]:
        """Names and values, where it has printed pairs."""
        found = (line.partition("  ") for line in self.lines)
        return {name.strip(): value.strip() for name, _, value in found}


def coind(capsys: pytest.CaptureFixture[str], *words: str) -> CommandResult:
    """Run a command to its end."""
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["coind", *words])
        with warnings.catch_warnings():
            # Cyclopts suspects that a test has forgotten to give it words.
            warnings.simplefilter("ignore", UserWarning)
            status = main()
    captured = capsys.readouterr()
    return CommandResult(status, captured.out, captured.err)
