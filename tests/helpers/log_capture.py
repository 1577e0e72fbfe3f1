"""Captures log lines for tests, each as a dict with its event, level and values."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rpc.log import ROOT

Event = dict[str, Any]


class LogCapture(logging.Handler):
    """A logging handler that passes each event to a function."""

    def __init__(self, catch: Callable[[Event], None]) -> None:
        super().__init__()
        self._catch = catch

    def emit(self, record: logging.LogRecord) -> None:
        error = {"exc_info": record.exc_info[1]} if record.exc_info else {}
        self._catch({"event": record.msg, "log_level": record.levelname.lower(), **getattr(record, "values", {}), **error})


@contextmanager
def log_caught(catch: Callable[[Event], None], level: int = logging.DEBUG) -> Iterator[None]:
    """Pass each log event of at least `level` to `catch` instead of writing it."""
    logger, handler = logging.getLogger(ROOT), LogCapture(catch)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        yield
    finally:
        level, logger.propagate = before
        logger.setLevel(level)
        logger.removeHandler(handler)


@contextmanager
def capture_logs() -> Iterator[list[Event]]:
    """Collect all log events into the list that is yielded, instead of writing them."""
    lines: list[Event] = []
    with log_caught(lines.append):
        yield lines
