"""Moments of the chain: keeping them and returning to them, beginning anew, and undoing blocks."""

from typing import TypedDict

from rpc.api.dev.head import HeadInfo, head_of
from rpc.declare.arguments import UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain


class SnapshotId(TypedDict):
    """A moment that is kept."""

    id: UInt32


@method("dev_api.snapshot", loopback_only=True)
async def snapshot(devchain: DevChain, processor: Processor, /) -> SnapshotId:
    """Keep this moment of the chain, with what waits for a block and with its clock, and return its id. At most 256 are kept."""
    return {"id": await processor.in_steps(devchain.snapshot_in_steps)}


@method("dev_api.revert", loopback_only=True)
async def revert(chain: Chain, devchain: DevChain, processor: Processor, /, id: UInt32) -> HeadInfo:
    """Return to a moment that was kept, whatever has happened since, and return its head. The id stays, those of later moments are dropped.

    The clock is ahead of the machine's by as much as then, and the block mode, the time of the next block and who is impersonated are as
    they were. Callers that wait for a transaction which is gone by it are refused.
    """
    await processor.in_turn(lambda: devchain.revert(id))
    return head_of(chain, devchain)


@method("dev_api.reset", loopback_only=True)
async def reset(chain: Chain, devchain: DevChain, processor: Processor, /) -> HeadInfo:
    """Begin anew, with a chain as the node's first start makes it, at the present or at the time of `--time`, and return its head.

    All that was on the chain is gone, with `--data` in the folder too, and so are the moments that were kept.
    """
    await processor.in_turn(devchain.reset)
    return head_of(chain, devchain)


@method("dev_api.pop_blocks", loopback_only=True)
async def pop_blocks(chain: Chain, devchain: DevChain, processor: Processor, /, count: UInt32 = 1) -> HeadInfo:
    """Undo the last blocks and return the head then. As after a fork, their transactions wait for a block again; `drop_pending` drops
    them.

    Only blocks after the last irreversible one can be undone; when there are fewer, nothing is done.
    """
    await processor.in_turn(lambda: chain.pop_blocks(count))
    return head_of(chain, devchain)
