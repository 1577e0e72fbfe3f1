"""Lines of a stream of another node, in bounded time and memory however it sends them."""

from node.client.errors import NoNode

LINE_SIZE_MAX = 16 << 20
# A stream has a line every few seconds. One that has begun may take longer as long as LINE_RATE_MIN bytes a second come.
SILENCE_SECONDS_MAX = 30
LINE_RATE_MIN = 10_000


class LineSplitter:
    """Splits the parts of a text into lines; each byte is copied a bounded number of times, however small the parts are."""

    def __init__(self) -> None:
        self._begun = bytearray()

    @property
    def size(self) -> int:
        """How many bytes there are of a line that isn't whole."""
        return len(self._begun)

    def add(self, part: bytes) -> list[bytes]:
        """Return the lines that are whole with a part, without their ends. Raises NoNode for a line without end."""
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
    """The lines of a stream, and until when more of it must come, by a monotonic clock in seconds."""

    def __init__(self, now: float) -> None:
        self._splitter, self._since = LineSplitter(), now

    @property
    def latest(self) -> float:
        """When it is given up unless another part has come."""
        return self._since + SILENCE_SECONDS_MAX + self._splitter.size / LINE_RATE_MIN

    def add(self, part: bytes, now: float) -> list[bytes]:
        """Return the lines that are whole with a part, without their ends. Raises NoNode for a line without end."""
        has_begun = self._splitter.size > 0
        lines = self._splitter.add(part)
        if lines or not has_begun:
            self._since = now
        return lines
