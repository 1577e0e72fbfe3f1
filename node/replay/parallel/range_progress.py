"""Progress of the ranges of a parallel replay."""

import sys
import time

from node.replay.parallel.ranges import Range, RangeResult

LINE_SECONDS = 5
NAMED_MAX = 8  # ranges in a line


class RangeProgress:
    """The ranges, the current block of each, and their results. Prints the progress to stderr every LINE_SECONDS."""

    def __init__(self, ranges: list[Range]) -> None:
        self.ranges = ranges
        self.at: dict[int, int] = {}  # current blocks of running ranges
        self.workers: dict[int, int] = {}  # their process ids, if they run on this machine
        self.outcomes: dict[int, RangeResult] = {}
        self._shown = time.monotonic()

    def begin(self, index: int, process: int = 0) -> None:
        """Record the start or restart of a range."""
        self.workers[index] = process
        begin = self.ranges[index].begin
        self.reach(index, 0 if begin is None else begin.number)

    def reach(self, index: int, number: int) -> None:
        """Set the current block of a range."""
        if index not in self.outcomes:
            self.at[index] = number
            self.show()

    def end(self, index: int, outcome: RangeResult) -> None:
        """Set the result of a range."""
        self.at.pop(index, None)
        self.workers.pop(index, None)
        self.outcomes[index] = outcome

    def show(self) -> None:
        """Print the progress if LINE_SECONDS have passed since the last time."""
        if time.monotonic() - self._shown >= LINE_SECONDS:
            self._shown = time.monotonic()
            sys.stderr.write(self.line() + "\n")
            sys.stderr.flush()

    def line(self) -> str:
        """Return the progress of all ranges in one line."""
        ways = []
        for index, number in list(self.at.items())[:NAMED_MAX]:
            end = self.ranges[index].end
            ways.append(f"range {index + 1} at block {number:,}" + (f" of {end.number:,}" if end is not None else ""))
        more = f", {len(self.at) - NAMED_MAX} more" if len(self.at) > NAMED_MAX else ""
        return f"{len(self.outcomes)} of {len(self.ranges)} ranges done, {', '.join(ways)}{more}"
