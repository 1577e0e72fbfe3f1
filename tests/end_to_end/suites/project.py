"""A project of a user of the pytest plugin, in a separate folder, with packages named like the node's."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.end_to_end.test_command import CHECKOUT
from tests.helpers.warm import Warm
from tests.helpers.wheels import Installed

# This checkout's node in a preloaded Python process.
LAUNCHER = """#!/bin/sh
exec {words} -P -m node "$@"
"""
PYTEST = Warm(Path(sys.executable), ["_pytest.*"], {})
# Names of the user's packages that the node also uses.
OWN = ("node", "state", "rpc", "bin")


class Project:
    """The user's folder. `run` runs its tests in a separate process."""

    def __init__(self, folder: Path, package: Installed) -> None:
        self.folder = folder
        (folder / "tests").mkdir()
        (folder / "tests" / "__init__.py").touch()
        for name in OWN:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(f"MINE = {name!r}\n")
        self.command = folder / "a node" / "coind"
        self.command.parent.mkdir()
        self.launcher(self.command)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COIND", "PYTHON"))}
        self.environment |= {"PYTHONPATH": f"{package.package.parent}:{folder}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        self.settings("")

    def launcher(self, path: Path) -> None:
        """Write an executable at this path that starts the node."""
        path.write_text(LAUNCHER.format(words=shlex.join(CHECKOUT.words)))
        path.chmod(0o755)

    def settings(self, text: str) -> None:
        (self.folder / "pytest.ini").write_text(f"[pytest]\n{text}\n")

    def write(self, text: str, name: str = "test_it.py") -> None:
        (self.folder / "tests" / name).write_text(text)

    def run(
        self, *options: str, command: str | None = "", plugins: Sequence[str] = ("coind.pytest_plugin",)
    ) -> subprocess.CompletedProcess[str]:
        """Run the tests. The environment variable for the node's command is set unless `command` is None."""
        environment = self.environment if command is None else self.environment | {"COIND": command or f"'{self.command}'"}
        chosen = [word for plugin in plugins for word in ("-p", plugin)]
        program = [*PYTEST.words, "-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts=", *chosen, *options]
        return subprocess.run(program, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
