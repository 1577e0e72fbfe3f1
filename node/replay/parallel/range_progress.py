"""How far the ranges of a chain have come, all beside each other. It must not know where they are verified."""

import sys
import time

from node.replay.parallel.ranges import Range, RangeResult

LINE_SECONDS = 5
NAMED_MAX = 8  # ranges in a line


class RangeProgress:
    """The ranges, the block that each has come to, and the outcomes of those that have ended; shown now and then on stderr."""

    def __init__(self, ranges: list[Range]) -> None:
        self.ranges = ranges
        self.at: dict[int, int] = {}  # of those that are on the way
        self.workers: dict[int, int] = {}  # the processes of these, where they are on this machine
        self.outcomes: dict[int, RangeResult] = {}
        self._shown = time.monotonic()

    def begin(self, place: int, process: int = 0) -> None:
        """Note that a range has begun, or begins again."""
        self.workers[place] = process
        begin = self.ranges[place].begin
        self.reach(place, 0 if begin is None else begin.number)

    def reach(self, place: int, number: int) -> None:
        """Note the block that a range has come to."""
        if place not in self.outcomes:
            self.at[place] = number
            self.show()

    def end(self, place: int, outcome: RangeResult) -> None:
        """Note how a range has ended."""
        self.at.pop(place, None)
        self.workers.pop(place, None)
        self.outcomes[place] = outcome

    def show(self) -> None:
        """Write a line, every few seconds."""
        if time.monotonic() - self._shown >= LINE_SECONDS:
            self._shown = time.monotonic()
            sys.stderr.write(self.line() + "\n")
            sys.stderr.flush()

    def line(self) -> str:
        """Return the progress of all ranges in one line."""
        ways = []
        for place, number in list(self.at.items())[:NAMED_MAX]:
            end = self.ranges[place].end
            ways.append(f"range {place + 1} at block {number:,}" + (f" of {end.number:,}" if end is not None else ""))
        more = f", {len(self.at) - NAMED_MAX} more" if len(self.at) > NAMED_MAX else ""
        return f"{len(self.outcomes)} of {len(self.ranges)} ranges done; {', '.join(ways)}{more}"
