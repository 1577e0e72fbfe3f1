"""Storage format of blocks in a broker: names, message ids, and the search for a block in the sequence of messages.

The messages of the block stream are the lines of a node's packed stream, so they contain its whole history, including undone blocks. After
each message the stream has a height: the number of the message's block or, after a removal of blocks, of the last block that remains. From
one message to the next, the height increases by at most one, but can decrease by any number.

A line that is too large for a message is split into consecutive messages, the parts, whose header identifies the complete message. A block
is complete once its last part is stored. If a relay finds an incomplete block at the end of the stream, it appends the missing parts, even
if another relay wrote the first ones. If it has to append another message instead, the incomplete parts are ignored.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from node.replicas.follow.stream_lines import BadLine, read_packed
from node.runtime.errors import NodeError
from rpc.push.events import BlocksRemoved, Event, Heartbeat
from state.chain.blocks import NO_TRANSACTION

_NO_TOKEN = re.compile("[^A-Za-z0-9_-]")
PREVIOUS_SIZE, TIME_SIZE = 20, 4  # bytes at the beginning of a packed block
PART_HEADER = "Coind-Part"
WHOLE_SIZE_MAX = 16 << 20  # bytes of a message that comes in parts
NO_ID = "0" * 40


class StreamNames:
    """Names of a chain's streams and subjects in the broker.

    The subject `blocks` carries blocks and removals of blocks, `operations` all kinds of operations, and `undone` removals of blocks for
    readers of operations. The subject `head` carries the node's heartbeats, which no stream stores.
    """

    def __init__(self, chain: str) -> None:
        token = _NO_TOKEN.sub("_", chain)
        self.blocks_stream, self.operations_stream = f"coind-{token}-blocks", f"coind-{token}-operations"
        self.blocks, self.head, self.undone = f"coind.{token}.blocks", f"coind.{token}.head", f"coind.{token}.undone"
        self.operations = f"coind.{token}.operations.*"

    def kind(self, operation: str) -> str:
        """Return the subject for one type of operation, given the type's name in JSON."""
        return self.operations.replace("*", operation.removesuffix("_operation"))


Size = Annotated[int, Meta(ge=0, le=WHOLE_SIZE_MAX)]


class MessagePart(Struct, frozen=True, omit_defaults=True):
    """Header of a part: id, size and SHA-256 of the complete message, and the part's offset in bytes.

    A part of a block also has the fields of `Message`, and in `before` the number of the head block before that block.
    """

    of: str
    size: Size
    digest: str
    offset: Size = 0
    before: int = 0
    block: int = 0
    id: str = ""
    previous: str = ""
    time: int = 0
    edits: int = 0

    def is_like(self, other: "MessagePart | None") -> bool:
        """Whether this part and the other one belong to the same message."""
        return other is not None and (self.of, self.size, self.digest) == (other.of, other.size, other.digest)


class Message(Struct, frozen=True):
    """A message of the block stream: a block with its id and the id of its predecessor or, if `id` is empty, a removal of blocks.

    `time` is the block's time in seconds since 1970, `edits` its number of state edits. If the block was split, `part` is the header of
    this part, which ends `end` bytes after the start of the block. Only the last part has the block's id.
    """

    height: int
    id: str = ""
    previous: str = ""
    time: int = 0
    edits: int = 0
    part: MessagePart | None = None
    end: int = 0


_decode_part = msgspec.json.Decoder(MessagePart).decode


def read_part(headers: Mapping[str, str] | None) -> MessagePart | None:
    """Return the part header of a message, or None for a message that is not a part. Raises NodeError."""
    text = (headers or {}).get(PART_HEADER)
    if text is None:
        return None
    try:
        return _decode_part(text)
    except msgspec.MsgspecError as error:
        raise NodeError(f"the broker has a message part with an invalid header: {error}") from None


def read_message(line: bytes, headers: Mapping[str, str] | None = None) -> Message:
    """Parse a message of the block stream. Raises NodeError."""
    part = read_part(headers)
    if part is not None:
        end = part.offset + len(line)
        if end < part.size:
            return Message(part.before, part=part, end=end)
        return Message(part.block, part.id, part.previous, part.time, part.edits, part, end)
    event = read_packed(line)
    if isinstance(event, Heartbeat):
        raise BadLine(line, "neither a block nor a removal of blocks")
    return message_of(event)


def message_of(event: Event) -> Message:
    """Return the message of an event."""
    if isinstance(event, BlocksRemoved):
        return Message(event.first - 1)
    packed = event.packed
    time = int.from_bytes(packed[PREVIOUS_SIZE:][:TIME_SIZE], "little")
    return Message(event.number, event.id.hex(), packed[:PREVIOUS_SIZE].hex(), time, len(event.edits))


def parts_of(line: bytes, whole: MessagePart, size_max: int) -> Iterator[tuple[MessagePart, bytes]]:
    """Yield the parts of a message, each of at most `size_max` bytes. `whole` is the header that they share; its offset is that of the
    first part.
    """
    for offset in range(whole.offset, len(line), size_max):
        yield replace(whole, offset=offset), line[offset : offset + size_max]


def whole_of(line: bytes, message_id: str, message: Message | None = None, before: int = 0) -> MessagePart:
    """Return the header that all parts of a message share. For a block, `before` is the number of the head block before it."""
    whole = MessagePart(message_id, len(line), sha256(line).hexdigest())
    if message is None:
        return whole
    fields = {"block": message.height, "id": message.id, "previous": message.previous, "time": message.time, "edits": message.edits}
    return replace(whole, before=before, **fields)


class Joiner:
    """Joins the parts of messages, which arrive in order. Repeated parts are ignored."""

    def __init__(self) -> None:
        self._part: MessagePart | None = None
        self._begun = bytearray()

    def add(self, data: bytes, headers: Mapping[str, str] | None) -> bytes | None:
        """Add a message or a part. Return the message that it completes, or None. Raises NodeError for inconsistent parts."""
        part = read_part(headers)
        if part is None or not part.is_like(self._part):
            # Incomplete parts before it come from a relay that has exited, and are ignored.
            self._part, self._begun = part, bytearray()
        if part is None:
            return data
        size = len(self._begun)
        if part.offset > size:
            raise NodeError(
                f"the message {part.of} of the broker lacks a part: {size} of {part.size} bytes came, and then those from {part.offset} on"
            )
        self._begun += data[size - part.offset :]
        if len(self._begun) == size or len(self._begun) < part.size:
            return None
        if len(self._begun) > part.size or sha256(self._begun).hexdigest() != part.digest:
            raise NodeError(f"the parts of the message {part.of} of the broker are damaged")
        return bytes(self._begun)


def block_message_id(block_id: str, edits: int, last: int = 0) -> str:
    """Return the id of a block's message: the block id, the number of its edits and, for a block that is written again, `last`, the
    sequence of the message before it.
    """
    edited = f"+{edits}" if edits else ""
    return f"{block_id}{edited}" + (f".{last}" if last else "")


def operation_message_id(block_id: str, place: int) -> str:
    """Return the id of an operation's message: the block id and the operation's position in the block."""
    return f"{block_id}-{place}"


Read = Callable[[int], Awaitable[Message]]


async def find_block(number: int, first: int, last: int, read: Read) -> int | None:
    """Return the sequence of a block with this number among the messages `first` to `last`, or None.

    A later message can undo the block, so the caller must continue reading from there. From one message to the next, the height increases
    by at most one. Every number between the heights of two messages is therefore the height of a message between them, which a binary
    search finds.
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


async def first_whole(first: int, last: int, read: Read) -> int:
    """Return the sequence of the first complete message. If the first parts of a message were dropped, its remaining parts are skipped."""
    part = (await read(first)).part if first <= last else None
    if part is None or not part.offset:
        return first
    while first <= last and part.is_like((await read(first)).part):
        first += 1
    return first


async def first_part(place: int, first: int, read: Read) -> int:
    """Return the sequence of the first part of a message, given `place`, the sequence of its last part."""
    part = (await read(place)).part
    while part is not None and place > first and part.is_like((await read(place - 1)).part):
        place -= 1
    return place


async def branch_of(first: int, last: int, read: Read, numbers: int) -> list[tuple[int, str]]:
    """Return number and id of up to `numbers` blocks, newest first. They are the last blocks of the branch on which the messages end."""
    found: list[tuple[int, str]] = []
    lowest: int | None = None
    place = last
    while place >= first and len(found) < numbers:
        message = await read(place)
        # Skip blocks that were undone later, and earlier copies of a block that was written again after an edit.
        if message.id and (lowest is None or message.height <= lowest) and (not found or message.height < found[-1][0]):
            found.append((message.height, message.id))
        lowest = message.height if lowest is None else min(lowest, message.height)
        place -= 1
    return found


def is_in_block(shown: Any) -> bool:
    """Whether an operation that a node returned for a block belongs to that block. For the head block, nodes also return pending
    operations.
    """
    return bool(shown["trx_in_block"] != NO_TRANSACTION or shown["trx_id"] == NO_ID)


def operation_of(shown: Any, block_id: str, place: int) -> tuple[str, bytes]:
    """Return the name of an operation, given as a node's operation history returns it, and its message for the broker."""
    try:
        return str(shown["op"]["type"]), msgspec.json.encode({**shown, "block_id": block_id, "place": place})
    except (KeyError, TypeError):
        raise NodeError("the node returns operations in an unknown format") from None
