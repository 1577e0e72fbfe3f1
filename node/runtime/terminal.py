"""Log format for a terminal. Each block with transactions and each refusal has a line; consecutive empty blocks share one line, which is
updated. Control characters are escaped, because values come from clients.
"""

import logging
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from node.runtime.errors import on_one_line

# Minimum time between updates of a line, because a time jump can create a million empty blocks.
UPDATE_SECONDS_MIN = 0.05
PLACE_WIDTH = 16
KIND_WIDTH = 18

BOLD, DIM, RED, GREEN, MAGENTA, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[35m", "\x1b[0m"
UPDATE = "\r\x1b[K"
LEVELS = {"WARNING": MAGENTA, "ERROR": RED, "CRITICAL": RED}

# Events shown as a sentence; --verbose shows all values instead.
SENTENCES = {
    "started": "started at block {head_block_number}",
    "stopping": "stopping; a second signal ends it at once",
}

Values = Mapping[str, Any]


class Terminal(logging.Formatter):
    """Formats log records as text for people. `values_of` returns the values of a record."""

    def __init__(self, values_of: Callable[[logging.LogRecord], Values], *, is_verbose: bool = False) -> None:
        super().__init__()
        self._values_of = values_of
        self._is_verbose = is_verbose
        is_capable = os.environ.get("TERM", "dumb") != "dumb"
        self._is_coloured = is_capable and not os.environ.get("NO_COLOR")
        self._is_updating = is_capable
        self._empty = 0  # blocks counted by the updated line; 0: there is no such line
        self._written = 0.0
        self._last = ""
        self._shown = ""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record. If the line that counts empty blocks has not ended yet, the text that ends it comes first."""
        values = self._values_of(record)
        if record.msg == "block" and not values.get("transactions") and not self._is_verbose:
            return self._count(record, values)
        if record.msg == "stopped" and not self._is_verbose:
            return self.end()  # node/app/banner.py prints the final message
        line = f"{self._time(record)}  {self._text(record, values)}\n"
        if record.exc_info:
            line += "".join(traceback.format_exception(record.exc_info[1]))
        return self.end() + line

    def end(self) -> str:
        """Return the text that ends the line that counts empty blocks, with its last number. Return "" if there is no such line."""
        if not self._empty:
            return ""
        text = "\n" if self._shown == self._last else f"{UPDATE}{self._last}\n"
        self._empty, self._last, self._shown = 0, "", ""
        return text

    def _count(self, record: logging.LogRecord, values: Values) -> str:
        """Count an empty block on the line that counts empty blocks. If the program is in the background, end that line instead."""
        if not self._is_updating or not is_in_front():
            return self.end()
        self._empty += 1
        number = f"{values['number']:,}"
        many = f"{self._empty:,} empty blocks" if self._empty > 1 else "empty"
        line = f"{self._time(record)}  {self._styled(DIM, f'block {number:<12}{many}')}"
        # A line that is wider than the terminal can't be updated.
        self._last = line if len(many) + 28 + max(12, len(number)) - 12 < shutil.get_terminal_size().columns else ""
        if time.monotonic() - self._written < UPDATE_SECONDS_MIN:
            return ""
        self._written, self._shown = time.monotonic(), self._last
        return UPDATE + self._last

    def _text(self, record: logging.LogRecord, values: Values) -> str:
        if record.msg == "block":
            return self._block(values)
        if record.msg in ("transaction refused", "block refused"):
            return self._refusal(record.msg, values)
        if record.msg in SENTENCES and not self._is_verbose:
            return SENTENCES[record.msg].format(**{name: on_one_line(str(value)) for name, value in values.items()})
        style = LEVELS.get(record.levelname, "")
        text = self._styled(style + BOLD if style else "", on_one_line(record.getMessage()))
        return "  ".join([text, *[self._pair(name, value) for name, value in values.items()]])

    def _block(self, values: Values) -> str:
        count = values["transactions"]
        what = f"{count:,} transaction{'' if count == 1 else 's'}" if count else "empty"
        number = self._styled(BOLD, f"{values['number']:<12,}")
        text = f"block {number}{what:<{KIND_WIDTH}}{on_one_line(values['witness']):<{PLACE_WIDTH}}{values['ms']:>6.1f} ms"
        return text + self._details(values, "bytes", "lag", "suppressed")

    def _refusal(self, event: str, values: Values) -> str:
        what = on_one_line(values.get("operation") or ("block" if event == "block refused" else "transaction"))
        reason = on_one_line(str(values.get("message") or values.get("why") or values.get("reason", "")))
        label = f"{'refused':<{KIND_WIDTH}}"
        # A refusal is truncated to one line, except with --verbose.
        room = shutil.get_terminal_size().columns - len(f"00:00:00  {label}{what:<{KIND_WIDTH}}")
        if not self._is_verbose and len(reason) > room:
            reason = reason[: max(0, room - 1)] + "…"
        return f"{self._styled(RED, label)}{what:<{KIND_WIDTH}}{reason}{self._details(values, 'reason', 'id', 'suppressed')}"

    def _details(self, values: Values, *names: str) -> str:
        """Return the values in `names` as text: `suppressed` always, the others only with --verbose."""
        shown = [self._pair(name, values[name]) for name in names if name in values and (self._is_verbose or name == "suppressed")]
        return "".join(f"  {pair}" for pair in shown)

    def _pair(self, name: str, value: Any) -> str:
        return f"{self._styled(DIM, name + '=')}{on_one_line(str(value))}"

    def _time(self, record: logging.LogRecord) -> str:
        return self._styled(DIM, time.strftime("%H:%M:%S", time.localtime(record.created)))

    def _styled(self, style: str, text: str) -> str:
        return f"{style}{text}{PLAIN}" if style and self._is_coloured else text


def is_in_front() -> bool:
    """Return whether the program is in the terminal's foreground. Output from the background would overwrite the user's input."""
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except OSError:
        return False
