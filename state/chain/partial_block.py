"""Applies the first transactions of a block, so that callers can inspect the state inside that block."""

from state.chain.blocks import apply_beginning
from state.chain.chain import Chain
from state.chain.pending import Pending
from state.chain.skip import Skip
from state.protocol.errors import require
from state.protocol.transaction import SignedBlock


def apply_partial_block(chain: Chain, block: SignedBlock, count: int, skip_flags: int = Skip.NOTHING) -> None:
    """Apply the header and the first `count` transactions of the block that follows the head, as pending changes.

    The result is the state in which the block's next transaction is applied. The head is still the parent, and the block's steps, such as
    payouts, are not applied. The next block undoes these changes like all pending ones. A refusal leaves nothing pending.
    """
    have = len(block.transactions)
    require(0 <= count <= have, "block ${block} has ${have} transactions", condition="count <= size", block=block.number, have=have)
    chain.clear_pending()
    position = chain.state.journal.position()
    try:
        apply_beginning(chain.state, block, count, skip_flags, is_pending=True)
    except BaseException:
        chain.state.journal.undo(position)
        raise
    # These transactions replace the pending ones without the checks of pushed transactions, which refuse more than those of a block.
    chain.pool.replace(Pending(block.transactions[:count]), position)
