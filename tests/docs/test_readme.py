"""The shell alias in the README, which is in no code block."""

import re
import subprocess
from pathlib import Path

from tests.conftest import ROOT


def test_alias_works_in_a_folder_with_a_space(tmp_path: Path) -> None:
    [alias] = re.findall("`(alias .*)`", (ROOT / "README.md").read_text())
    command = tmp_path / "a checkout" / "bin" / "coind"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\necho "$1"\n')
    command.chmod(0o755)
    for shell in (["bash", "-O", "expand_aliases"], ["sh"]):
        typed = f"{alias}\ncd /\ncoind version\n"
        done = subprocess.run(shell, input=typed, cwd=command.parent.parent, capture_output=True, text=True, check=True)
        assert done.stdout == "version\n"
