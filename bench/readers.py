"""Measures how much faster a node with reader processes answers small reads over 8 persistent HTTP/1.1 connections.

Run: .venv/bin/python -m bench.readers [SECONDS] [READERS ...]

Nodes of the chain dev with 0, 1 and 2 readers (or with each number in READERS) are measured one after another, in five rounds of SECONDS
(default: 2) each. The output contains the best and the median round. The load comes from one thread of `wrk` (Debian: apt install wrk),
which needs a tenth of the CPU time of a Python client. The output also contains the CPU time per request, of wrk and of the node's
processes. The CPU time indicates the possible gain even if other programs keep the cores busy.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from msgspec import Struct

from bench.start import Start, processor_seconds, started

CONNECTIONS = 8
ROUNDS = 5
BODY = '{"jsonrpc":"2.0","id":1,"method":"condenser_api.get_accounts","params":[["alice"]]}'
SCRIPT = f"""wrk.method = "POST"
wrk.body = '{BODY}'
wrk.headers["content-type"] = "application/json"
function done(summary) io.write(string.format("%d %d %d\\n", summary.requests, summary.duration, summary.errors.status)) end
"""


class Node(Struct):
    """A node with `readers` reader processes, and its figures per round: requests per second, and CPU µs per request of the node and of
    wrk.
    """

    readers: int
    start: Start
    rates: list[float] = []
    own: list[float] = []
    client: list[float] = []

    def wait(self) -> None:
        """Wait until all reader processes run."""
        while len(self.pids()) <= self.readers:
            time.sleep(0.1)
        time.sleep(1)

    def pids(self) -> list[int]:
        """Return the ids of the node's processes."""
        found = [self.start.pid]
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                if int(path.read_text().rpartition(")")[2].split()[1]) == self.start.pid:
                    found.append(int(path.parent.name))
        return found

    def ask(self, seconds: int, script: str) -> None:
        """Run wrk (an HTTP load generator) with a Lua script for `seconds` at full load. Record the request rate and the CPU times."""
        pids = self.pids()
        before, children = sum(map(processor_seconds, pids)), os.times()
        words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}", "-s", script, f"http://127.0.0.1:{self.start.port}/"]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        count, micros, failed = map(int, said.strip().splitlines()[-1].split())
        assert not failed, said
        after = os.times()
        self.rates.append(count / micros * 1e6)
        self.own.append((sum(map(processor_seconds, pids)) - before) / count * 1e6)
        self.client.append((after.children_user + after.children_system - children.children_user - children.children_system) / count * 1e6)


def main() -> None:
    """Start the nodes, and measure."""
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed. Install it with: apt install wrk")
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with ExitStack() as stack, tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT)
        script.flush()
        options = {count: ["--readers", str(count), "--signature-workers", "0"] for count in map(int, sys.argv[2:] or ("0", "1", "2"))}
        nodes = [Node(count, stack.enter_context(started(words))) for count, words in options.items()]
        for node in nodes:
            node.wait()
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


if __name__ == "__main__":
    main()
