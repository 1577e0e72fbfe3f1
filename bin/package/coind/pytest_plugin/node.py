"""Starts, calls and stops a node in a child process."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from coind.pytest_plugin.chain import Chain
from coind.pytest_plugin.refusals import Refused
from node.client.errors import RefusedCall
from node.runtime.errors import NodeError

__tracebackhide__ = True  # makes pytest's reports end at the line of the test

# A suite's node gets only the suite's options. Variables of the shell, for example for a data folder or an address, are removed.
OPTIONS_PREFIX = "COIND_"
POLL_SECONDS = 0.005
ANSWER_SECONDS_MAX = 120
STOP_SECONDS_MAX = 15
LOG_LINES_SHOWN = 20

# Runs the node, and ends it when stdin is closed. That happens even if the test process is killed.
KEEPER = """
import subprocess, sys, threading
node = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
def watch():
    sys.stdin.buffer.read()
    node.terminate()
threading.Thread(target=watch, daemon=True).start()
sys.exit(node.wait())
"""

# Block modes in which the head changes without a call.
BY_THE_CLOCK = ("interval", "mixed")
# Read-only methods of dev_api.
READING = frozenset({"get_info", "explain_transaction", "list_keys", "list_refused"})


class NodeFailed(Exception):
    """Raised if the node doesn't start or doesn't answer. The text ends with the last lines of the node's log."""


class Node:
    """A running node. `url` is its address, `chain` is its chain, and `log` is the file with its output."""

    def __init__(self, process: subprocess.Popen[bytes], ready: dict[str, Any], log: Path) -> None:
        self.url: str = ready["address"]
        self.chain_id: str = ready["chain_id"]
        self.chain_name: str = ready["chain"]
        self.log = log
        self._process = process
        # Imported here, since a session without a node doesn't need it.
        from node.client.http import Client

        self._client = Client(self.url)
        self._lock = threading.Lock()
        self._snapshot: int | None = None
        self._snapshot_head: tuple[str, int] | None = None
        self._in_test = self._is_touched = False

    @cached_property
    def chain(self) -> Chain:
        """The node's chain. Changes that are made outside of tests persist. Changes that a test makes with `coin_chain` are undone."""
        return Chain(self.url, self.call)

    # -------------------------------------------------------------- start and end

    @classmethod
    @contextmanager
    def start(cls, command: Sequence[str], options: Sequence[str], folder: Path, seconds_max: float) -> Iterator[Self]:
        """Start a node on a free port, and stop it afterwards. Raises NodeFailed."""
        ready, log = folder / "ready.json", folder / "log"
        run = [*command, "run", "--port", "0", "--quiet", "--ready-file", str(ready), *options]
        with log.open("wb") as out:
            keeper = [sys.executable, "-I", "-S", "-c", KEEPER, *run]
            environ = own_environ(os.environ)
            process = subprocess.Popen(keeper, stdin=subprocess.PIPE, stdout=out, stderr=out, env=environ, start_new_session=True)
        try:
            yield cls(process, _wait(process, shlex.join(run), ready, log, seconds_max), log)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    # -------------------------------------------------------------- calls

    def call(self, method: str, params: Any = None) -> Any:
        """Call an RPC method and return its result. Raises Refused, and NodeFailed if the node doesn't answer."""
        self._is_touched = self._is_touched or (not self._in_test and _changes(method))
        with self._lock:
            try:
                return self._client.call(method, {} if params is None else params, seconds_max=ANSWER_SECONDS_MAX)
            except RefusedCall as error:
                raise Refused(method, error.error) from None
            except NodeError as error:
                raise NodeFailed(f"{self._how_it_is()}: {error}\n{_end_of(self.log)}") from error

    def _how_it_is(self) -> str:
        status = self._process.poll()
        return "the node doesn't answer" if status is None else f"the node has ended with status {status}"

    # -------------------------------------------------------------- tests

    def begin_test(self) -> int:
        """Return the id of the snapshot to restore after a test. If the chain has changed since the last snapshot, take a new one."""
        info = self.call("dev_api.get_info")
        head = (info["head_block_id"], info["pending"])
        is_changed = self._is_touched or (head != self._snapshot_head and not info["block_mode"].startswith(BY_THE_CLOCK))
        if self._snapshot is None or is_changed:
            self._snapshot = self.call("dev_api.snapshot")["id"]
            self._snapshot_head = head
        self._in_test, self._is_touched = True, False
        self.chain.begin_test()
        assert self._snapshot is not None
        return self._snapshot

    def end_test(self, moment: int) -> None:
        """Restore a snapshot."""
        try:
            self.call("dev_api.revert", {"id": moment})
        except Refused:
            # The test itself dropped the snapshot by a reset, a load, or a revert to an earlier one.
            self._snapshot = None
            self.call("dev_api.reset")
        finally:
            self._in_test = self._is_touched = False


def own_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a suite's node. Variables that set options, for example COIND_DATA, are removed."""
    return {name: value for name, value in environ.items() if not name.startswith(OPTIONS_PREFIX)}


def _changes(method: str) -> bool:
    """Whether a method can change the chain."""
    group, _, name = method.partition(".")
    return (group == "dev_api" and name not in READING) or group == "debug_node_api" or name.startswith("broadcast_")


def _wait(process: subprocess.Popen[bytes], command: str, ready: Path, log: Path, seconds_max: float) -> dict[str, Any]:
    """Wait for the ready file and return its content. Raises NodeFailed."""
    end = time.monotonic() + seconds_max
    while process.poll() is None and time.monotonic() < end:
        if ready.exists():
            found: dict[str, Any] = json.loads(ready.read_bytes())
            return found
        time.sleep(POLL_SECONDS)
    status = process.poll()
    what = f"isn't ready after {seconds_max:g} s" if status is None else f"ended with status {status} before it was ready"
    raise NodeFailed(f"coind {what}: {command}\n{_end_of(log)}")


def _end_of(log: Path) -> str:
    """Return the last lines of a log."""
    lines = log.read_text("utf-8", "replace").splitlines()[-LOG_LINES_SHOWN:]
    return "\n".join(f"  {line}" for line in lines) or "  (no output)"
