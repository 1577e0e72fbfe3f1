"""Splits a stream from another node into lines, in bounded time and memory for any input."""

from node.client.errors import NoNode

LINE_SIZE_MAX = 16 << 20
# A stream has a line every few seconds. An incomplete line can take longer if at least LINE_RATE_MIN bytes arrive per second.
SILENCE_SECONDS_MAX = 30
LINE_RATE_MIN = 10_000


class LineSplitter:
    """Splits received parts into lines. Each byte is copied a bounded number of times, even if the parts are small."""

    def __init__(self) -> None:
        self._begun = bytearray()

    @property
    def size(self) -> int:
        """The number of bytes of the incomplete line."""
        return len(self._begun)

    def add(self, part: bytes) -> list[bytes]:
        """Add a part. Return the lines that it completes, without line ends. Raises NoNode for a line over LINE_SIZE_MAX."""
        first, *rest = part.split(b"\n")
        self._begun += first
        lines: list[bytes] = []
        if rest:
            lines = [bytes(self._begun), *rest[:-1]]
            self._begun = bytearray(rest[-1])
        if len(self._begun) > LINE_SIZE_MAX:
            raise NoNode(f"a line of the stream has more than {LINE_SIZE_MAX >> 20} MiB")
        return lines


class TimedLines:
    """Splits a stream into lines, and computes the deadline of the next part by a monotonic clock in seconds."""

    def __init__(self, now: float) -> None:
        self._splitter, self._since = LineSplitter(), now

    @property
    def latest(self) -> float:
        """The deadline of the next part."""
        return self._since + SILENCE_SECONDS_MAX + self._splitter.size / LINE_RATE_MIN

    def add(self, part: bytes, now: float) -> list[bytes]:
        """Add a part. Return the lines that it completes, without line ends. Raises NoNode for a line over LINE_SIZE_MAX."""
        has_begun = self._splitter.size > 0
        lines = self._splitter.add(part)
        if lines or not has_begun:
            self._since = now
        return lines
