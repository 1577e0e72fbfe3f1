"""Reads the lines of a packed stream of blocks (`rpc.push.events`) with errors for users."""

import msgspec

from node.runtime.errors import NodeError
from rpc.push.events import Event, Heartbeat, StreamEnd, StreamHeader, decode_line
from state.protocol.errors import ChainError

SHOWN_MAX = 200
# What JSON of another form makes reading it raise.
STRANGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, ChainError, msgspec.MsgspecError)


class StreamEnded(NodeError):
    """The other node has ended its stream, and said why."""


class BadLine(NodeError):
    """A line that is none of a stream of blocks."""

    def __init__(self, line: bytes, why: object) -> None:
        super().__init__(f"a line that can't be read ({why}): {line[:SHOWN_MAX].decode('utf-8', 'replace')}")


def read_header(line: bytes) -> StreamHeader:
    """Return what the first line of the packed form says. Raises BadLine and StreamEnded."""
    item = _read(line)
    if not isinstance(item, StreamHeader):
        raise BadLine(line, "the first line says which chain it is")
    return item


def read_packed(line: bytes) -> Event | Heartbeat:
    """Return what a later line of the packed form says. Raises BadLine and StreamEnded."""
    item = _read(line)
    if isinstance(item, StreamHeader):
        raise BadLine(line, "only the first line says which chain it is")
    return item


def _read(line: bytes) -> Event | Heartbeat | StreamHeader:
    try:
        item = decode_line(line)
    except ValueError as error:
        raise BadLine(line, error) from None
    if isinstance(item, StreamEnd):
        raise StreamEnded(f"the followed node has ended the stream: {item.reason[:SHOWN_MAX]}")
    return item
