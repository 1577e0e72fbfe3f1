"""Incremental parsers of request bodies: by Content-Length, or chunked.

Chunks follow h11's grammar, since a request that starts on the fast path can't fall back to it: size lines may have extensions, and
trailers are ignored.
"""

import re
from collections.abc import Callable

from rpc.http.http1.heads import HEAD_SIZE_MAX

# Equivalent to h11's patterns, which take quadratic time for a line that fails to match after many blanks.
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,20})(?:;[^\n]*|[ \t]*)\r\n")
_TRAILER = re.compile(rb"([-!#$%&'*+.^_`|~0-9A-Za-z]+):([^\x00\n\r\x0b\x0c]*)")
_TRAILERS_END = re.compile(rb"\n\r?\n")
# The trailers whose values h11 checks.
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_BAD_REQUEST, _TOO_LARGE = 400, 431


class MalformedBody(Exception):
    """The body is malformed, so its end is unknown."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class ContentLengthBody:
    """A body with a Content-Length."""

    def __init__(self, size: int) -> None:
        self._missing = size
        self.is_whole = not size
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """Return the part of `data` that belongs to the body. Bytes after its end are added to `rest`."""
        piece = data if len(data) <= self._missing else data[: self._missing]
        self._missing -= len(piece)
        if not self._missing:
            self.is_whole = True
            self.rest += data[len(piece) :]
        return piece

    def check(self) -> None:
        """Do nothing, since it has no lines."""


class ChunkedBody:
    """A body with `Transfer-Encoding: chunked`."""

    def __init__(self) -> None:
        self._missing = 0
        self._waiting = b""
        self._step: Callable[[bytes, int, list[bytes]], int] | None = self._size
        self.is_whole = False
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """Return the part of `data` that belongs to the body, without chunk sizes. Bytes after its end are added to `rest`."""
        if self.is_whole:
            self.rest += data
            return b""
        data, at = self._waiting + data, 0
        pieces: list[bytes] = []
        while (step := self._step) is not None:
            end = step(data, at, pieces)
            if end == at and self._step is step:
                break
            at = end
        self._waiting = data[at:]
        if self._step is None:
            self.is_whole = True
            self.rest, self._waiting = self._waiting, b""
        return b"".join(pieces)

    def check(self) -> None:
        """Check the length of the incomplete line.

        Raises: MalformedBody if it is too long.
        """
        if len(self._waiting) > HEAD_SIZE_MAX:
            raise MalformedBody(_TOO_LARGE)

    # Each step consumes bytes from a position on, and returns the position after them. A step that neither consumes bytes nor changes the
    # current step needs more bytes.

    def _size(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        """Consume lines with chunk sizes, and their chunks while they are complete, since chunks can be as small as a byte."""
        while (found := _SIZE_LINE.match(data, at)) is not None:
            start, size = found.end(), int(found[1], 16)
            end = start + size
            if not size or data[end : end + 2] != b"\r\n":
                self._missing = size
                self._step = self._piece if size else self._trailers
                return start
            pieces.append(data[start:end])
            at = end + 2
        if data.find(b"\r\n", at) >= 0:
            raise MalformedBody(_BAD_REQUEST)
        return at

    def _piece(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        piece = data[at : at + self._missing]
        if not piece:
            return at
        pieces.append(piece)
        self._missing -= len(piece)
        if not self._missing:
            self._step = self._piece_end
        return at + len(piece)

    def _piece_end(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        end = data[at : at + 2]
        if not b"\r\n".startswith(end):
            raise MalformedBody(_BAD_REQUEST)
        if len(end) < 2:
            return at
        self._step = self._size
        return at + 2

    def _trailers(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        """Consume the lines after the last chunk, up to an empty line. They are checked together, as in h11."""
        for empty in (b"\n", b"\r\n"):
            if data.startswith(empty, at):
                self._step = None
                return at + len(empty)
        end = _TRAILERS_END.search(data, at)
        if end is None:
            return at
        _check_trailers([line.removesuffix(b"\r") for line in data[at : end.end()].split(b"\n")[:-2]])
        self._step = None
        return end.end()


def _check_trailers(lines: list[bytes]) -> None:
    """Check that the lines are headers. A line that begins with a blank continues the line before.

    Raises: MalformedBody if they are not.
    """
    whole: list[list[bytes]] = []
    for line in lines:
        if whole and line[:1] in (b" ", b"\t"):
            whole[-1].append(line.lstrip(b" \t"))
        else:
            whole.append([line])
    framing: list[tuple[bytes, bytes]] = []
    for parts in whole:
        trailer = _TRAILER.fullmatch(b" ".join(parts))
        if trailer is None:
            raise MalformedBody(_BAD_REQUEST)
        if trailer[1].lower() in _FRAMING:
            framing.append((trailer[1], trailer[2].strip(b" \t")))
    if not framing:
        return
    import h11

    try:
        h11.EndOfMessage(headers=framing)
    except h11.LocalProtocolError as error:
        raise MalformedBody(error.error_status_hint) from error
