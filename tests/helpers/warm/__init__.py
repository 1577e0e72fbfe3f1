"""The commands of an installed coind that only ask a node, loaded once in a process that each of them is a fork of: a page has up to
ninety, and loading took nearly all of their time. Whatever else is started is a process of its own, as for everybody.
"""

import secrets
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
# They come from no file that a page could change, and start no process.
WORDS = ("dev", "keys", "show", "tx")


class Warm:
    """The process that has loaded the commands."""

    def __init__(self, python: Path, environment: Mapping[str, str]) -> None:
        """Start it for the Python of an environment that has coind."""
        name = f"coind-{secrets.token_hex(8)}"
        self.command = f'"{python}" -I -S "{HERE / "client.py"}" {name}'
        # It listens before the process is there, so that nobody comes too early.
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"\0{name}")
            listener.listen()
            self.process = subprocess.Popen(
                [python, "-I", HERE / "server.py", str(listener.fileno())],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )
