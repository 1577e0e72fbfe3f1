"""The packed form of a stream of blocks, for nodes that follow this one: blocks as bytes, with what belongs to them and isn't in them.

A line is one of: what the chain is (the first one), a block, blocks that are undone, a sign of life with the head, or an error at the end.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from rpc.push.additions import Additions
from rpc.service.encoding import encoded
from state.chain.chain import Chain
from state.chain.edits import Edit, write_edit
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock, Wire
from state.protocol.values.integers import UINT32_MAX

# As lines of others are read.
Number = Annotated[int, Meta(ge=0, le=UINT32_MAX)]
Word = Annotated[str, Meta(max_length=200)]


class Greeting(Struct, kw_only=True):
    """What the chain of a stream is, and where it stands.

    `genesis` is a fingerprint of what it began with. `edits` is a fingerprint of the edits by hand before the block that the stream
    begins with, "" without any; those of the blocks up to `unknown_until` are not known.
    """

    name: Word
    chain_id: Word
    genesis: Word
    witnesses: Number
    accounts: Number
    head: Number
    head_id: Word
    irreversible: Number
    edits: Word = ""
    unknown_until: Number = 0


class PackedBlock(Struct, omit_defaults=True):
    """A block: its number, id and bytes in hex, its edits, and the places of transactions that were accepted as impersonated ones."""

    block: int
    id: str
    packed: str
    edits: list[msgspec.Raw] = []
    accepted: tuple[int, ...] = ()


class Gone(Struct):
    """The first and the last of the blocks that are no longer part of the chain."""

    first: Number
    last: Number


class Line(Struct, omit_defaults=True):
    """A line that is no block; what it says is the one member that is there. A head is `stale` where nobody knows what came after it."""

    chain: Greeting | None = None
    undone: Gone | None = None
    head: int | None = None
    stale: bool = False
    error: str | None = None


def greeting(chain: Chain, additions: Additions, first: int) -> Greeting:
    """Return what a stream begins with whose first block is `first`."""
    spec, props = chain.state.spec, chain.state.props
    edited = edited_blocks(chain, additions, first - 1)
    started = chain.started_at
    known = edited_blocks(chain, additions, started)
    is_unknown = bool(started and chain.is_changed_by_hand and not known)
    return Greeting(
        name=spec.name,
        chain_id=spec.chain_id.hex(),
        genesis=genesis_fingerprint(spec),
        witnesses=1 + len(spec.genesis.witnesses),
        accounts=len(spec.genesis.accounts),
        head=props.head_block_number,
        head_id=props.head_block_id.hex(),
        irreversible=chain.irreversible,
        edits=fingerprint(edited),
        unknown_until=started if is_unknown else 0,
    )


def edited_blocks(chain: Chain, additions: Additions, last: int) -> list[tuple[int, bytes, tuple[Edit, ...]]]:
    """Return number, id and edits of the blocks of the main branch up to a number that have some, in order."""
    found = []
    for number, block_id, edits in additions.edited():
        if number <= last:
            block = chain.block_by_number(number)
            if block is not None and block.id == block_id:
                found.append((number, block_id, edits))
    return found


def fingerprint(edited: Iterable[tuple[int, bytes, tuple[Edit, ...]]]) -> str:
    """Return what tells the edits of one chain from those of another; "" without edits."""
    lines = [block_id.hex().encode() + b" ".join(map(write_edit, edits)) for _, block_id, edits in edited]
    return sha256(b"\n".join(lines)).hexdigest()[:32] if lines else ""


def genesis_fingerprint(spec: ChainSpec) -> str:
    """Return what tells the genesis of one chain from that of another with the same id."""
    return sha256(repr(spec.genesis).encode()).hexdigest()[:32]


def greeting_line(given: Greeting) -> bytes:
    """Return the first line of a stream."""
    return encoded(Line(chain=given)) + b"\n"


def sign_of_life(head: int, *, is_stale: bool) -> bytes:
    """Return the line that says where the chain stands while there is nothing else to say."""
    return encoded(Line(head=head, stale=is_stale)) + b"\n"


def packed_line(wire: Wire, block: SignedBlock, edits: Iterable[Edit], accepted: tuple[int, ...]) -> bytes:
    """Return the line of a block."""
    raw = [msgspec.Raw(write_edit(edit)) for edit in edits]
    return encoded(PackedBlock(block.number, block.id.hex(), wire.pack_block(block).hex(), raw, accepted)) + b"\n"
