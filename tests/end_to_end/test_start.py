"""The start of a node: the modules loaded before the first reply, and the output for programs and people."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from bench.start import ask, free_port
from tests.conftest import ROOT

# The first reply needs none of these, and each import takes a noticeable part of the half-second start.
LATER = (
    "aiofiles", "asyncio", "click", "concurrent.futures", "curses", "cyclopts.completion", "cyclopts.help", "docstring_parser", "email",
    "flask", "gzip", "hypercorn.asyncio", "jinja2", "markdown_it", "node.cli.blocks", "node.cli.keys", "node.cli.snapshot",
    "prometheus_client", "pygments", "quart", "quart_trio", "readline", "rich", "sqlite3", "unittest", "urllib.request",
    "webbrowser", "werkzeug", "xml", "zstandard",
)  # fmt: skip
FIRST_ANSWER = """
import json, os, signal, sys, threading, time
from bench.start import ask
def look():
    while ask({port}) is None:
        time.sleep(0.01)
    print(json.dumps(sorted(sys.modules)))
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=look).start()
sys.argv = ["coind", "run", "--quiet", "--http", "127.0.0.1:{port}"]
from node.__main__ import main
sys.exit(main())
"""


def environment() -> dict[str, str]:
    """The environment that the launcher sets."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_first_reply_needs_no_late_module() -> None:
    # The request comes from a thread of the same process, whose modules are loaded in any case.
    done = subprocess.run(
        [sys.executable, "-P", "-c", FIRST_ANSWER.format(port=free_port())],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert "rpc.api.accounts" in loaded
    assert [name for name in loaded if any(name == late or name.startswith(late + ".") for late in LATER)] == []


def test_ready_file_of_a_quiet_node(tmp_path: Path) -> None:
    ready, options = tmp_path / "ready.json", tmp_path / "options.toml"
    options.write_text(f'ready-file = "{ready}"\nport = {free_port()}\nquiet = true\n')
    words = [sys.executable, "-P", "-m", "node", "run", "--config", str(options), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        until = time.monotonic() + 30
        while not ready.exists() and time.monotonic() < until:
            time.sleep(0.01)
        said = json.loads(ready.read_text())
        assert said["pid"] == process.pid
        assert said["chain"] == "dev"
        assert ask(int(said["address"].rpartition(":")[2])) is not None
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == 0
    assert not ready.exists()


def test_terminal_output_is_readable() -> None:
    reading, writing = pty.openpty()
    words = [sys.executable, "-P", "-m", "node", "run", "--port", "0"]
    environ = {**environment(), "TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen(words, stdout=writing, stderr=writing, stdin=subprocess.DEVNULL, env=environ) as process:
        os.close(writing)
        text = ""
        while "started at block" not in text:
            text += os.read(reading, 65536).decode()
        process.send_signal(signal.SIGINT)
        try:
            while piece := os.read(reading, 65536):
                text += piece.decode()
        except OSError:  # the end of a terminal
            pass
    assert process.returncode == 0
    assert re.search(r"^curl 127\.0\.0\.1:\d+ -d '\{.*\}'\r$", text, re.MULTILINE)
    goodbye = r"Stopped after \d+ s at block \d+ \(\d+ new\)\. The chain was only in memory\. --data DIR stores it\."
    assert re.search(rf"^{goodbye}\r$", text, re.MULTILINE)
    assert "stopped at block" not in text
    assert '"event"' not in text


def test_version_option() -> None:
    done = subprocess.run([sys.executable, "-P", "-m", "node", "--version"], capture_output=True, text=True, check=True, env=environment())
    assert re.fullmatch(r"coind \d+\.\d+\.\d+\n", done.stdout)
