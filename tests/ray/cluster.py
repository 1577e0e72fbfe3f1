"""A Ray cluster of two nodes on this machine, with one worker each. The nodes have separate process sessions, so that stopping them affects
no other process.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 15
STORE_BYTES = 80_000_000


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Run a cluster for the duration of the context; yields its address, ray://HOST:PORT. Its files are in the folder."""
    port, client = free_port(), free_port()
    started = []
    try:
        head = ["--head", f"--port={port}", f"--ray-client-server-port={client}", "--include-dashboard=false", f"--temp-dir={folder}"]
        started.append(start(head, folder / "head.log"))
        wait_for(client, started[0])
        started.append(start([f"--address=127.0.0.1:{port}"], folder / "second.log"))
        yield f"ray://127.0.0.1:{client}"
    finally:
        for process in reversed(started):
            stop(process)


def start(words: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a node of the cluster with one worker."""
    command = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus=1", "--disable-usage-stats"]
    with log.open("wb") as out:
        command += [f"--object-store-memory={STORE_BYTES}", *words]
        return subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a node with all of its processes."""
    mine = descendants(process.pid)
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in mine:
        if is_of_ray(pid):
            os.kill(pid, signal.SIGKILL)


def busy_workers(pid: int) -> list[int]:
    """Return the descendants of a process that are verifying a range."""
    return [each for each in descendants(pid) if words_of(each).startswith("ray::verify")]


def descendants(pid: int) -> list[int]:
    """Return all descendants of a process."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def is_of_ray(pid: int) -> bool:
    """Return whether a process still belongs to Ray, since its number may have been reused."""
    return "ray" in words_of(pid)


def words_of(pid: int) -> str:
    """Return the command line of a process, or "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a port answers."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.2)
    raise SystemExit("the cluster has not started; its folder says why")


def free_port() -> int:
    """Return a port on which no process listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
