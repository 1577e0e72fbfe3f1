"""Parses the lines of a packed stream of blocks (`rpc.push.events`). The messages of its errors are meant for users."""

import msgspec

from node.runtime.errors import NodeError
from rpc.push.events import Event, Heartbeat, StreamEnd, StreamHeader, decode_line
from state.protocol.errors import ChainError

SHOWN_MAX = 200
# Exceptions raised by parsing JSON of an unexpected form.
PARSE_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, ChainError, msgspec.MsgspecError)


class StreamEnded(NodeError):
    """The other node ended its stream and gave a reason."""


class BadLine(NodeError):
    """A line that doesn't belong to a stream of blocks."""

    def __init__(self, line: bytes, why: object) -> None:
        super().__init__(f"invalid line in the stream ({why}): {line[:SHOWN_MAX].decode('utf-8', 'replace')}")


def read_header(line: bytes) -> StreamHeader:
    """Parse the first line of a packed stream. Raises BadLine and StreamEnded."""
    item = _read(line)
    if not isinstance(item, StreamHeader):
        raise BadLine(line, "the first line must be the stream's header")
    return item


def read_packed(line: bytes) -> Event | Heartbeat:
    """Parse a line of a packed stream that follows the header. Raises BadLine and StreamEnded."""
    item = _read(line)
    if isinstance(item, StreamHeader):
        raise BadLine(line, "only the first line can be a header")
    return item


def _read(line: bytes) -> Event | Heartbeat | StreamHeader:
    try:
        item = decode_line(line)
    except ValueError as error:
        raise BadLine(line, error) from None
    if isinstance(item, StreamEnd):
        raise StreamEnded(f"the followed node ended the stream: {item.reason[:SHOWN_MAX]}")
    return item
