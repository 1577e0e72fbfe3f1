"""Splits a stream from another node into lines, in bounded time and memory for any input."""

from node.client.errors import NoNode

LINE_SIZE_MAX = 16 << 20
# A stream has a line every few seconds. An incomplete line can take longer while at least LINE_RATE_MIN bytes arrive per second.
SILENCE_SECONDS_MAX = 30
LINE_RATE_MIN = 10_000


class LineSplitter:
    """Splits received chunks into lines, and computes the deadline for the next chunk.

    Each byte is copied a bounded number of times, even if the chunks are small.
    """

    def __init__(self) -> None:
        self._begun = bytearray()
        self._since: float | None = None  # the start of the wait for the end of the line

    def latest(self, now: float) -> float:
        """Return the deadline for the next chunk, on the monotonic clock in seconds. `now` is the clock's current time."""
        self._since = now if self._since is None else self._since
        return self._since + SILENCE_SECONDS_MAX + len(self._begun) / LINE_RATE_MIN

    def add(self, part: bytes) -> list[bytes]:
        """Append a chunk. Return the lines that it completes, without line ends. Raises NoNode for a line over LINE_SIZE_MAX."""
        first, *rest = part.split(b"\n")
        if rest or not self._begun:
            self._since = None
        self._begun += first
        lines: list[bytes] = []
        if rest:
            lines = [bytes(self._begun), *rest[:-1]]
            self._begun = bytearray(rest[-1])
        if len(self._begun) > LINE_SIZE_MAX:
            raise NoNode(f"a line of the stream has more than {LINE_SIZE_MAX >> 20} MiB")
        return lines
