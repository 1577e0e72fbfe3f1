"""The time of the chain."""

from typing import TypedDict

from rpc.api.dev.head import HeadInfo, head_of
from rpc.declare.arguments import Text, Timestamp, UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain
from state.protocol.values.text import time_text


class NextBlock(TypedDict):
    """The time that was set for the next block."""

    next_block_time: str


@method("dev_api.advance_time", loopback_only=True)
async def advance_time(chain: Chain, devchain: DevChain, processor: Processor, /, seconds: UInt32, leap: Text = "") -> HeadInfo:
    """Let the chain's time leap by so many seconds, make a block there, and return it as the new head.

    With `leap` `missed` the slots in between have no block, but for one that takes what waits; with `produced` each has one. Without it,
    the node's option `--leap` decides. A producing node goes on from the new time. Missed slots cost nothing; of produced blocks a node
    makes up to 4,000 a second, and answers others in between: a day takes seven seconds or more, 40 days five minutes.
    """
    await processor.run_steps(devchain.advance(seconds, leap))
    return head_of(chain, devchain)


@method("dev_api.set_next_block_time", loopback_only=True)
async def set_next_block_time(devchain: DevChain, processor: Processor, /, time: Timestamp) -> NextBlock:
    """Set the time of the next block, whoever makes it: rounded up to a slot, and not before the next slot. Return it as it was rounded.

    Where a transaction that waits would have expired by then, a block of what waits is made before it.
    """
    return {"next_block_time": time_text(await processor.in_turn(lambda: devchain.set_next_block_time(time)))}
