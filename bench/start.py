"""Measures the time from the command to the node's first reply, and the node's CPU time until then.

Run: .venv/bin/python -m bench.start [ROUNDS] [--module]

Each round starts `bin/coind run` on a free port, and requests the head of the chain until the first reply. It does so with the chain in
memory, with an empty data folder, and with 21 witnesses. `--module` skips the launcher (python -m node). Targets: at most 0.5 s, and 1 s
with 21 witnesses.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[1]
LAUNCHER, MODULE = (str(ROOT / "bin" / "coind"),), (sys.executable, "-P", "-m", "node")
ROUNDS = 10
SECONDS_MAX, WITNESSES_SECONDS_MAX = 0.5, 1.0
WAIT_SECONDS_MAX = 60
POLL_SECONDS = 0.002
WITNESSES = 21
CALL = b'{"jsonrpc":"2.0","id":1,"method":"condenser_api.get_dynamic_global_properties","params":[]}'
REQUEST = b"POST / HTTP/1.1\r\nHost: node\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(CALL), CALL)


class Start(Struct, frozen=True):
    """A started node: its process and port, the wall-clock and CPU seconds until its first reply, and the head block in that reply."""

    pid: int
    port: int
    seconds: float
    cpu_seconds: float
    head: int


def free_port() -> int:
    """Return a free TCP port."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


def ask(port: int) -> int | None:
    """Return the number of the node's head block, or None if the port refuses the connection."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS_MAX) as connection:
            connection.sendall(REQUEST)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
    except ConnectionError:
        return None
    return int(json.loads(answer.partition(b"\r\n\r\n")[2])["result"]["head_block_number"])


def processor_seconds(pid: int) -> float:
    """Return the CPU seconds of a process, as reported by Linux."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def started(options: Sequence[str] = (), command: Sequence[str] = LAUNCHER) -> Iterator[Start]:
    """Run a node on a free port. Yield it after its first reply."""
    port = free_port()
    words = [*command, "run", "--http", f"127.0.0.1:{port}", *options]
    environment, begun = {**os.environ, "PYTHONPATH": str(ROOT)}, time.perf_counter()
    with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while (head := ask(port)) is None:
                if process.poll() is not None or time.perf_counter() - begun > WAIT_SECONDS_MAX:
                    raise SystemExit(f"no answer from {' '.join(words)}")
                time.sleep(POLL_SECONDS)
            yield Start(process.pid, port, time.perf_counter() - begun, processor_seconds(process.pid), head)
        finally:
            process.terminate()


def main() -> int:
    """Measure all starts. Return 1 if one takes too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", nargs="?", type=int, default=ROUNDS)
    parser.add_argument("--module", action="store_true", help="skip the launcher")
    options = parser.parse_args()
    command = MODULE if options.module else LAUNCHER
    status = 0
    for name, words, seconds_max in (
        ("dev", [], SECONDS_MAX),
        ("dev with --data", ["--data", "{}"], SECONDS_MAX),
        (f"dev with {WITNESSES} witnesses", ["--witnesses", str(WITNESSES)], WITNESSES_SECONDS_MAX),
    ):
        starts = []
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as folder, started([word.format(folder) for word in words], command) as node:
                starts.append(node)
        seconds = [each.seconds for each in starts]
        middle, worst, cpu_seconds = statistics.median(seconds), max(seconds), statistics.median(each.cpu_seconds for each in starts)
        verdict = "" if worst <= seconds_max else f", more than {seconds_max:g} s"
        status |= worst > seconds_max
        print(f"{name:24} {middle:.3f} s, at worst {worst:.3f} s{verdict}; CPU time {cpu_seconds:.2f} s; head block {starts[-1].head}")
    return status


if __name__ == "__main__":
    sys.exit(main())
