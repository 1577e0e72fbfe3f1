"""Reads the lines of a stream of blocks, of the packed form and of the other one, as events. It opens nothing."""

from collections.abc import Generator
from typing import Any

import msgspec

from node.failures import NodeError
from node.following.events import Event, NewBlock, Undone
from node.following.parsing import json_in_steps
from node.storage.blockfile import is_legacy
from rpc.push.packed import Gone, Greeting, Number
from state.chain.edits import read_edit
from state.protocol.errors import ChainError
from state.protocol.transaction import Wire

SHOWN_MAX = 200
# In a packed line, those of edits by hand above all: a block has a hundred thousand of them at most.
COMMAS_MAX = 500_000
# What JSON of another form makes reading it raise.
STRANGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, ChainError, msgspec.MsgspecError)


class StreamEnded(NodeError):
    """The other node has ended its stream, and said why."""


class BadLine(NodeError):
    """A line that is none of a stream of blocks."""

    def __init__(self, line: bytes, why: object) -> None:
        super().__init__(f"a line that can't be read ({why}): {line[:SHOWN_MAX].decode('utf-8', 'replace')}")


class Head(msgspec.Struct, frozen=True):
    """A sign of life: where the other node's head is. Who `is_stale` says it without knowing what has come since."""

    number: int
    is_stale: bool = False


class _Packed(msgspec.Struct):
    """All members of all lines; one of them says what it is."""

    block: Number | None = None
    id: str = ""
    packed: str = ""
    edits: list[msgspec.Raw] = []
    accepted: tuple[int, ...] = ()
    chain: Greeting | None = None
    undone: Gone | None = None
    head: Number | None = None
    stale: bool = False
    error: str | None = None


_DECODE = msgspec.json.Decoder(_Packed).decode


def read_packed(line: bytes) -> Event | Greeting | Head:
    """Return what a line of the packed form says. Raises BadLine and StreamEnded."""
    if line.count(b",") > COMMAS_MAX:
        raise BadLine(line, "it holds too much")
    try:
        given = _DECODE(line)
        if given.block is not None:
            edits = tuple(read_edit(bytes(edit)) for edit in given.edits)
            return NewBlock(given.block, bytes.fromhex(given.id), bytes.fromhex(given.packed), edits, given.accepted)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadLine(line, error) from None
    if given.chain is not None:
        return given.chain
    if given.undone is not None:
        return Undone(given.undone.first, given.undone.last)
    if given.head is not None:
        return Head(given.head, given.stale)
    if given.error is not None:
        raise StreamEnded(f"the followed node has ended the stream: {given.error[:SHOWN_MAX]}")
    raise BadLine(line, "it says nothing")


def read_json(line: bytes, wire: Wire) -> Generator[None, None, Event]:
    """Return what a line of the JSON form says; yields after each step. Raises BadLine and StreamEnded."""
    try:
        value: Any = yield from json_in_steps(line)
        if "undone" in value:
            gone = msgspec.convert(value["undone"], Gone)
            return Undone(gone.first, gone.last)
        if "error" in value:
            raise StreamEnded(f"the followed node has ended the stream: {str(value['error'])[:SHOWN_MAX]}")
        return block_event(value, wire)
    except STRANGE as error:
        raise BadLine(line, error) from None


def block_event(value: Any, wire: Wire) -> NewBlock:
    """Return the event of a block in either JSON form. Raises one of STRANGE."""
    block = wire.block_from_json(value, is_legacy(value))
    return NewBlock(block.number, block.id, wire.pack_block(block))
