"""Control of the chain's time."""

from typing import TypedDict

from rpc.api.dev.head import HeadInfo, head_of
from rpc.declare.arguments import Text, Timestamp, UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain
from state.protocol.values.text import time_text


class NextBlock(TypedDict):
    """The time set for the next block."""

    next_block_time: str


@method("dev_api.advance_time", loopback_only=True)
async def advance_time(chain: Chain, devchain: DevChain, processor: Processor, /, seconds: UInt32, leap: Text = "") -> HeadInfo:
    """Advance the chain's time by `seconds`, produce a block at the new time, and return the new head.

    If `leap` is `missed`, the slots in between have no block, except one for pending transactions. If it is `produced`, each slot has a
    block. The default is the node's option `--leap`. A producing node continues from the new time. Missed slots cost nothing. A node
    produces up to 4,000 blocks per second, and answers other requests in between: a day takes at least seven seconds, 40 days five minutes.
    """
    await processor.run_steps(devchain.advance(seconds, leap))
    return head_of(chain, devchain)


@method("dev_api.set_next_block_time", loopback_only=True)
async def set_next_block_time(devchain: DevChain, processor: Processor, /, time: Timestamp) -> NextBlock:
    """Set the time of the next block, rounded up to a slot and not before the next slot. Return the rounded time.

    If a pending transaction would expire before, a block with the pending transactions is produced first.
    """
    return {"next_block_time": time_text(await processor.in_turn(lambda: devchain.set_next_block_time(time)))}
