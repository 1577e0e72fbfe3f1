"""Measures the gain from reader processes: small reads over 8 persistent HTTP/1.1 connections.

Run: .venv/bin/python -m bench.readers [SECONDS] [READERS ...]
Nodes of the chain dev with 0, 1 and 2 readers (or READERS) are measured one after another, in five rounds of SECONDS (2) each. The output
has the best and the median round. The load comes from one thread of `wrk` (Debian: apt install wrk), which needs a tenth of the CPU time
of a Python client. Each figure includes the CPU time of wrk and of the node's processes per request. These show the possible gain even
if other programs keep the cores busy.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.clients import HttpClient
from bench.rpc import processor_seconds

ROOT = Path(__file__).resolve().parent.parent
PORT = 18690
CONNECTIONS = 8
ROUNDS = 5
BODY = '{"jsonrpc":"2.0","id":1,"method":"condenser_api.get_accounts","params":[["alice"]]}'
SCRIPT = f"""wrk.method = "POST"
wrk.body = '{BODY}'
wrk.headers["content-type"] = "application/json"
function done(summary) io.write(string.format("%d %d %d\\n", summary.requests, summary.duration, summary.errors.status)) end
"""


class Node:
    """A node with `readers` reader processes, on a separate port."""

    def __init__(self, readers: int) -> None:
        self.readers, self.port = readers, PORT + readers
        words = [str(ROOT / "bin" / "coind"), "run", "--port", str(self.port), "--readers", str(readers), "--workers", "0"]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.rates: list[float] = []
        self.own: list[float] = []
        self.client: list[float] = []

    def wait(self) -> None:
        """Wait until the node replies and all readers run."""
        while True:
            try:
                HttpClient(self.port).ask(BODY.encode())
                if len(self.pids()) == self.readers + 1:
                    time.sleep(1)
                    return
            except OSError:
                pass
            time.sleep(0.1)

    def pids(self) -> list[int]:
        """Return the ids of the node's processes."""
        own = self._process.pid
        found = [own]
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                if int(path.read_text().rpartition(")")[2].split()[1]) == own:
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    def ask(self, seconds: int, script: str) -> None:
        """Run wrk for `seconds` at full load, and record the rate and CPU times."""
        pids = self.pids()
        before, children = sum(map(processor_seconds, pids)), os.times()
        words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}", "-s", script, f"http://127.0.0.1:{self.port}/"]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        count, micros, failed = map(int, said.strip().splitlines()[-1].split())
        assert not failed, said
        after = os.times()
        self.rates.append(count / micros * 1e6)
        self.own.append((sum(map(processor_seconds, pids)) - before) / count * 1e6)
        self.client.append((after.children_user + after.children_system - children.children_user - children.children_system) / count * 1e6)

    def end(self) -> None:
        """Stop the node."""
        self._process.terminate()
        self._process.wait(10)


def main() -> None:
    """Start the nodes, measure, stop them."""
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed. Install it with: apt install wrk")
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    nodes = [Node(count) for count in map(int, sys.argv[2:] or ("0", "1", "2"))]
    try:
        for node in nodes:
            node.wait()
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(SCRIPT)
            script.flush()
            for _ in range(ROUNDS):
                for node in nodes:
                    node.ask(seconds, script.name)
        first = nodes[0]
        print(json.dumps({"cores": os.cpu_count(), "load": os.getloadavg()[0], "connections": CONNECTIONS}))
        for node in nodes:
            best, median = max(node.rates), statistics.median(node.rates)
            times = f"x{best / max(first.rates):.2f}, median {median:6.0f} = x{median / statistics.median(first.rates):.2f}"
            print(
                f"--readers {node.readers}: best {best:6.0f} per second = {times}; "
                f"CPU time of the node {min(node.own):5.1f} µs, of wrk {min(node.client):5.1f} µs per request"
            )
    finally:
        for node in nodes:
            node.end()


if __name__ == "__main__":
    main()
