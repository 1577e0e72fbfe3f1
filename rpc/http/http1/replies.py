"""Replies as bytes, in the form in which hypercorn sends them. It knows neither sockets nor calls."""

import time
from collections.abc import Callable, Iterable
from wsgiref.handlers import format_date_time

Headers = Iterable[tuple[bytes, bytes]]


class DateHeader:
    """The header with the date, made once a second."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._second = -1
        self._line = b""

    def line(self) -> bytes:
        """Return the header's line."""
        second = int(self._clock())
        if second != self._second:
            self._second = second
            self._line = b"date: %s\r\n" % format_date_time(second).encode("ascii")
        return self._line


def head(status: int, headers: Headers, date: bytes, *, is_last: bool) -> bytes:
    """Return a head; the last one on a connection says so."""
    lines = b"".join([b"%s: %s\r\n" % header for header in headers])
    return b"HTTP/1.1 %d \r\n%s%s%s\r\n" % (status, lines, date, b"Connection: close\r\n" if is_last else b"")


def failure(status: int, date: bytes, *, is_last: bool) -> bytes:
    """Return the reply to what can't be answered, after which the connection ends. `is_last`: the client has asked for that anyway."""
    said = () if is_last else [(b"connection", b"close")]
    return head(status, [(b"content-length", b"0"), *said], date, is_last=is_last)


def continue_response(date: bytes) -> bytes:
    """Return the reply that lets a client send the body with which it waits (100, `Continue`)."""
    return head(100, (), date, is_last=False)
