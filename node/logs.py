"""The node's log on stderr: coloured text on a terminal, JSON lines elsewhere. It must not know who logs.

Neither a flood nor a reader who stopped reading may stop the node: of each kind of line only so many are written in a second, and a line
that nobody takes is lost.
"""

import logging
import os
import select
import sys
import time
from collections.abc import Callable, MutableMapping
from typing import Any, Literal

import structlog

from node.failures import on_one_line

LINES_PER_SECOND_MAX = 20  # of each kind
KINDS_MAX = 1000
# A pipe that is ready takes so many bytes at once without waiting (PIPE_BUF of Linux).
PIECE_SIZE = 4096
READER_MILLISECONDS_MAX = 100

FIRST = ("timestamp", "level", "event")

Level = Literal["debug", "info", "warning", "error"]
Event = MutableMapping[str, Any]


class Lines:
    """The lines of the log on their way to a file: `write` never fails, and waits a moment at most. `lost` counts lost lines.

    It is what structlog calls a logger and what the standard library's logging calls a stream.
    """

    def __init__(self, descriptor: int) -> None:
        self.lost = 0
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._is_late = False

    def write(self, text: str) -> None:
        """Write text that ends with a newline; what the reader doesn't take in time is lost."""
        data = text.encode("utf-8", "backslashreplace")
        try:
            while data and self._is_ready():
                data = data[os.write(self._descriptor, data[:PIECE_SIZE]) :]
        except OSError:  # the reader is gone, or the disk is full
            pass
        if data:
            self.lost += 1

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def msg(self, message: str) -> None:
        """Write a line."""
        self.write(message + "\n")

    debug = info = warning = error = critical = msg

    def _is_ready(self) -> bool:
        """Return whether something can be written, after a short wait. A reader that was waited for in vain gets no second wait."""
        self._is_late = not self._poll.poll(0 if self._is_late else READER_MILLISECONDS_MAX)
        return not self._is_late


class Limit:
    """Lets at most `LINES_PER_SECOND_MAX` lines of a kind through in a second, and counts the others."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._second = 0
        self._counts: dict[str, int] = {}
        self._suppressed: dict[str, int] = {}

    def take(self, kind: str) -> int | None:
        """Return how many lines were suppressed since the last of the kind, or None if this one is suppressed."""
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

    def __call__(self, logger: object, method: str, event: Event) -> Event:
        """Pass or drop a line, as a processor of structlog. Its kind is the text of the event, which is a constant in the code."""
        suppressed = self.take(str(event["event"]))
        if suppressed is None:
            raise structlog.DropEvent
        if suppressed:
            event["suppressed"] = suppressed
        return event

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line passes, as a filter of the standard library's logging. Its kind is the logger's name."""
        return self.take(record.name) is not None


def configure_logs(level: Level = "info") -> None:
    """Set up structlog, and route the standard library's logging, which libraries use, through it."""
    lines = Lines(sys.stderr.fileno())
    limit = Limit()
    for_people = sys.stderr.isatty()
    time_format = "%H:%M:%S" if for_people else "iso"
    first: list[Any] = [structlog.processors.add_log_level, structlog.processors.TimeStamper(fmt=time_format, utc=not for_people)]
    last: list[Any] = [printable, console()] if for_people else [structlog.processors.format_exc_info, leading_members, json_renderer()]
    structlog.configure(
        processors=[limit, *first, *last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: lines,
        # Otherwise each logger would keep the level of its first line, which may come before the options are read.
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(lines)
    handler.addFilter(limit.filter)
    without_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=[without_meta, *last], foreign_pre_chain=first))
    logging.basicConfig(handlers=[handler], level=max(logging.WARNING, getattr(logging, level.upper())), force=True)


def lines_lost() -> int:
    """Return the number of lines that could not be written."""
    logger = structlog.get_config()["logger_factory"]()
    return logger.lost if isinstance(logger, Lines) else 0


def json_renderer() -> Any:
    """Return a processor that writes an event as a JSON object in one line."""
    return structlog.processors.JSONRenderer(ensure_ascii=False)


def leading_members(logger: object, method: str, event: Event) -> Event:
    """Put the members that every line has before the others."""
    return {key: event.pop(key) for key in FIRST if key in event} | dict(event)


def console() -> Any:
    """Return a processor that writes an event for people. Tracebacks are plain: rich ones show the values of variables, keys among them."""
    return structlog.dev.ConsoleRenderer(
        sort_keys=False, pad_event_to=0, pad_level=False, exception_formatter=structlog.dev.plain_traceback
    )


def printable(logger: object, method: str, event: Event) -> Event:
    """Escape what a terminal would take as a command: a value may come from outside."""
    for key, value in event.items():
        if isinstance(value, str) and key != "exception":
            event[key] = on_one_line(value)
    return event
