"""Runs sessions of real clients against real nodes and counts their steps: `bin/test clients [NAME]...`.

Each client has an environment of its own, made once and again when its pins change; each session has a fresh node. A client may also
have a suite of tests, which starts its node by itself, as a project of a user would.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from tests.conftest import ROOT

HERE = ROOT / "tests" / "clients"
ENVIRONMENTS = ROOT / ".venv-clients"
SESSION_SECONDS_MAX = 300
START_SECONDS_MAX = 60
NODE_TOOLS = ("node", "npm")
RESULTS = {"pass": "passed", "fail": "failed", "skip": "skipped"}


class Client(Struct, frozen=True):
    """A client: the folder that holds its pins and its session, and the chains that it is tried on."""

    name: str
    chains: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return HERE / self.name

    @property
    def is_javascript(self) -> bool:
        """Whether it needs Node.js."""
        return (self.folder / "package.json").exists()

    @property
    def suite(self) -> Path:
        """Its suite of tests, if it has one."""
        return self.folder / "suite.js"


CLIENTS = (
    Client("beem", ("dev", "steem-testnet")),
    Client("lighthive", ("dev",)),
    Client("dsteem", ("dev-tests", "steem-testnet", "dev")),
    Client("steem-js", ("steem-testnet", "dev")),
)


class SetupError(Exception):
    """An environment or a node couldn't be made; says why."""


def main(names: list[str]) -> int:
    """Run the sessions of the named clients, or of all; the status is 0 when nothing failed."""
    unknown = set(names) - {client.name for client in CLIENTS}
    if unknown:
        say(f"there is no client {', '.join(sorted(unknown))}; there are {', '.join(client.name for client in CLIENTS)}")
        return 2
    counts = dict.fromkeys(RESULTS, 0)
    for client in CLIENTS:
        if not names or client.name in names:
            for result in results(client):
                counts[result] += 1
    say("\n" + ", ".join(f"{counts[result]} {text}" for result, text in RESULTS.items()))
    return 1 if counts["fail"] else 0


def results(client: Client) -> Iterator[str]:
    """What each step of a client's sessions ended with; what happens is printed."""
    missing = [tool for tool in NODE_TOOLS if client.is_javascript and shutil.which(tool) is None]
    for chain in client.chains:
        say(f"\n== {client.name} on {chain}")
        if missing:
            yield told(f"skip {client.name} on {chain}: {' and '.join(missing)} can't be found; it needs Node.js")
            continue
        try:
            command = environment(client)
            with running_node(chain) as url:
                yield from steps([*command, url, chain])
        except SetupError as error:
            yield told(f"fail {client.name} on {chain}: {error}")
    if client.suite.exists() and not missing:
        say(f"\n== the suite of {client.name}")
        yield from tests_of(client.suite)


def told(line: str) -> str:
    """Print the line of a step; its first word is what it ended with."""
    say(line)
    return line.split(" ", 1)[0]


def say(line: str) -> None:
    """A line on stdout."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


# ------------------------------------------------------------------ environments


def environment(client: Client) -> list[str]:
    """Make the environment of a client hold its pins; returns the command that its session begins with."""
    if client.is_javascript:
        pins, place = client.folder / "package-lock.json", client.folder / "node_modules"
        make: list[list[str]] = [["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(client.folder)]]
        command = ["node", str(client.folder / "session.js")]
    else:
        pins, place = client.folder / "requirements.txt", ENVIRONMENTS / client.name
        python = str(place / "bin" / "python")
        pip = [python, "-I", "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check", "--no-deps", "-r", str(pins)]
        make = [[sys.executable, "-I", "-m", "venv", "--clear", str(place)], pip]
        command = [python, "-m", f"tests.clients.{client.name}.session"]
    note = place / "made-for"
    if not note.exists() or note.read_bytes() != pins.read_bytes():
        say(f"installing {client.name}, this once")
        for step in make:
            succeed(step)
        note.write_bytes(pins.read_bytes())
    return command


def succeed(command: list[str]) -> None:
    """Run a command that has to succeed; what it prints is shown only if it doesn't."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise SetupError(f"{command[0]} ended with status {done.returncode}: {''.join(last)}")


# ------------------------------------------------------------------ nodes and sessions


@contextmanager
def running_node(chain: str) -> Iterator[str]:
    """A node of a chain on a free port, for as long as the context lasts; gives its address."""
    command = [str(ROOT / "bin" / "coind"), "run", "--chain", chain, "--http", "127.0.0.1:0"]
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
    # What it logs from here on must not fill the pipe.
    threading.Thread(target=node.stdout.read, daemon=True).start()
    try:
        yield address
    finally:
        node.terminate()
        node.wait()


def steps(command: list[str]) -> Iterator[str]:
    """Run a session; gives what each of its steps ended with, and one failure more if the session itself ends badly."""
    session = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    assert session.stdout is not None
    last = ""
    with limited(session, SESSION_SECONDS_MAX):
        for line in session.stdout:
            last = line.rstrip()
            if last.split(" ", 1)[0] in RESULTS:
                yield told(last)
    if session.wait():
        yield told(f"fail the session ended with status {session.returncode}: {last}")


def tests_of(suite: Path) -> Iterator[str]:
    """Run a suite of Node.js; gives what each of its tests ended with."""
    environment = os.environ | {"COIND": str(ROOT / "bin" / "coind")}
    command = ["node", "--test", "--test-reporter=tap", str(suite)]
    ran = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environment, timeout=SESSION_SECONDS_MAX
    )
    found = re.findall(r"^ *(not ok|ok) \d+ - (.*)$", ran.stdout, re.MULTILINE)
    for result, name in found:
        yield told(f"{'pass' if result == 'ok' else 'fail'} {name}")
    if ran.returncode and not any(result == "not ok" for result, _ in found):
        yield told(f"fail the suite ended with status {ran.returncode}: {ran.stderr.strip()[-500:]}")


@contextmanager
def limited(process: subprocess.Popen[str], seconds: int) -> Iterator[None]:
    """Kill a process that takes longer than this."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
