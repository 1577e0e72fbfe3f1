"""How blocks stand in a broker: names, ids of messages, and where in the order of messages a block is found. It knows no broker's library.

The messages of the stream of blocks are the lines of a packed stream of a node: its whole history, undone blocks included. A stream's
height after a message is the number of its block, or that of the last block before undone ones. It grows by one and falls by any number.

A line that is too large for a message comes in parts, one message after another; their header says what they are parts of. The block is
there with the last of them. A relay that finds some at the end goes on with the next one, whoever wrote them; where it has something else
to say, it says that, and they mean nothing.
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
    """The names of a chain's streams and subjects.

    The subject `blocks` has blocks and the removals of blocks, `operations` all kinds of operations, and `undone` the removals among them.
    What the node says of its head is on the subject `head`, which belongs to no stream.
    """

    def __init__(self, chain: str) -> None:
        token = _NO_TOKEN.sub("_", chain)
        self.blocks_stream, self.operations_stream = f"coind-{token}-blocks", f"coind-{token}-operations"
        self.blocks, self.head, self.undone = f"coind.{token}.blocks", f"coind.{token}.head", f"coind.{token}.undone"
        self.operations = f"coind.{token}.operations.*"

    def kind(self, operation: str) -> str:
        """Return the subject of a kind of operations, by the name in its JSON."""
        return self.operations.replace("*", operation.removesuffix("_operation"))


Size = Annotated[int, Meta(ge=0, le=WHOLE_SIZE_MAX)]


class MessagePart(Struct, frozen=True, omit_defaults=True):
    """What the header of a part says: the id, the size and the SHA-256 of the whole message, and how many of its bytes are before the part.

    For blocks it also says what `Message` does, with the stream's height before the block in `before`.
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
        """Whether both are parts of the same message."""
        return other is not None and (self.of, self.size, self.digest) == (other.of, other.size, other.digest)


class Message(Struct, frozen=True):
    """What a message of the stream of blocks says: a block with its id and the one before, or, with an empty id, that blocks are undone.

    `time` is the block's in seconds since 1970, and `edits` how many it has got by hand. `part` is there in each part of a block, which
    has the block's id only where it is the last one; it ends `end` bytes after the block's beginning.
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
    """Return what the headers of a message say of the part that it is, None for a whole one. Raises NodeError."""
    text = (headers or {}).get(PART_HEADER)
    if text is None:
        return None
    try:
        return _decode_part(text)
    except msgspec.MsgspecError as error:
        raise NodeError(f"a part of a message of the broker can't be read: {error}") from None


def read_message(line: bytes, headers: Mapping[str, str] | None = None) -> Message:
    """Return what a message says. Raises NodeError."""
    part = read_part(headers)
    if part is not None:
        end = part.offset + len(line)
        if end < part.size:
            return Message(part.before, part=part, end=end)
        return Message(part.block, part.id, part.previous, part.time, part.edits, part, end)
    event = read_packed(line)
    if isinstance(event, Heartbeat):
        raise BadLine(line, "it is no block, and removes none")
    return message_of(event)


def message_of(event: Event) -> Message:
    """Return what the message of an event says."""
    if isinstance(event, BlocksRemoved):
        return Message(event.first - 1)
    packed = event.packed
    time = int.from_bytes(packed[PREVIOUS_SIZE:][:TIME_SIZE], "little")
    return Message(event.number, event.id.hex(), packed[:PREVIOUS_SIZE].hex(), time, len(event.edits))


def parts_of(line: bytes, whole: MessagePart, size_max: int) -> Iterator[tuple[MessagePart, bytes]]:
    """Yield the parts of a message, of so many bytes at most, from the offset of `whole` on."""
    for offset in range(whole.offset, len(line), size_max):
        yield replace(whole, offset=offset), line[offset : offset + size_max]


def whole_of(line: bytes, message_id: str, message: Message | None = None, before: int = 0) -> MessagePart:
    """Return what the parts of a message have in common; of a block with what it says, and the height before it."""
    whole = MessagePart(message_id, len(line), sha256(line).hexdigest())
    if message is None:
        return whole
    said = {"block": message.height, "id": message.id, "previous": message.previous, "time": message.time, "edits": message.edits}
    return replace(whole, before=before, **said)


class Joiner:
    """Joins the parts of messages, which come in their order; of parts that come twice, one counts."""

    def __init__(self) -> None:
        self._part: MessagePart | None = None
        self._begun = bytearray()

    def add(self, data: bytes, headers: Mapping[str, str] | None) -> bytes | None:
        """Return a message that is whole with this one, None if none is. Raises NodeError for parts that make no message."""
        part = read_part(headers)
        if part is None or not part.is_like(self._part):
            # What was begun before is of a relay that has ended, and doesn't count.
            self._part, self._begun = part, bytearray()
        if part is None:
            return data
        have = len(self._begun)
        if part.offset > have:
            raise NodeError(
                f"the message {part.of} of the broker lacks a part: {have} of {part.size} bytes came, and then those from {part.offset} on"
            )
        self._begun += data[have - part.offset :]
        if len(self._begun) == have or len(self._begun) < part.size:
            return None
        if len(self._begun) > part.size or sha256(self._begun).hexdigest() != part.digest:
            raise NodeError(f"the parts of the message {part.of} of the broker are damaged")
        return bytes(self._begun)


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


async def first_whole(first: int, last: int, read: Read) -> int:
    """Return the first place from which on messages can be read: the parts before it are of one whose beginning was dropped."""
    part = (await read(first)).part if first <= last else None
    if part is None or not part.offset:
        return first
    while first <= last and part.is_like((await read(first)).part):
        first += 1
    return first


async def first_part(place: int, first: int, read: Read) -> int:
    """Return where the message begins that is whole at a place."""
    part = (await read(place)).part
    while part is not None and place > first and part.is_like((await read(place - 1)).part):
        place -= 1
    return place


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
