"""Events of a followed chain as values, and as lines of JSON: the packed form of a stream of blocks.

These lines go from a node to its replicas (docs/push.md), through a broker too, and from the owner of a chain to its reader processes.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from rpc.json.encoding import encoded
from state.chain.chain import Chain
from state.chain.state_edits import StateEdit, read_edit, write_edit
from state.protocol.transaction import SignedBlock
from state.protocol.values.integers import UINT32_MAX

# A line may hold so many commas, mostly those of edits: a block has a hundred thousand of them at most.
COMMAS_MAX = 500_000

# As they are read from lines of others.
Number = Annotated[int, Meta(ge=0, le=UINT32_MAX)]
Word = Annotated[str, Meta(max_length=200)]


class NewBlock(Struct, frozen=True):
    """A block of the other node's main branch.

    `edits` are all that were made by hand with the block until now: a block that gets another edit, which is always the head, comes once
    more. `accepted` are the positions of its transactions that were accepted with less than they need (impersonation).
    """

    number: int
    id: bytes
    packed: bytes
    edits: tuple[StateEdit, ...] = ()
    accepted: tuple[int, ...] = ()


class BlocksRemoved(Struct, frozen=True):
    """The blocks from `first` to `last` are no longer on the main branch; the blocks that replace them follow, if there are any."""

    first: Number
    last: Number


class Heartbeat(Struct, frozen=True):
    """The number of the other node's head. It is stale if the sender doesn't know whether newer blocks exist."""

    head: int
    is_stale: bool = False


class StreamHeader(Struct, frozen=True, kw_only=True):
    """The first line of a stream: which chain it is, and where it stands, as far as the sender knows.

    `genesis` is a fingerprint of the genesis block's contents. `edits` is a fingerprint of the edits by hand before the first block of the
    stream, "" without any; those of the blocks up to `unknown_until` are not known.
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


class StreamEnd(Struct, frozen=True):
    """The last line of a stream: why it ends."""

    reason: str


Event = NewBlock | BlocksRemoved
Item = Event | Heartbeat | StreamHeader | StreamEnd


class _Line(Struct, omit_defaults=True):
    """The members of all lines. The first that is there of `block`, `chain`, `undone`, `head` and `error` says which value it is."""

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
    """Return the event of a block on the main branch of a chain."""
    sidecars = chain.sidecars
    packed = chain.state.wire.pack_block(block)
    return NewBlock(block.number, block.id, packed, sidecars.edits_of(block.id), sidecars.accepted_of(block.id))


def encode_line(item: Item) -> bytes:
    """Return the line of a value, without its end."""
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
    """Return the value of a line. Raises ValueError."""
    if data.count(b",") > COMMAS_MAX:
        raise ValueError("it holds too much")
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
    raise ValueError("it says nothing")
