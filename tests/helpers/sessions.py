"""Third-party programs in separate environments, nodes for them, and sessions that print one line per step."""

import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import ROOT

SESSION_SECONDS_MAX = 300
START_SECONDS_MAX = 60
RESULTS = {"pass": "passed", "fail": "failed", "skip": "skipped"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class SetupError(Exception):
    """An environment or a node could not be set up; the text gives the reason."""


def report(line: str) -> str:
    """Print the line of a step, and return its result, the first word."""
    say(line)
    return line.split(" ", 1)[0]


def say(line: str) -> None:
    """Write a line to stdout."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


# ------------------------------------------------------------------ environments


def python_with(pins: Path, place: Path, name: str) -> str:
    """Install the pinned packages of a file into a virtual environment and return its Python."""
    python = str(place / "bin" / "python")
    pip = [python, "-I", "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check", "--no-deps", "-r", str(pins)]
    make_once(name, pins, place, [[sys.executable, "-I", "-m", "venv", "--clear", str(place)], pip])
    return python


def make_once(name: str, pins: Path, place: Path, commands: list[list[str]]) -> None:
    """Create an environment with these commands, unless there is one that was created from the same pinned versions."""
    note = place / "made-for"
    if not note.exists() or note.read_bytes() != pins.read_bytes():
        say(f"installing {name}, this once")
        for command in commands:
            succeed(command)
        note.write_bytes(pins.read_bytes())


def succeed(command: list[str], cwd: Path = ROOT) -> None:
    """Run a command; raises SetupError with its last line of output if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise SetupError(f"{command[0]} ended with status {done.returncode}: {''.join(last)}")


# ------------------------------------------------------------------ nodes and sessions


@contextmanager
def running_node(chain: str, *options: str) -> Iterator[str]:
    """Run a node of a chain on a free port for the duration of the context; yields its address."""
    command = [str(ROOT / "bin" / "coind"), "run", "--chain", chain, "--http", "127.0.0.1:0", *options]
    node = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert node.stdout is not None
    with limited(node, START_SECONDS_MAX):
        lines: list[str] = []
        address = None
        while address is None:
            line = node.stdout.readline()
            if not line:
                raise SetupError(f"the node ended: {''.join(lines[-1:]).strip()}")
            lines.append(line)
            address = line.removeprefix("address: ").strip() if line.startswith("address: ") else None
    # Drain the pipe, since a full pipe would block the node's log output.
    threading.Thread(target=node.stdout.read, daemon=True).start()
    try:
        yield address
    finally:
        node.terminate()
        node.wait()


def steps(command: list[str], seconds_max: int = SESSION_SECONDS_MAX) -> Iterator[str]:
    """Run a session, and yield the result of each step. If the session itself fails without reporting a failed step, yield another
    failure.
    """
    session = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    assert session.stdout is not None
    last, has_failed = "", False
    with limited(session, seconds_max):
        for line in session.stdout:
            last = line.rstrip()
            if last.split(" ", 1)[0] in RESULTS:
                has_failed |= last.startswith("fail ")
                yield report(last)
    if session.wait() and not has_failed:
        yield report(f"fail the session ended with status {session.returncode}: {last}")


def totals(results: Iterable[str], *, needs_pass: bool = True) -> int:
    """Count the results of all steps and print the totals. Return the exit status: 0 if no step failed and, with `needs_pass`, at least one
    passed.
    """
    counts: Counter[str] = Counter()
    try:
        counts.update(results)
    except SetupError as error:
        counts[report(f"fail {error}")] += 1
    say("\n" + ", ".join(f"{counts[result]} {text}" for result, text in RESULTS.items()))
    return 1 if counts["fail"] or (needs_pass and not counts["pass"]) else 0


def chromium() -> str | None:
    """The path of Chromium: the environment variable CHROMIUM, or a program in PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def limited(process: subprocess.Popen[str], seconds: int) -> Iterator[None]:
    """Kill the process if the context takes longer than `seconds`."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
