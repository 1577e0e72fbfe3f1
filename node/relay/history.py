"""How blocks stand in a broker: names, ids of messages, and where in the order of messages a block is found. It knows no broker's library.

The messages of the stream of blocks are the lines of a packed stream of a node: its whole history, undone blocks included. A stream's
height after a message is the number of its block, or that of the last block before undone ones. It grows by one and falls by any number.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct

from node.failures import NodeError
from state.chain.blocks import NO_TRANSACTION

_NO_TOKEN = re.compile("[^A-Za-z0-9_-]")
PREVIOUS_DIGITS = 40
NO_ID = "0" * 40


class Names(Struct, frozen=True):
    """The names of a chain's streams and subjects."""

    chain: str

    @property
    def token(self) -> str:
        """The chain's name as a part of others."""
        return _NO_TOKEN.sub("_", self.chain)

    @property
    def blocks(self) -> str:
        """The subject of blocks, and of what says that blocks are undone."""
        return f"coind.{self.token}.blocks"

    @property
    def undone(self) -> str:
        """The subject of what says that blocks are undone, among operations."""
        return f"coind.{self.token}.undone"

    @property
    def operations(self) -> str:
        """The subjects of all kinds of operations."""
        return f"coind.{self.token}.operations.*"

    @property
    def blocks_stream(self) -> str:
        """The stream of blocks."""
        return f"coind-{self.token}-blocks"

    @property
    def operations_stream(self) -> str:
        """The stream of operations."""
        return f"coind-{self.token}-operations"

    def kind(self, operation: str) -> str:
        """Return the subject of a kind of operations, by the name in its JSON."""
        return f"coind.{self.token}.operations.{operation.removesuffix('_operation')}"


class Message(Struct, frozen=True):
    """What a message of the stream of blocks says: a block with its id and the one before, or, with an empty id, that blocks are undone."""

    height: int
    id: str = ""
    previous: str = ""


class _Undone(Struct):
    first: int
    last: int


class _Line(Struct):
    block: int | None = None
    id: str = ""
    packed: str = ""
    undone: _Undone | None = None


_decode = msgspec.json.Decoder(_Line).decode


def read_message(line: bytes) -> Message:
    """Return what a message says. Raises NodeError."""
    try:
        given = _decode(line)
    except msgspec.MsgspecError as error:
        raise NodeError(f"a message of the broker can't be read: {error}") from None
    if given.block is not None:
        return Message(given.block, given.id, given.packed[:PREVIOUS_DIGITS])
    if given.undone is not None:
        return Message(given.undone.first - 1)
    raise NodeError("a message of the broker is no line of a stream of blocks")


def undone_line(first: int, last: int) -> bytes:
    """Return the message that says that blocks are undone."""
    return msgspec.json.encode({"undone": {"first": first, "last": last}})


def block_message_id(block_id: str, edits: int, last: int = 0) -> str:
    """Return the id of a block's message: the block's, with how many edits it has got; and after which message, where it comes again."""
    edited = f"+{edits}" if edits else ""
    return f"{block_id}{edited}" + (f".{last}" if last else "")


def operation_message_id(block_id: str, place: int) -> str:
    """Return the id of the message of an operation, by its place in the block."""
    return f"{block_id}-{place}"


Read = Callable[[int], Awaitable[Message]]


async def find_block(number: int, first: int, last: int, read: Read) -> int | None:
    """Return where a block with a number stands among the messages `first` to `last`, None if it doesn't.

    It may be one that is undone later: whoever goes on from there hears of that. Heights grow by one only, so that there is such a place
    between a lower and a higher one.
    """
    if last < first:
        return None
    low, high = first, last
    height = (await read(low)).height
    if height == number:
        return low
    if height > number or (await read(high)).height < number:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if (await read(middle)).height < number:
            low = middle
        else:
            high = middle
    return high


async def branch_of(first: int, last: int, read: Read, numbers: int) -> list[tuple[int, str]]:
    """Return number and id of the last blocks of the branch that the messages end with, at most so many, newest first."""
    found: list[tuple[int, str]] = []
    lowest: int | None = None
    place = last
    while place >= first and len(found) < numbers:
        message = await read(place)
        # Nothing after it has undone it, and it isn't one of the same number that stands again, as after an edit.
        if message.id and (lowest is None or message.height <= lowest) and (not found or message.height < found[-1][0]):
            found.append((message.height, message.id))
        lowest = message.height if lowest is None else min(lowest, message.height)
        place -= 1
    return found


def is_in_block(shown: Any) -> bool:
    """Whether an operation that a node shows for a block is in it: for the head, nodes also show those that wait for the next block."""
    return bool(shown["trx_in_block"] != NO_TRANSACTION or shown["trx_id"] == NO_ID)


def operation_of(shown: Any, block_id: str, place: int) -> tuple[str, bytes]:
    """Return the name of an operation that a node shows in a history, and its message."""
    try:
        return str(shown["op"]["type"]), msgspec.json.encode({**shown, "block_id": block_id, "place": place})
    except (KeyError, TypeError):
        raise NodeError("the node shows operations in a form that isn't known") from None
