"""Applies the blocks of a file to a chain, one after another. It must not know what the chain is used for afterwards."""

from collections.abc import Callable
from functools import partial

import trio

from node.failures import FileError, NodeError, Status
from node.memory import keep_what_is_loaded
from node.progress import Progress
from node.recovering.ahead import Ahead
from node.storage.sources import BlockSource
from state.chain.chain import Chain
from state.chain.skip import TRUSTED, Skip
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock

BLOCKS_BETWEEN_KEEPS = 1000
SLICE_SECONDS = 0.05

# For blocks that this node has checked before it wrote them. The merkle root is compared all the same, since damage to the file
# shows there; the limit of missed blocks is lifted, since blocks after a long gap were accepted once.
TRUST_OWN = (TRUSTED | Skip.UNDO_HISTORY_CHECK) & ~Skip.MERKLE_CHECK


class BlockRefused(NodeError):
    """A block of a file can't be applied: its `number`, and the `reason` in the chain's spelling."""

    STATUS = Status.DAMAGED

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"block {number}: {reason}")
        self.number, self.reason = number, reason


async def replay(
    chain: Chain,
    blocks: BlockSource,
    progress: Progress,
    *,
    skip: int = Skip.NOTHING,
    until: int | None = None,
    signed: int = 0,
    stop: trio.Event | None = None,
    workers: int = 0,
) -> bool:
    """Apply blocks up to number `until`; returns whether it got there, False when `stop` was set. Raises BlockRefused.

    The signature of block `signed` is checked whatever `skip` says: no later block confirms that of the last one.
    Other tasks get their turn every SLICE_SECONDS. The file is closed in every case. Where signatures are checked, so many `workers`
    recover their keys ahead.
    """
    pause = trio.current_time() + SLICE_SECONDS
    ahead = Ahead(blocks, chain.state.wire, workers, skip)
    push = partial(ahead.push, chain)
    try:
        for block in ahead:
            if until is not None and block.number > until:
                break
            apply(chain, block, skip & ~Skip.WITNESS_SIGNATURE if block.number == signed else skip, push)
            progress.count(block.number, len(block.transactions), blocks.position)
            if progress.blocks % BLOCKS_BETWEEN_KEEPS == 0:
                keep_what_is_loaded()
            if trio.current_time() > pause:
                await trio.lowlevel.checkpoint()
                pause = trio.current_time() + SLICE_SECONDS
                if stop is not None and stop.is_set():
                    return False
    except FileError as error:
        raise BlockRefused(chain.state.props.head_block_number + 1, str(error)) from None
    finally:
        ahead.close()
        blocks.close()
        progress.close()
        keep_what_is_loaded()
    return True


def apply(chain: Chain, block: SignedBlock, skip: int, push: Callable[[SignedBlock, int], object]) -> None:
    """Apply the block that must be the next one, by `push`."""
    props = chain.state.props
    if block.previous != props.head_block_id:
        raise BlockRefused(block.number, f"doesn't follow the head, block {props.head_block_number} ({props.head_block_id.hex()})")
    try:
        push(block, skip)
    except ChainError as error:
        reason = error.message(chain.state.spec.spell)
        if not props.head_block_number:
            reason += f"; the blocks may be of another chain than {chain.state.spec.name}: name theirs with --chain"
        raise BlockRefused(block.number, reason) from error
    except Exception as error:
        error.add_note(f"while block {block.number} was applied")
        raise
