"""debug_node_api: produces and loads blocks on a test node, for clients on the same machine. Source: rpc-api.md §5.4."""

from typing import Annotated, NotRequired, TypedDict

from rpc.api.blocks import BlockJson
from rpc.declare.arguments import Bool, Example, Text, Timestamp, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.processor import Processor
from rpc.records.blocks import block_json
from state.chain.chain import Chain
from state.chain.debug import generate_blocks, generate_blocks_until, schedule_hardfork
from state.chain.skip import Skip
from state.tables import State


class HeadBlock(TypedDict):
    """The head block. At genesis, `block` is omitted."""

    block: NotRequired[BlockJson]


# The key of the first witness on test chains.
DebugKey = Annotated[Text, Example("5JNHfZYKGaomSFvd4NUdQ9qMcEAC43kujbfjueTHpVapX1Kzq2n")]


@method("debug_node_api.debug_push_blocks", key="blocks", loopback_only=True)
async def debug_push_blocks(
    processor: Processor,
    src_filename: Annotated[Text, Example("block_log")],
    count: Annotated[UInt32, Example(1000)],
    skip_validate_invariants: Bool = False,
) -> UInt32:
    """Push the next `count` blocks from a file on the node's machine: a block log of the reference, or JSON lines, plain or compressed.

    Stops at the first refused block, and returns the number of applied blocks.
    """
    skip = Skip.VALIDATE_INVARIANTS if skip_validate_invariants else Skip.NOTHING
    return await processor.push_blocks_from(src_filename, count, skip) if count else 0


@method("debug_node_api.debug_generate_blocks", key="blocks", loopback_only=True)
async def debug_generate_blocks(
    chain: Chain,
    processor: Processor,
    /,
    debug_key: DebugKey,
    count: UInt32 = 0,
    skip: UInt32 = 0,
    miss_blocks: UInt32 = 0,
    edit_if_needed: Bool = True,
) -> UInt32:
    """Produce `count` blocks with a private key, and miss `miss_blocks` slots before each block.

    If a scheduled witness has another key, `edit_if_needed` replaces that witness's key with the given one; otherwise production stops
    there. Timestamps end in 2106: if the last block would be less than 60 days before that, no block is produced.

    Other requests are answered between the blocks. `skip` takes the reference's flags. Three of them have no effect, so that the chain
    stays valid: blocks are always signed and linked to the previous block, and their transactions are always recorded.
    """
    return await processor.run_steps(generate_blocks(chain, debug_key, count, skip, miss_blocks, edit_if_needed))


@method("debug_node_api.debug_generate_blocks_until", key="blocks", loopback_only=True)
async def debug_generate_blocks_until(
    chain: Chain, processor: Processor, /, debug_key: DebugKey, head_block_time: Timestamp, generate_sparsely: Bool = True
) -> UInt32:
    """Produce blocks until a time: one in every slot, or, with `generate_sparsely`, only two with missed slots in between."""
    return await processor.run_steps(generate_blocks_until(chain, debug_key, head_block_time, generate_sparsely))


@method("debug_node_api.debug_pop_block", loopback_only=True)
def debug_pop_block(chain: Chain, show: RecordEncoder, /) -> HeadBlock:
    """Return the head block without undoing it. The method's name is misleading in the reference, too."""
    head = chain.block_by_number(chain.state.props.head_block_number)
    return {} if head is None else {"block": block_json(show.wire, head, show.legacy)}


@method("debug_node_api.debug_set_hardfork", loopback_only=True)
async def debug_set_hardfork(chain: Chain, processor: Processor, /, hardfork_id: UInt32) -> Json:
    """Make the next block apply every hardfork up to `hardfork_id`. An unknown number is ignored."""
    await processor.in_turn(lambda: schedule_hardfork(chain, hardfork_id))
    return {}


@method("debug_node_api.debug_has_hardfork", key="has_hardfork", loopback_only=True)
def debug_has_hardfork(state: State, hardfork_id: UInt32) -> bool:
    """Return whether a hardfork has been applied."""
    return state.hardfork >= hardfork_id


@method("debug_node_api.debug_get_json_schema", key="schema", loopback_only=True)
def debug_get_json_schema(state: State) -> Text:
    """Return an empty string, as the reference does."""
    return ""
