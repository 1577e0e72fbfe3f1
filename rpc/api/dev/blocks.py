"""Making blocks: when asked, and in which way by themselves."""

from typing import Annotated, TypedDict

from rpc.api.dev.head import HeadInfo, head_of
from rpc.declare.arguments import Example, Text, UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain


class BlockMode(TypedDict):
    """When blocks are made, as the option `--blocks` takes it."""

    block_mode: str


@method("dev_api.mine", loopback_only=True)
async def mine(chain: Chain, devchain: DevChain, processor: Processor, /, count: UInt32 = 1) -> HeadInfo:
    """Make blocks, with what waits in the first of them, and return the new head.

    The first block is in the slot of the chain's time, or in the next slot if that is later; the others follow slot after slot, and the
    chain's time goes along. Nothing that waits expires by it: the first block is made as early as needed. Others are answered in between.
    """
    await processor.run_steps(devchain.mine(count))
    return head_of(chain, devchain)


@method("dev_api.set_block_mode", loopback_only=True)
async def set_block_mode(devchain: DevChain, processor: Processor, /, mode: Annotated[Text, Example("instant")]) -> BlockMode:
    """Make blocks in another way: `interval` (one in each slot of 3 s), `interval:SECONDS` (one every so many seconds of real time),
    `instant` (one after each accepted transaction, before it is answered), `manual` (only when asked), `mixed:SECONDS` (as instant, and
    at the latest so many seconds after the last one).
    """
    await processor.in_turn(lambda: devchain.set_block_mode(mode))
    return {"block_mode": devchain.block_mode}
