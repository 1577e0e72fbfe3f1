"""Nodes in separate processes and plain clients, for the attacks."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

START_SECONDS_MAX = 60
END_SECONDS_MAX = 30
CALL_SECONDS_MAX = 30
ADDRESS = re.compile(r"http://([0-9.]+):(\d+)")


class Gone(Exception):
    """The node doesn't answer."""


class Node:
    """A started node. Its output goes to files, so that a full pipe can't block it."""

    def __init__(self, folder: Path, *arguments: str | Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.output, self.errors = folder / "stdout", folder / "stderr"
        command = [sys.executable, "-P", "-m", "node", "run", "--http", "127.0.0.1:0", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        with self.output.open("wb") as out, self.errors.open("wb") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, cwd=folder, env=environment)
        self.host, self.port = "", 0

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def wait(self) -> "Node":
        """Wait until the node has printed its address. Raises Gone with the end of its stderr if it exits first."""
        latest = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < latest:
            found = ADDRESS.search(self.output.read_text("utf-8", "replace"))
            if found is not None:
                self.host, self.port = found[1], int(found[2])
                return self
            if not self.is_running:
                break
            time.sleep(0.005)
        raise Gone(f"the node didn't start (status {self.process.poll()}): {self.words()}")

    def words(self) -> str:
        return self.errors.read_text("utf-8", "replace")[-2000:]

    def kill(self) -> None:
        if self.is_running:
            self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop the node gracefully and return its exit status."""
        if self.is_running:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def memory_kb(self) -> int:
        """The resident memory of the process, in KB."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text("ascii"))
        assert found is not None
        return int(found[1])

    def processor_seconds(self) -> tuple[float, float]:
        """The time that the node's process has used a processor, and the time that it has waited for one, in seconds."""
        ran, waited, _ = Path(f"/proc/{self.pid}/schedstat").read_text("ascii").split()
        return int(ran) / 1e9, int(waited) / 1e9

    def descriptors(self) -> int:
        """The number of open files and sockets."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class Client:
    """A client over one persistent HTTP connection, for one thread. Raises Gone if the node doesn't answer."""

    def __init__(self, node: Node, seconds: float = CALL_SECONDS_MAX) -> None:
        self._connection = http.client.HTTPConnection(node.host, node.port, timeout=seconds)

    def ask(self, verb: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        try:
            self._connection.request(verb, path, body)
            reply = self._connection.getresponse()
            return reply.status, reply.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Gone(repr(error)) from None

    def call(self, method: str, params: Any) -> Any:
        """Return the decoded response to a call."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        return json.loads(self.ask("POST", "/", body)[1])

    def health(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.ask("GET", "/health")[1])
        return shown

    def close(self) -> None:
        self._connection.close()


@contextmanager
def running(folder: Path, *arguments: str | Path) -> Iterator[Node]:
    """Run a node for the duration of the context."""
    node = Node(folder, *arguments)
    try:
        yield node.wait()
    finally:
        node.kill()


class Crowd:
    """Threads that repeat their work until `end` is called. If a thread has failed with an unexpected error, `end` raises it."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []

    def start(self, work: Any, *arguments: Any) -> None:
        """Repeat a function in a thread until it raises Gone or the crowd ends."""

        def repeat() -> None:
            try:
                while not self.over.is_set():
                    work(*arguments)
            except Gone:
                pass
            except BaseException as error:
                self._errors.append(error)

        self._threads.append(threading.Thread(target=repeat, daemon=True))
        self._threads[-1].start()

    def end(self) -> None:
        """Wait for all threads and raise the first error."""
        self.over.set()
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]


def supported(option: str) -> bool:
    """Whether `coind run` has an option."""
    command = [sys.executable, "-P", "-m", "node", "run", "--help"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    shown = subprocess.run(command, capture_output=True, text=True, env=environment, check=False).stdout
    return re.search(rf"(^|\s){re.escape(option)}\b", shown) is not None
