"""Strict parser of request heads. It accepts only heads that all HTTP/1.1 parsers interpret in the same way.

Its grammar is a subset of h11's; all other heads are passed to h11. No request therefore has two interpretations.
"""

import re

from msgspec import Struct

# Hypercorn's limit for an incomplete head, in bytes.
HEAD_SIZE_MAX = 1 << 14
END = b"\r\n\r\n"

_BEGINNING = b"POST "
_TOKEN = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
# No control bytes, no white space before a colon, no continued lines, CR LF after every line. No repetition can match the beginning of what
# follows it, so matching takes linear time.
_HEAD = re.compile(rb"POST [\x21-\x7e]+ HTTP/1\.1\r\n(?:" + _TOKEN + rb":[\t\x20-\x7e\x80-\xff]*\r\n)+\r\n")
_SIZE = re.compile(rb"0|[1-9][0-9]{0,14}")
# Headers that determine where the request or the connection ends. Each may occur only once.
_SINGLE = frozenset({b"host", b"content-length", b"connection", b"expect"})
_LEFT = frozenset({b"transfer-encoding", b"upgrade"})
_STAYS, _ENDS = b"keep-alive", b"close"

Headers = list[tuple[bytes, bytes]]


class RequestHead(Struct, frozen=True):
    """The head of a POST request: its headers with lower-case names, and the size of its body.

    `is_last` means that the client closes the connection after the request, and `waits` that it waits for `100 Continue`.
    """

    headers: Headers
    size: int
    is_last: bool
    waits: bool


def may_begin(data: bytes) -> bool:
    """Whether these bytes can be the beginning of a head that this parser accepts."""
    begins = data.startswith(_BEGINNING) if len(data) >= len(_BEGINNING) else _BEGINNING.startswith(data)
    return begins and len(data) <= HEAD_SIZE_MAX and b"\n\n" not in data and b"\n\r\n" not in data


def read_head(data: bytes) -> RequestHead | None:
    """Parse a complete head, including its empty line. Return None if hypercorn must parse it."""
    if len(data) > HEAD_SIZE_MAX or _HEAD.fullmatch(data) is None:
        return None
    headers: Headers = []
    single: dict[bytes, bytes] = {}
    for line in data[: -len(END)].split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip(b" \t")
        if name in _LEFT or name in single:
            return None
        if name in _SINGLE:
            single[name] = value
        headers.append((name, value))
    size = _SIZE.fullmatch(single.get(b"content-length", b""))
    connection, expected = single.get(b"connection", _STAYS).lower(), single.get(b"expect")
    if b"host" not in single or size is None or connection not in (_STAYS, _ENDS):
        return None
    if expected is not None and expected.lower() != b"100-continue":
        return None
    return RequestHead(headers, int(size[0]), connection == _ENDS, expected is not None)
