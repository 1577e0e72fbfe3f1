"""Structured log of the service and the node. Each event is a constant string with named values.

It uses the standard library's logging below the logger `ROOT`, since every start imports that module anyway.
"""

import logging
from typing import Any

ROOT = "coind"


class Log:
    """Logger for one part of the program. If an event has the value `exc_info`, an exception, its traceback is logged."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"{ROOT}.{name}")

    def info(self, event: str, **values: Any) -> None:
        """Log a normal event."""
        self._write(logging.INFO, event, values)

    def warning(self, event: str, **values: Any) -> None:
        """Log an event that needs attention."""
        self._write(logging.WARNING, event, values)

    def error(self, event: str, **values: Any) -> None:
        """Log a failure."""
        self._write(logging.ERROR, event, values)

    def exception(self, event: str, **values: Any) -> None:
        """Log a failure with the traceback of the current exception."""
        self._write(logging.ERROR, event, {**values, "exc_info": True})

    def critical(self, event: str, **values: Any) -> None:
        """Log a failure that ends the program."""
        self._write(logging.CRITICAL, event, values)

    def _write(self, level: int, event: str, values: dict[str, Any]) -> None:
        if self._logger.isEnabledFor(level):
            error = values.pop("exc_info", None)
            self._logger.log(level, event, exc_info=error, extra={"values": values})
