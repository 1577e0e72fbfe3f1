"""Displays the progress of a replay: a bar on a terminal, else a line every LINE_SECONDS."""

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

LINE_SECONDS = 5
BAR_SECONDS = 0.1
REPORT_SECONDS = 0.5
SHARES = 1000  # of a bar

Seconds = Callable[[], float]


class Progress:
    """Counts blocks and transactions, and periodically displays the progress through a file of `size` bytes (0: unknown).

    `last` is the number of the file's last block (0: unknown). If the replay ends at an earlier block, `until`, the remaining time is
    estimated from the number of blocks instead of bytes. If `report` is given, it is called with each block's number and nothing is
    displayed.
    """

    def __init__(
        self,
        size: int,
        last: int = 0,
        *,
        until: int | None = None,
        out: TextIO | None = None,
        seconds: Seconds = time.monotonic,
        report: Callable[[int], object] | None = None,
    ) -> None:
        self.size, self.last = size, last if until is None else min(last or until, until)
        self._is_by_blocks = until is not None and (not last or until < last)
        self._first, self._skipped = 1, 0
        self.blocks = self.transactions = self.number = self.position = 0
        self._out = out or sys.stdout
        self._seconds = seconds
        self._bar: Any = None
        self._start = self._shown = seconds()
        self._report = report
        self._every = REPORT_SECONDS if report is not None else BAR_SECONDS if self._out.isatty() else LINE_SECONDS

    def begin(self, first: int, position: int) -> None:
        """Start counting: `first` is the first block, `position` the number of bytes before it, which are not counted."""
        self._first, self._skipped = first, position

    def count(self, number: int, transactions: int, position: int) -> None:
        """Count an applied block. `position` is the number of bytes read so far."""
        self.blocks += 1
        self.transactions += transactions
        self.number, self.position = number, position
        now = self._seconds()
        if now - self._shown >= self._every:
            self._shown = now
            self._show()

    def close(self) -> None:
        """Remove the progress bar."""
        if self._bar is not None:
            self._bar.stop()

    @property
    def seconds(self) -> float:
        """The seconds since the start."""
        return max(self._seconds() - self._start, 1e-9)

    def rate(self) -> str:
        """Return the transactions and blocks per second as text."""
        return f"{self.transactions / self.seconds:,.0f} transactions/s, {self.blocks / self.seconds:,.0f} blocks/s"

    def share(self) -> float:
        """Return the completed fraction, or 0 if unknown."""
        if self._is_by_blocks:
            return (self.number - self._first + 1) / max(self.last - self._first + 1, 1)
        return (self.position - self._skipped) / (self.size - self._skipped) if self.size > self._skipped else 0.0

    def line(self) -> str:
        """Return the progress as one line of text."""
        of = f" of {self.last:,}" if self.last else ""
        share = self.share()
        left = f", {self.seconds * (1 - share) / share:,.0f} s left" if 0 < share <= 1 else ""
        return f"block {self.number:,}{of}, {self.transactions:,} transactions, {self.rate()}{left}"

    def _show(self) -> None:
        if self._report is not None:
            self._report(self.number)
            return
        if not self._out.isatty():
            self._out.write(self.line() + "\n")
            self._out.flush()
            return
        if self._bar is None:
            self._bar = new_bar(self._out, bool(self.share()))
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=self.share() * SHARES, description=self.line())


def new_bar(out: TextIO, has_end: bool) -> Any:
    """Return a rich progress bar, which only pulses if the end is unknown. Rich is imported here, because only terminals need it."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), console=Console(file=out), transient=True)
    bar.add_task("", total=SHARES if has_end else None)
    return bar


class StepProgress:
    """Displays the progress of work as text: a line that is updated on a terminal, else a line every LINE_SECONDS."""

    def __init__(self, out: TextIO | None = None, seconds: Seconds = time.monotonic) -> None:
        self._out, self._seconds = out or sys.stderr, seconds
        self._is_updating = self._out.isatty()
        self._shown = seconds() - LINE_SECONDS

    def show(self, text: str) -> None:
        """Display the state of the work, unless that was done shortly before."""
        now = self._seconds()
        if now - self._shown >= (BAR_SECONDS if self._is_updating else LINE_SECONDS):
            self._shown = now
            self._out.write(f"\r\x1b[K{text}" if self._is_updating else f"{text}\n")
            self._out.flush()

    def close(self) -> None:
        """Remove the updated line."""
        if self._is_updating:
            self._out.write("\r\x1b[K")
            self._out.flush()
