"""Blocks and their headers by number. Source: rpc-api.md §3.2.3, §3.6."""

from collections.abc import Callable
from hashlib import blake2b
from typing import Annotated

from rpc.declare.arguments import UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.blocks import BlockRecord, block_json
from rpc.records.large_blocks import LARGE_SIZE, large_blocks
from state.chain.chain import Chain
from state.protocol.transaction import BlockHeader, SignedBlock

BlockJson = Annotated[Json, ShowsRecord(BlockRecord)]


@method("block_api.get_block", key="block")
@method("condenser_api.get_block", required=1)
def get_block(chain: Chain, show: RecordEncoder, /, block_num: UInt32 = 0) -> BlockJson | None:
    """Return the block with this number on the main branch, even if it is reversible, or null."""
    packed = chain.irreversible_blocks.packed(block_num) if 0 < block_num <= chain.irreversible else None
    if packed is not None and len(packed) > LARGE_SIZE and chain.state.journal.read_mode.is_incremental:
        # Identify the block by a digest of its bytes, since its id is known only after parsing it.
        return _in_slices(show, blake2b(packed).digest(), lambda: show.wire.unpack_block(packed)[0])
    block = chain.block_by_number(block_num)
    if block is None:
        return None
    if block.size > LARGE_SIZE and chain.state.journal.read_mode.is_incremental:
        return _in_slices(show, block.id, lambda: block)
    return block_json(show.wire, block, show.legacy)


def _in_slices(show: RecordEncoder, known_by: bytes, read: Callable[[], SignedBlock]) -> Json:
    shown: Json = large_blocks(show.wire).shown(known_by, read, show.legacy)
    return shown


@method("block_api.get_block_header", record=BlockHeader)
@method("condenser_api.get_block_header", record=BlockHeader)
def get_block_header(chain: Chain, show: RecordEncoder, /, block_num: UInt32) -> Json | None:
    """Return the header of the block with this number, or null. The header's extensions are encoded as objects in both API groups."""
    is_settled = 0 < block_num <= chain.irreversible
    header = chain.irreversible_blocks.header(block_num) if is_settled else chain.block_by_number(block_num)
    return None if header is None else show.wire.header_to_json(header)
