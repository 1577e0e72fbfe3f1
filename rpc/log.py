"""The log as the service and the node write it: events, each a text that is a constant in the code, with named values.

It is the standard library's logging below `ROOT`, which every start has loaded anyway. It must not know where the lines go.
"""

import logging
from typing import Any

ROOT = "coind"


class Log:
    """Writes the events of one part of the program. `exc_info` among the values is an error whose traceback belongs to the event."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"{ROOT}.{name}")

    def info(self, event: str, **values: Any) -> None:
        """Write what happens in the usual course."""
        self._write(logging.INFO, event, values)

    def warning(self, event: str, **values: Any) -> None:
        """Write what somebody should look at."""
        self._write(logging.WARNING, event, values)

    def error(self, event: str, **values: Any) -> None:
        """Write what has failed."""
        self._write(logging.ERROR, event, values)

    def exception(self, event: str, **values: Any) -> None:
        """Write what has failed, with the traceback of the error that is being handled."""
        self._write(logging.ERROR, event, {**values, "exc_info": True})

    def critical(self, event: str, **values: Any) -> None:
        """Write what ends the program."""
        self._write(logging.CRITICAL, event, values)

    def _write(self, level: int, event: str, values: dict[str, Any]) -> None:
        if self._logger.isEnabledFor(level):
            error = values.pop("exc_info", None)
            self._logger.log(level, event, exc_info=error, extra={"values": values})
