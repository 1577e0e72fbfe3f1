"""Events of a chain that another node follows, and their encoding as JSON lines: the packed format of block streams.

A node sends these lines to its replicas (docs/push.md), directly or through a broker, and to its reader processes.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from rpc.json.encoding import encoded
from state.chain.chain import Chain
from state.chain.state_edits import StateEdit, read_edit, write_edit
from state.protocol.transaction import SignedBlock
from state.protocol.values.integers import UINT32_MAX

# Maximum number of commas in a line. Most of them separate state edits, of which a block has at most a hundred thousand.
COMMAS_MAX = 500_000

# Limits on values in lines that other nodes send.
Number = Annotated[int, Meta(ge=0, le=UINT32_MAX)]
Word = Annotated[str, Meta(max_length=200)]


class NewBlock(Struct, frozen=True):
    """A block of the sender's main branch.

    `edits` are all state edits that belong to the block so far. If the head block gets another edit, the block is sent again. `accepted`
    are the indices of its transactions that were accepted without the signatures they need (impersonation).
    """

    number: int
    id: bytes
    packed: bytes
    edits: tuple[StateEdit, ...] = ()
    accepted: tuple[int, ...] = ()


class BlocksRemoved(Struct, frozen=True):
    """The blocks from `first` to `last` left the main branch. The blocks that replace them, if any, follow as further events."""

    first: Number
    last: Number


class Heartbeat(Struct, frozen=True):
    """The number of the sender's head block. `is_stale` means that newer blocks may exist which the sender hasn't received."""

    head: int
    is_stale: bool = False


class StreamHeader(Struct, frozen=True, kw_only=True):
    """The first line of a stream. It identifies the sender's chain and contains its current position.

    `genesis` is a fingerprint of the genesis block's contents. `edits` is a fingerprint of the state edits before the first block of the
    stream ("" if there are none). The sender doesn't know the state edits of the blocks up to number `unknown_until`. The chain begins
    after block `base` (0: at genesis).
    """

    name: Word = ""
    chain_id: Word = ""
    genesis: Word = ""
    witnesses: Number = 0
    accounts: Number = 0
    head: Number
    head_id: Word = ""
    irreversible: Number = 0
    edits: Word = ""
    unknown_until: Number = 0
    base: Number = 0


class StreamEnd(Struct, frozen=True):
    """The last line of a stream, with the reason why the stream ends."""

    reason: str


Event = NewBlock | BlocksRemoved
Item = Event | Heartbeat | StreamHeader | StreamEnd


class _Line(Struct, omit_defaults=True):
    """A line of any type, with the fields of all types. The first of the fields `block`, `chain`, `undone`, `head` and `error` that is
    present determines the line's type.
    """

    block: Number | None = None
    id: str = ""
    packed: str = ""
    edits: list[Raw] = []
    accepted: tuple[int, ...] = ()
    chain: StreamHeader | None = None
    undone: BlocksRemoved | None = None
    head: Number | None = None
    stale: bool = False
    error: str | None = None


_DECODER = msgspec.json.Decoder(_Line)


def new_block(chain: Chain, block: SignedBlock) -> NewBlock:
    """Return the event for a block on the main branch of a chain."""
    sidecars = chain.sidecars
    packed = chain.state.wire.pack_block(block)
    return NewBlock(block.number, block.id, packed, sidecars.edits_of(block.id), sidecars.accepted_of(block.id))


def encode_line(item: Item) -> bytes:
    """Encode an event as a JSON line, without the line feed."""
    match item:
        case NewBlock():
            edits = [Raw(write_edit(edit)) for edit in item.edits]
            line = _Line(block=item.number, id=item.id.hex(), packed=item.packed.hex(), edits=edits, accepted=item.accepted)
        case BlocksRemoved():
            line = _Line(undone=item)
        case Heartbeat():
            line = _Line(head=item.head, stale=item.is_stale)
        case StreamHeader():
            line = _Line(chain=item)
        case StreamEnd():
            line = _Line(error=item.reason)
    return encoded(line)


def decode_line(data: bytes) -> Item:
    """Decode a JSON line. Raises ValueError if the line is malformed or too large."""
    if data.count(b",") > COMMAS_MAX:
        raise ValueError("it is too large")
    try:
        line = _DECODER.decode(data)
        if line.block is not None:
            edits = tuple(read_edit(bytes(edit)) for edit in line.edits)
            return NewBlock(line.block, bytes.fromhex(line.id), bytes.fromhex(line.packed), edits, line.accepted)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if line.chain is not None:
        return line.chain
    if line.undone is not None:
        return line.undone
    if line.head is not None:
        return Heartbeat(line.head, line.stale)
    if line.error is not None:
        return StreamEnd(line.error)
    raise ValueError("it has no known member")
