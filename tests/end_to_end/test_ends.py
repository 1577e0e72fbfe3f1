"""How the program ends, in a separate process: exit statuses, last log lines, and recovery of everything acknowledged."""

import errno
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from node import __main__ as program
from node.runtime.errors import Status
from state.protocol.constants import COIN_BLOCK_INTERVAL
from tests.end_to_end.test_command import Running, coind, command, environment, node
from tests.helpers.golden import same_as_golden
from tests.helpers.nodes import DEV, case_log, time_text

STOP_SECONDS_MAX = 20


def last_line(errors: str) -> str:
    """Return the last line of stderr."""
    return errors.rstrip("\n").rpartition("\n")[2]


def generated(running: Running, count: int) -> bool:
    """Request blocks. Return whether the node has confirmed that it made them."""
    answer = running.call("debug_node_api.debug_generate_blocks", {"debug_key": DEV.witness_keys[0], "count": count})
    return "result" in answer


def test_full_disk_keeps_acknowledged_blocks(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    running = Running("run", "--http", "127.0.0.1:0", "--no-produce", "--data", tmp_path, by=command, prepare=limit)
    done = 0
    try:
        while generated(running, 10):
            done += 10
    except OSError:  # the node may end before it replies
        pass
    _, errors = running.process.communicate(timeout=STOP_SECONDS_MAX)
    assert running.process.returncode == Status.DISK
    same_as_golden(last_line(errors))
    assert "Traceback" not in errors
    assert done >= 50
    with node("--data", tmp_path, "--no-produce") as again:
        assert done <= again.head()[0] < done + 10


@pytest.mark.parametrize(("place", "status"), [("/proc/nothing", Status.DISK), ("/dev/null/data", Status.REFUSED)])
def test_uncreatable_folder_is_reported(place: str, status: Status) -> None:
    done = coind("run", "--http", "127.0.0.1:0", "--data", place)
    assert done.returncode == status
    same_as_golden(last_line(done.stderr))


def test_second_signal_ends_immediately(tmp_path: Path) -> None:
    with node("--no-produce", "--data", tmp_path, by=command) as running:
        running.generate(5)
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as half:
            half.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
            time.sleep(0.2)
            running.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
            status, seconds, errors = running.end(signal.SIGINT)
    assert status == Status.INTERRUPTED
    assert seconds < STOP_SECONDS_MAX
    assert [json.loads(line)["event"] for line in errors.splitlines()][-2:] == ["stopping", "stopped"]
    with node("--no-produce", "--data", tmp_path) as again:
        assert again.head()[0] == 5


def test_stopped_replay_reports_that_it_is_incomplete() -> None:
    process = subprocess.Popen(
        command("replay", case_log("walk_random"), "--chain", "steem-testnet"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    until(lambda: is_listened_to(process.pid, signal.SIGTERM))
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == Status.INTERRUPTED
    assert out.startswith("head block ")
    assert "Traceback" not in errors


def test_bug_is_logged_with_advice(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from node.devchain.producer import Producer\n"
        "def bug(self):\n"
        "    raise ZeroDivisionError('a bug of ours')\n"
        "Producer.milliseconds_to_wait = bug\n"
        "from node.__main__ import main\n"
        "sys.exit(main())\n"
    )
    arguments = ["run", "--http", "127.0.0.1:0", "--data", str(tmp_path)]
    started = [command()[0], "-c", code, *arguments]
    done = subprocess.run(started, capture_output=True, text=True, env=environment(), check=False, timeout=60)
    assert done.returncode == Status.BUG
    *_, line, last = done.stderr.splitlines()
    logged = json.loads(line)
    assert (logged["level"], logged["event"]) == ("critical", "internal error")
    assert "ZeroDivisionError: a bug of ours" in logged["exception"]
    same_as_golden(last)


@pytest.mark.parametrize("descriptors", [(1,), (0, 1, 2)])
def test_closed_streams_are_harmless(tmp_path: Path, descriptors: tuple[int, ...]) -> None:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]

    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    process = subprocess.Popen(
        command("run", "--http", f"127.0.0.1:{port}", "--data", tmp_path, "--no-produce"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={key: value for key, value in environment().items() if key != "HOME"},
        cwd="/proc",
        preexec_fn=close,
    )
    try:
        until(lambda: bool(urlopen(f"http://127.0.0.1:{port}/health", timeout=5).read()))
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_SECONDS_MAX) == Status.DONE
    finally:
        process.kill()
        process.wait()
    assert (tmp_path / "block_log").read_bytes() == b""


def is_listened_to(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal, according to /proc."""
    caught = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)


def until(holds: Callable[[], bool]) -> None:
    """Wait until a condition is true. An OSError that `holds` raises counts as false."""
    end = time.monotonic() + 30
    while True:
        try:
            if holds():
                return
        except OSError:
            pass
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_node_continues_when_output_fails(stream: str) -> None:
    with open("/dev/full", "w") as full, socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
        chosen.close()
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: full}
        process = subprocess.Popen(command("run", "--http", f"127.0.0.1:{port}"), env=environment(), **streams)  # type: ignore[call-overload]
        try:
            until(lambda: bool(urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read()))
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS_MAX) == Status.DONE
        finally:
            process.kill()
            process.wait()


def test_failed_output_is_reported() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(command("version"), stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (Status.DISK, "coind: the output can't be written: No space left on device\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the output can't be written"),
        (OSError(errno.ENXIO, "No such device or address", "chain/edits"), "chain/edits"),
    ],
)
def test_disk_error_is_not_a_bug(error: OSError, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(program, "last_line", lines.append)
    monkeypatch.setattr(program, "leave_quietly", lambda: None)
    for each in (error, BaseExceptionGroup("", [ExceptionGroup("", [error])])):
        assert program.end_of(each) == Status.DISK
    assert [said in line for line in lines] == [True, True]


def test_pages_are_served_and_a_leap_logs_no_warning(tmp_path: Path) -> None:
    with node("--data", tmp_path) as running:
        with urlopen(running.url + "/metrics", timeout=5) as reply:
            assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
            assert b"coind_block_log_bytes" in reply.read()
        leap = {"debug_key": DEV.witness_keys[0], "head_block_time": time_text(int(time.time()) + 3600), "generate_sparsely": True}
        assert "result" in running.call("debug_node_api.debug_generate_blocks_until", leap)
        head = running.head()[0]
        status, members = running.health()
        assert (status, members["status"], members["producing"]) == (200, "ok", True)
        assert -COIN_BLOCK_INTERVAL <= members["head_block_age_seconds"] <= COIN_BLOCK_INTERVAL
        time.sleep(COIN_BLOCK_INTERVAL + 1)
        assert running.head()[0] > head


def test_lost_folder_ends_node_and_logs_block_location(tmp_path: Path) -> None:
    data = tmp_path / "data"
    running = Running("run", "--http", "127.0.0.1:0", "--no-produce", "--data", data)
    try:
        running.generate(20)
        shutil.rmtree(data)
        _, errors = running.process.communicate(timeout=STOP_SECONDS_MAX)
    finally:
        running.process.kill()
    assert running.process.returncode == Status.DISK
    assert re.match(r"coind: the block log can't be written: .* was removed or replaced while the node ran", last_line(errors))
    assert "Traceback" not in errors
    with node("--data", data, "--no-produce") as again:
        assert again.head()[0] == 20
