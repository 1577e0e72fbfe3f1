"""Block production: on request, and the mode of automatic production."""

from typing import Annotated, TypedDict

from rpc.api.dev.head import HeadInfo, head_of
from rpc.declare.arguments import Example, Text, UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain


class BlockMode(TypedDict):
    """The mode of block production, in the format of the option `--blocks`."""

    block_mode: str


@method("dev_api.mine", loopback_only=True)
async def mine(chain: Chain, devchain: DevChain, processor: Processor, /, count: UInt32 = 1) -> HeadInfo:
    """Produce blocks, the first with the pending transactions, and return the new head.

    The first block is in the slot of the chain's time, or in the next slot if that is later, but early enough that no pending transaction
    expires. The others are in the following slots, and the chain's time advances with them. Other requests are answered in between.
    """
    await processor.run_steps(devchain.mine(count))
    return head_of(chain, devchain)


@method("dev_api.set_block_mode", loopback_only=True)
async def set_block_mode(devchain: DevChain, processor: Processor, /, mode: Annotated[Text, Example("instant")]) -> BlockMode:
    """Set the mode of block production.

    Modes: `interval` (a block in each slot of 3 s), `interval:SECONDS` (a block every SECONDS of real time), `instant` (a block after
    each accepted transaction, before its reply), `manual` (only on request), `mixed:SECONDS` (like `instant`, and at most SECONDS after
    the last block).
    """
    await processor.in_turn(lambda: devchain.set_block_mode(mode))
    return {"block_mode": devchain.block_mode}
