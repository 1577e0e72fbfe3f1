"""The node's log on stderr: readable lines on a terminal (node/runtime/terminal.py), JSON lines elsewhere.

Neither a flood of lines nor a stalled reader can block the node: the lines of each kind are rate-limited, and a line that the reader
doesn't accept in time is dropped.
"""

import json
import logging
import os
import select
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal

from node.runtime.terminal import Terminal
from rpc.log import ROOT

LINES_PER_SECOND_MAX = 20  # of each kind
KINDS_MAX = 1000
# Bytes that a writable pipe accepts without blocking (PIPE_BUF of Linux).
PIECE_SIZE = 4096
READER_MILLISECONDS_MAX = 100

Level = Literal["debug", "info", "warning", "error"]


class LogWriter:
    """Stream for the standard library's logging. `write` never fails, and blocks at most READER_MILLISECONDS_MAX per chunk.

    `lost` counts dropped lines.
    """

    def __init__(self, descriptor: int) -> None:
        self.lost = 0
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._is_late = False

    def write(self, text: str) -> None:
        """Write text that ends with a newline. Text that the reader of the stream doesn't accept in time is dropped."""
        data = text.encode("utf-8", "backslashreplace")
        try:
            while data and self._is_ready():
                data = data[os.write(self._descriptor, data[:PIECE_SIZE]) :]
        except OSError:  # the reader is gone, or the disk is full
            pass
        if data:
            self.lost += 1

    def flush(self) -> None:
        """Do nothing: writes are unbuffered."""

    def _is_ready(self) -> bool:
        """Return whether the stream accepts data. Wait briefly for its reader; after a timeout, don't wait again until the reader has
        accepted data.
        """
        self._is_late = not self._poll.poll(0 if self._is_late else READER_MILLISECONDS_MAX)
        return not self._is_late


class LogRateLimit:
    """Passes at most LINES_PER_SECOND_MAX lines of each kind per second, and counts the others."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._second = 0
        self._counts: dict[str, int] = {}
        self._suppressed: dict[str, int] = {}

    def take(self, kind: str) -> int | None:
        """Count a line of this kind. Return the number of lines suppressed since the last one passed, or None if this line is suppressed
        too.
        """
        second = int(self._seconds())
        if second != self._second:
            self._second = second
            self._counts.clear()
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count <= LINES_PER_SECOND_MAX:
            return self._suppressed.pop(kind, 0)
        if kind in self._suppressed or len(self._suppressed) < KINDS_MAX:
            self._suppressed[kind] = self._suppressed.get(kind, 0) + 1
        return None

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record (a filter of the standard library's logging). Set `record.suppressed` to the number of lines that
        were suppressed before this one.

        The kind of a line from this program is its text, which is constant. The kind of a library's line is the name of its logger.
        """
        suppressed = self.take(record.msg if is_ours(record) else record.name)
        if suppressed:
            record.suppressed = suppressed
        return suppressed is not None


class JsonLines(logging.Formatter):
    """Formats each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as a line."""
        event: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **values_of(record),
        }
        if record.exc_info:
            event["exception"] = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n")
        return json.dumps(event, ensure_ascii=False, default=repr) + "\n"


def is_ours(record: logging.LogRecord) -> bool:
    """Return whether a record comes from this program, not from a library."""
    return record.name.startswith(ROOT)


def values_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the values of a record, including the number of lines of its kind that were suppressed before it."""
    suppressed = getattr(record, "suppressed", 0)
    return {**getattr(record, "values", {}), **({"suppressed": suppressed} if suppressed else {})}


def configure_logs(level: Level = "info", *, is_json: bool | None = None) -> None:
    """Send all log lines, including those of libraries, to stderr, as JSON or as readable text. By default they are text only on a
    terminal.
    """
    lines = LogWriter(sys.stderr.fileno())
    limit = LogRateLimit()
    for_people = sys.stderr.isatty() if is_json is None else not is_json
    writer = Terminal(values_of, is_verbose=level == "debug") if for_people else JsonLines()
    handler = logging.StreamHandler(lines)
    handler.terminator = ""
    handler.addFilter(limit.filter)
    handler.setFormatter(writer)
    number = getattr(logging, level.upper())
    logging.basicConfig(handlers=[handler], level=max(logging.WARNING, number), force=True)
    logging.getLogger(ROOT).setLevel(number)


def is_json_lines() -> bool:
    """Return whether lines are written as JSON."""
    return any(isinstance(handler.formatter, JsonLines) for handler in our_handlers())


def lines_lost() -> int:
    """Return the number of lines that could not be written."""
    return sum(handler.stream.lost for handler in our_handlers())


def end_of_lines() -> None:
    """End the status line that is being updated, so that other output to the terminal starts on a new line."""
    for handler in our_handlers():
        if isinstance(handler.formatter, Terminal):
            handler.stream.write(handler.formatter.end())


def our_handlers() -> Iterator[logging.StreamHandler[LogWriter]]:
    """Yield the handler that `configure_logs` has set, if any."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and isinstance(handler.stream, LogWriter):
            yield handler
