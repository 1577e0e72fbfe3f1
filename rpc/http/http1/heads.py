"""Heads of requests, read strictly: only what every reader of HTTP/1.1 takes for the same is taken. It knows neither sockets nor calls.

What is read here is a part of what h11 reads, by a narrower form of the same grammar; the rest is left for it. So no request can
mean one thing here and another there.
"""

import re

from msgspec import Struct

# As much as hypercorn lets a head have that arrives in pieces.
HEAD_SIZE_MAX = 1 << 14
END = b"\r\n\r\n"

_BEGINNING = b"POST "
_TOKEN = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
# Without control bytes, without whitespace before a colon, without lines that are continued, every line with CR and LF. What follows a
# repetition never begins like what is repeated, so the time is linear.
_HEAD = re.compile(rb"POST [\x21-\x7e]+ HTTP/1\.1\r\n(?:" + _TOKEN + rb":[\t\x20-\x7e\x80-\xff]*\r\n)+\r\n")
_SIZE = re.compile(rb"0|[1-9][0-9]{0,14}")
# Those that say where a request ends or what becomes of the connection: each once at most.
_SINGLE = frozenset({b"host", b"content-length", b"transfer-encoding", b"connection", b"expect"})
_STAYS, _ENDS = b"keep-alive", b"close"

Headers = list[tuple[bytes, bytes]]


class RequestHead(Struct, frozen=True):
    """The head of a request by POST: its headers, with names in lower case, the size of its body (None: it comes in chunks), whether it is
    the last one on its connection, and whether the client waits with the body for an answer.
    """

    headers: Headers
    size: int | None
    is_last: bool
    waits: bool


def may_begin(data: bytes) -> bool:
    """Whether bytes without the end of a head may be the beginning of one that is read here."""
    begins = data.startswith(_BEGINNING) if len(data) >= len(_BEGINNING) else _BEGINNING.startswith(data)
    return begins and len(data) <= HEAD_SIZE_MAX and b"\n\n" not in data and b"\n\r\n" not in data


def read_head(data: bytes) -> RequestHead | None:
    """Return what a head says, given up to and with its empty line; None when it is left for hypercorn."""
    if len(data) > HEAD_SIZE_MAX or _HEAD.fullmatch(data) is None:
        return None
    headers: Headers = []
    single: dict[bytes, bytes] = {}
    for line in data[: -len(END)].split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip(b" \t")
        if name == b"upgrade" or name in single:
            return None
        if name in _SINGLE:
            single[name] = value
        headers.append((name, value))
    size, coding = single.get(b"content-length"), single.get(b"transfer-encoding")
    connection, expected = single.get(b"connection", _STAYS).lower(), single.get(b"expect")
    if b"host" not in single or connection not in (_STAYS, _ENDS):
        return None
    if expected is not None and expected.lower() != b"100-continue":
        return None
    if size is None:
        if coding is None or coding.lower() != b"chunked":
            return None
    elif coding is not None or _SIZE.fullmatch(size) is None:
        return None
    return RequestHead(headers, None if size is None else int(size), connection == _ENDS, expected is not None)
