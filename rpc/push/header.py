"""The header of a packed block stream, and the fingerprints by which two nodes compare their chains."""

from hashlib import sha256

from rpc.push.events import StreamHeader
from state.chain.chain import Chain
from state.chain.state_edits import write_edit
from state.protocol.spec import ChainSpec
from state.protocol.transaction import block_number


def stream_header(chain: Chain, first: int) -> StreamHeader:
    """Return the header of a stream that starts at block `first`."""
    spec, props, started = chain.state.spec, chain.state.props, chain.started_at
    is_unknown = bool(started and chain.sidecars.is_changed_by_hand and not edits_fingerprint(chain, started))
    return StreamHeader(
        name=spec.name,
        chain_id=spec.chain_id.hex(),
        genesis=genesis_fingerprint(spec),
        witnesses=len(spec.genesis.witness_names),
        accounts=len(spec.genesis.accounts),
        head=props.head_block_number,
        head_id=props.head_block_id.hex(),
        irreversible=chain.irreversible,
        edits=edits_fingerprint(chain, first - 1),
        unknown_until=started if is_unknown else 0,
        base=chain.base,
    )


def edits_fingerprint(chain: Chain, last: int) -> str:
    """Return a fingerprint of the state edits on the main branch up to block `last`, or "" if there are none."""
    edits = chain.sidecars.edits
    edited = [block_id for block_id in sorted(edits) if _is_before(chain, block_id, last)]
    lines = [block_id.hex().encode() + b" ".join(map(write_edit, edits[block_id])) for block_id in edited]
    return sha256(b"\n".join(lines)).hexdigest()[:32] if lines else ""


def genesis_fingerprint(spec: ChainSpec) -> str:
    """Return a fingerprint of the genesis state, or of the state after the chain's base. It distinguishes chains that have the same id."""
    text = ", ".join(f"{name}={value!r}" for name, value in spec.genesis.decisive_fields().items())
    return sha256(f"Genesis({text}){spec.base.digest}".encode()).hexdigest()[:32]


def _is_before(chain: Chain, block_id: bytes, last: int) -> bool:
    """Whether a block with edits is on the main branch and its number is at most `last`."""
    number = block_number(block_id)
    if number > last:
        return False
    block = chain.block_by_number(number)
    # A chain can lack irreversible blocks. Only those on the main branch have edits.
    return number <= chain.irreversible if block is None else block.id == block_id
