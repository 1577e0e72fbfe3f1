"""Encodes response heads in the same form as hypercorn."""

import time
from collections.abc import Callable, Iterable
from wsgiref.handlers import format_date_time

Headers = Iterable[tuple[bytes, bytes]]


class DateHeader:
    """The Date header. It is formatted at most once per second."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._second = -1
        self._line = b""

    def line(self) -> bytes:
        """Return the header as a line."""
        second = int(self._clock())
        if second != self._second:
            self._second = second
            self._line = b"date: %s\r\n" % format_date_time(second).encode("ascii")
        return self._line


def head(status: int, headers: Headers, date: bytes, *, is_last: bool) -> bytes:
    """Encode a response head. `is_last` adds `Connection: close`."""
    lines = b"".join([b"%s: %s\r\n" % header for header in headers])
    return b"HTTP/1.1 %d \r\n%s%s%s\r\n" % (status, lines, date, b"Connection: close\r\n" if is_last else b"")


def failure(status: int, date: bytes, *, is_last: bool) -> bytes:
    """Encode an error response with an empty body, after which the connection is closed. `is_last` means that the client requested the
    close.
    """
    said = () if is_last else [(b"connection", b"close")]
    return head(status, [(b"content-length", b"0"), *said], date, is_last=is_last)


def continue_response(date: bytes) -> bytes:
    """Encode the response `100 Continue`. Some clients wait for it before they send the body."""
    return head(100, (), date, is_last=False)
