"""Dev snapshots in memory: taking them and reverting to them. Also resetting the chain, and undoing blocks."""

from typing import TypedDict

from rpc.api.dev.head import HeadInfo, head_of
from rpc.declare.arguments import UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain


class SnapshotId(TypedDict):
    """Id of a dev snapshot."""

    id: UInt32


@method("dev_api.snapshot", loopback_only=True)
async def snapshot(devchain: DevChain, processor: Processor, /) -> SnapshotId:
    """Take a dev snapshot of the chain in memory, with pending transactions and clock, and return its id. There can be at most 256."""
    return {"id": await processor.in_steps(devchain.snapshot_in_steps)}


@method("dev_api.revert", loopback_only=True)
async def revert(chain: Chain, devchain: DevChain, processor: Processor, /, id: UInt32) -> HeadInfo:
    """Revert to a dev snapshot, and return its head. The snapshot stays, and later ones are dropped.

    This restores the clock's offset from the machine's, the block mode, the time of the next block and the impersonated accounts. Calls
    that wait for a transaction that no longer exists are refused.
    """
    await processor.in_turn(lambda: devchain.revert(id))
    return head_of(chain, devchain)


@method("dev_api.reset", loopback_only=True)
async def reset(chain: Chain, devchain: DevChain, processor: Processor, /) -> HeadInfo:
    """Restart the chain as at the node's first start, at the current time or the time of `--time`, and return its head.

    All data of the chain is deleted, including the files of `--data` and all dev snapshots.
    """
    await processor.in_turn(devchain.reset)
    return head_of(chain, devchain)


@method("dev_api.pop_blocks", loopback_only=True)
async def pop_blocks(chain: Chain, devchain: DevChain, processor: Processor, /, count: UInt32 = 1) -> HeadInfo:
    """Undo the last `count` blocks, and return the new head.

    As after a fork, their transactions become pending again; `drop_pending` drops them. If fewer than `count` blocks are reversible, the
    call is refused, and nothing changes.
    """
    await processor.in_turn(lambda: chain.pop_blocks(count))
    return head_of(chain, devchain)
