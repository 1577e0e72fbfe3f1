"""Runs a page of docs/ verbatim in a new folder that looks like a checkout, on free ports.

`coind` in that folder is the installed wheel of this checkout, since users may have nothing else. The page's ports are replaced by free
ones in commands and files, and restored in output. A command that names no port also gets a free port.
"""

import contextlib
import os
import re
import secrets
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from bin.npm import SOURCE
from tests.conftest import ROOT
from tests.docs.reader import Block, Stop, agrees, logical_lines
from tests.helpers.warm import Warm

DEFAULT_PORT = 8090
PORTS = re.compile(r"\b809\d\b")
PORTS_FREE = (20_000, 32_000)
ADDRESS = re.compile(r"(?:--(?:http|serve)[ =]|COIND_HTTP=)(?:\S+:)?(\d+)|(?:--port[ =]|COIND_PORT=)(\d+)")
# Files of a checkout that pages refer to.
LINKS = ("docs", "genesis", "node", "pyproject.toml", "rpc", "state", "tests")
BLOCK_SECONDS_MAX = 60
START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 10
PRINT_SECONDS_MAX = 5
MARK = "--page-mark--"
# Progress lines of long commands, which appear only on a busy machine.
PROGRESS = re.compile(r"^block [\d,]+, .* s left\n", re.MULTILINE)

# A `coind` command for the folder. It runs the installed one, with the page's address if the command line has none.
LAUNCHER = """#!/bin/sh
export COIND_URL="${{COIND_URL-http://127.0.0.1:{port}}}"
case "$1 $*" in
"run "*" --http"* | "run "*" --port"*) ;;
"run "*) [ -n "${{COIND_HTTP-}}${{COIND_PORT-}}" ] || set -- "$@" --http 127.0.0.1:{port} ;;
esac
exec {warm} -P -m coind "$@"
"""
PYTHON = """#!/bin/sh
case "$1" in
*.py) exec {warm} "$@" ;;
esac
exec "{python}" "$@"
"""
# Use the environment in which coind is installed, not that of this checkout.
PYTEST = """#!/bin/sh
exec "{python}" -m pytest "$@"
"""

# "Install" the npm package of this checkout, without npm.
NPM = """#!/bin/sh
mkdir -p node_modules && ln -sfn "{source}" node_modules/coind
"""


class PageError(AssertionError):
    """A page doesn't match the program."""

    def __init__(self, step: Block | Stop, problem: str, printed: str = "") -> None:
        shown = f"\n--- printed\n{printed}" if printed else ""
        super().__init__(f"docs/{step}: {problem}{shown}")


class Ports:
    """The free ports that replace a page's ports."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}

    def __getitem__(self, port: int) -> int:
        return int(self.put(str(port)))

    def put(self, text: str) -> str:
        """Replace the page's ports with free ones."""
        return PORTS.sub(lambda found: self._taken.setdefault(found[0], str(free_port())), text)

    def put_back(self, text: str) -> str:
        """Replace the free ports with the page's."""
        for port, free in self._taken.items():
            text = re.sub(rf"\b{free}\b", port, text)
        return text


def free_port() -> int:
    """Return a free port outside of the range that the system assigns to client connections."""
    while True:
        port = PORTS_FREE[0] + secrets.randbelow(PORTS_FREE[1] - PORTS_FREE[0])
        with socket.socket() as taken, contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port


class Shell:
    """A shell that runs blocks in order and keeps variables and jobs."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=False,
            start_new_session=True,
        )

    def run(self, command: str, seconds: float = BLOCK_SECONDS_MAX) -> tuple[str, bool]:
        """Return the output of the commands and whether all succeeded. Raises TimeoutError if they don't end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        script = f"failed=; trap 'failed=1' ERR\n{command}\n{{ trap - ERR; printf '%s%s\\n' '{MARK}' \"$failed\"; }} 2>&1\n"
        self._process.stdin.write(script.encode())
        self._process.stdin.flush()
        printed = b""
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not (found := re.search(rf"{MARK}(1?)\n".encode(), printed)):
                if not selector.select(max(0, until - time.monotonic())):
                    raise TimeoutError(printed.decode(errors="replace"))
                chunk = os.read(self._process.stdout.fileno(), 65536)
                if not chunk:
                    raise TimeoutError("the shell has ended: " + printed.decode(errors="replace"))
                printed += chunk
        return PROGRESS.sub("", printed[: found.start()].decode(errors="replace")), not found[1]

    def end(self) -> None:
        """End the shell with all of its jobs."""
        end_group(self._process)


class Terminal:
    """A node in a separate terminal, started and answering."""

    def __init__(self, block: Block, command: str, port: int, folder: Path, environment: dict[str, str]) -> None:
        self.port = port
        self._output = folder / f".terminal-{block.line}"
        self._log = folder / f".terminal-{block.line}.log"
        # `exec` replaces the shell with the node, so that Ctrl-C reaches it.
        before, name, after = command.rpartition("coind ")
        with self._output.open("wb") as output, self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["bash", "-e", "-c", f"{before}exec {name}{after}"],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + START_SECONDS_MAX
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                said = self.printed() + self._log.read_text(encoding="utf-8", errors="replace")
                status = self._process.poll()
                end_group(self._process)
                raise PageError(block, f"the node doesn't answer (status {status})", said)
            time.sleep(0.05)

    def printed(self) -> str:
        """The node's output so far, without its log."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def end(self) -> int | None:
        """End the node with Ctrl-C and return its status, or None if it had to be killed."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS_MAX)
        status = self._process.poll()
        end_group(self._process)
        return status

    def _answers(self) -> bool:
        try:
            urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5).close()
        except HTTPError:
            return True
        except OSError:
            return False
        return True


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process together with everything it started."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS_MAX if how == signal.SIGTERM else None)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


class Reader:
    """Runs the steps of a page in order, as a reader would."""

    def __init__(self, folder: Path, warm: Warm) -> None:
        self.folder = folder
        self.ports = Ports()
        self._environment = environment() | {
            "PATH": f"{folder / 'bin'}:{warm.python.parent}:{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
            # For the pytest plugin, which would otherwise start the node that it was installed with.
            "COIND": "coind",
        }
        lay_out(folder, self.ports[DEFAULT_PORT], warm)
        self._shell = Shell(folder, self._environment)
        self._terminals: list[Terminal] = []

    def follow(self, step: Block | Stop) -> None:
        """Run a step of the page. Raises PageError if the result differs."""
        if isinstance(step, Stop):
            if not self._terminals:
                raise PageError(step, "there is no node to end")
            status = self._terminals.pop().end()
            if status != 0:
                raise PageError(step, f"the node ends with status {status}")
        elif step.name:
            (self.folder / step.name).write_text(self.ports.put(step.text) + "\n", encoding="utf-8")
        elif step.is_terminal:
            self._open(step)
        elif step.language == "sh":
            self._type(step)
        else:
            self._run_program(step)

    def end(self) -> None:
        for terminal in self._terminals:
            terminal.end()
        self._shell.end()

    def _open(self, block: Block) -> None:
        """Start a node. A node that already uses its port is ended first."""
        command = self.ports.put(block.text)
        found = ADDRESS.search(command)
        port = int(found[1] or found[2]) if found else self.ports[DEFAULT_PORT]
        for terminal in [each for each in self._terminals if each.port == port]:
            terminal.end()
            self._terminals.remove(terminal)
        terminal = Terminal(block, command, port, self.folder, self._environment)
        self._terminals.append(terminal)
        if block.seen is not None:
            self._compare(block, f"{block.seen}\n...", terminal.printed)

    def _type(self, block: Block) -> None:
        """Run commands in the shell."""
        lines = logical_lines(block.text)
        if all(line.seen is None for line in lines):
            printed, succeeded = self._say(block, block.text)
            if block.seen is not None:
                self._compare(block, block.seen, printed)
            elif not succeeded:
                raise PageError(block, "a command fails", printed)
            return
        for line in lines:
            printed, succeeded = self._say(block, line.text)
            if line.seen is not None:
                self._compare(block, line.seen, printed)
            elif not succeeded:
                raise PageError(block, f"a command fails: {line.text}", printed)

    def _run_program(self, block: Block) -> None:
        """Run a program with its language's interpreter. Without Node.js, JavaScript programs are skipped."""
        if block.language == "js" and shutil.which("node") is None:
            return
        path = self.folder / f".program-{block.line}.{'mjs' if block.language == 'js' else 'py'}"
        path.write_text(self.ports.put(block.text), encoding="utf-8")
        printed, succeeded = self._say(block, f"{'node' if block.language == 'js' else 'python'} {path}")
        if block.seen is not None:
            self._compare(block, block.seen, printed)
        if not succeeded:
            raise PageError(block, "the program fails", printed)

    def _say(self, block: Block, text: str) -> tuple[str, bool]:
        try:
            return self._shell.run(self.ports.put(text))
        except TimeoutError as error:
            raise PageError(block, f"the program runs longer than {BLOCK_SECONDS_MAX} s", str(error)) from None

    def _compare(self, block: Block, seen: str, printed: str | Callable[[], str]) -> None:
        """Compare the output with the page. A node's output can appear shortly after its first reply."""
        until = time.monotonic() + PRINT_SECONDS_MAX
        while True:
            shown = self.ports.put_back(printed if isinstance(printed, str) else printed())
            if agrees(seen, shown):
                return
            if isinstance(printed, str) or time.monotonic() > until:
                raise PageError(block, f"the output differs from\n{seen}", shown)
            time.sleep(0.05)


def environment() -> dict[str, str]:
    """Return the environment variables without those of coind and Python."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("COIND", "PYTHON"))}
    return variables | {"COLUMNS": "160", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


def lay_out(folder: Path, port: int, warm: Warm) -> None:
    """Make a folder look like a checkout after its setup."""
    (folder / "bin").mkdir(parents=True)
    for name, text in (("coind", LAUNCHER), ("python", PYTHON), ("pytest", PYTEST), ("npm", NPM)):
        launcher = folder / "bin" / name
        launcher.write_text(text.format(port=port, python=warm.python, warm=shlex.join(warm.words), source=SOURCE), encoding="utf-8")
        launcher.chmod(0o755)
    for name in LINKS:
        (folder / name).symlink_to(ROOT / name)
    (folder / "bin" / "package").symlink_to(ROOT / "bin" / "package")
    (folder / ".venv").symlink_to(Path(sys.prefix))


@contextlib.contextmanager
def reader(folder: Path, warm: Warm) -> Iterator[Reader]:
    """Follow a page in a new folder and end its processes afterwards."""
    following = Reader(folder, warm)
    try:
        yield following
    finally:
        following.end()
