"""Log lines: the rate limit, escaping, and writes that don't block."""

import fcntl
import json
import logging
import os
import pty
import re
import select
import subprocess
import sys
import time

from node.runtime.logs import LINES_PER_SECOND_MAX, PIECE_SIZE, LogRateLimit, LogWriter, values_of
from tests.conftest import ROOT

WRITER = """
import logging
from node.runtime.logs import configure_logs
from rpc.log import Log
configure_logs({level!r})
log = Log("here")
logging.getLogger("coind.here").debug("quiet")
log.info("event", number=1, text="a\\x1b[2Jb\\udcffc", number_of="é")
logging.getLogger("library").warning("from a library\\n")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("internal error")
"""


def written(level: str = "info", terminal: bool = False) -> str:
    """Run a process that logs, and return its stderr."""
    reading, writing = pty.openpty() if terminal else os.pipe()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "NO_COLOR": ""}
    process = subprocess.Popen([sys.executable, "-c", WRITER.format(level=level)], stderr=writing, env=environment)
    process.wait(20)
    os.close(writing)
    data = b""
    while select.select([reading], [], [], 0)[0]:
        try:
            piece = os.read(reading, 65536)
        except OSError:  # the end of a terminal
            break
        if not piece:
            break
        data += piece
    os.close(reading)
    return data.decode()


def test_without_a_terminal_a_line_is_a_json_object() -> None:
    block, library, error = map(json.loads, written().splitlines())
    assert list(block)[:3] == ["timestamp", "level", "event"]
    assert (block["level"], block["event"], block["number"], block["number_of"]) == ("info", "event", 1, "é")
    assert block["text"] == "a\x1b[2Jb\udcffc"
    assert (library["level"], library["event"]) == ("warning", "from a library\n")
    assert "ZeroDivisionError" in error["exception"]


def test_the_level_filters_lines() -> None:
    assert [json.loads(line)["event"] for line in written("debug").splitlines()][:2] == ["quiet", "event"]
    assert [json.loads(line)["event"] for line in written("error").splitlines()] == ["internal error"]


def test_a_terminal_gets_text_without_control_characters() -> None:
    coloured = written(terminal=True)
    text = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert text != coloured
    assert "number=1" in text
    assert "from a library\\n" in text
    assert r"a\x1b[2Jb\udcffc" in text
    assert "\x1b[2J" not in text
    assert "ZeroDivisionError" in text
    assert "locals" not in text


def test_a_flood_is_limited_and_counted() -> None:
    now = 0.0
    limit = LogRateLimit(lambda: now)
    taken = [limit.take("refused") for _ in range(1000)]
    assert taken == [0] * LINES_PER_SECOND_MAX + [None] * (1000 - LINES_PER_SECOND_MAX)
    assert limit.take("block") == 0
    now = 1.5
    assert limit.take("refused") == 1000 - LINES_PER_SECOND_MAX
    assert limit.take("refused") == 0


def test_the_next_line_counts_suppressed_lines() -> None:
    now = 0.0
    limit = LogRateLimit(lambda: now)

    def shown(name: str, text: str) -> dict[str, int] | None:
        record = logging.LogRecord(name, logging.WARNING, "", 0, text, (), None)
        return values_of(record) if limit.filter(record) else None

    for _ in range(LINES_PER_SECOND_MAX):
        assert shown("coind.here", "a") == {}
    assert shown("coind.there", "a") is None
    now = 1.0
    assert shown("coind.here", "a") == {"suppressed": 1}
    assert [shown("library", str(i)) for i in range(LINES_PER_SECOND_MAX + 1)] == [{}] * LINES_PER_SECOND_MAX + [None]


def test_writing_never_blocks() -> None:
    reading, writing = os.pipe()
    room = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
    lines = LogWriter(writing)
    start = time.monotonic()
    for _ in range(100):
        lines.write("x" * PIECE_SIZE)
    assert time.monotonic() - start < 20
    assert 100 - room // PIECE_SIZE <= lines.lost < 100
    lost = lines.lost
    os.read(reading, room)
    lines.write("read again\n")
    assert lines.lost == lost
    assert os.read(reading, room) == b"read again\n"
    os.close(reading)
    lines.write("gone")
    assert lines.lost == lost + 1
    os.close(writing)


def test_a_full_disk_loses_only_lines() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    lines = LogWriter(descriptor)
    lines.write("x\n")
    lines.write("y\n")
    assert lines.lost == 2
    os.close(descriptor)
