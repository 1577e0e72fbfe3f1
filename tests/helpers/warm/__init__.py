"""A Python process that has loaded its modules and runs programs in forks: tests start hundreds, and loading took nearly all of their time.
Tests of missing or early imports, kills, and inherited files use real processes.
"""

import secrets
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent


class Warm:
    """Such a Python, which starts with its first use. It is loaded with modules (`NAME`) and whole packages (`NAME.*`)."""

    def __init__(self, python: Path, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        self.python = python
        self._modules, self._environment = modules, environment
        self._name = f"coind-{secrets.token_hex(8)}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def words(self) -> list[str]:
        """Its place in a command: `[*words, "-m", MODULE]` or `[*words, FILE]`."""
        if self._process is None:
            self._process = self._start()
        return [str(self.python), "-I", "-S", str(HERE / "client.py"), self._name]

    def _start(self) -> "subprocess.Popen[bytes]":
        # It listens before the process is there, so that nobody comes too early.
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
        """End it, with all that it runs."""
        if self._process is not None:
            self._process.communicate()
            self._process = None
