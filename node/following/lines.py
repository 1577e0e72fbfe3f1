"""Reads the lines of a stream of blocks, of the packed form and of the JSON form, as events. It opens nothing."""

from collections.abc import Generator
from typing import Any

import msgspec

from node.failures import NodeError
from node.following.parsing import json_in_steps
from node.storage.blockfile import is_legacy
from rpc.push.events import BlocksRemoved, Event, Heartbeat, NewBlock, StreamEnd, StreamHeader, decode_line
from state.protocol.errors import ChainError
from state.protocol.transaction import Wire

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


def read_json(line: bytes, wire: Wire) -> Generator[None, None, Event]:
    """Return what a line of the JSON form says; yields after each step. Raises BadLine and StreamEnded."""
    try:
        value: Any = yield from json_in_steps(line)
        if "undone" in value:
            return msgspec.convert(value["undone"], BlocksRemoved)
        if "error" in value:
            raise StreamEnded(f"the followed node has ended the stream: {str(value['error'])[:SHOWN_MAX]}")
        return block_event(value, wire)
    except STRANGE as error:
        raise BadLine(line, error) from None


def block_event(value: Any, wire: Wire) -> NewBlock:
    """Return the event of a block in either JSON form. Raises one of STRANGE."""
    block = wire.block_from_json(value, is_legacy(value))
    return NewBlock(block.number, block.id, wire.pack_block(block))
