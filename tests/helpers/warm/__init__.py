"""A preloaded Python process that runs programs in forks. Tests start hundreds of programs, and would otherwise spend most of their time on
imports.

Tests start a separate process for behaviour that a fork doesn't reproduce: missing or premature imports, kills, and properties that a
process inherits from its parent when it starts.
"""

import secrets
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent


class Warm:
    """A preloaded Python process, which is started on first use. `modules` contains names of modules (`NAME`) and of whole packages
    (`NAME.*`).
    """

    def __init__(self, python: Path, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        self.python = python
        self._modules, self._environment = modules, environment
        self._name = f"coind-{secrets.token_hex(8)}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def words(self) -> list[str]:
        """The start of a command line that runs in a fork: `[*words, "-m", MODULE]` or `[*words, FILE]`."""
        if self._process is None:
            self._process = self._start()
        return [str(self.python), "-I", "-S", str(HERE / "client.py"), self._name]

    def _start(self) -> "subprocess.Popen[bytes]":
        # The socket listens before the server process starts, so that no client connects too early.
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(f"\0{self._name}")
            listener.listen()
            return subprocess.Popen(
                [self.python, "-P", HERE / "server.py", str(listener.fileno()), *self._modules],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )

    def end(self) -> None:
        """End the process and its forks."""
        if self._process is not None:
            self._process.communicate()
            self._process = None
