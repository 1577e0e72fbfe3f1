"""Puts a chain into the middle of a block. It must not know why somebody wants to look at it there."""

from state.chain.blocks import apply_beginning
from state.chain.chain import NOT_APPLIED, Chain
from state.chain.pending import Pending
from state.chain.skip import Skip
from state.protocol.errors import require
from state.protocol.transaction import SignedBlock


def begin_block(chain: Chain, block: SignedBlock, count: int, skip: int = Skip.NOTHING) -> None:
    """Apply the header of the block that follows the head, and its first `count` transactions, as what is pending on top of the head.

    This is the state in which the block's next transaction is applied: the head is the block before, and the block's own steps, such as
    payouts, come after its last transaction. The next block undoes it, as everything that is pending. A refusal leaves nothing pending.
    """
    have = len(block.transactions)
    require(0 <= count <= have, "block ${block} has ${have} transactions", condition="count <= size", block=block.number, have=have)
    chain.clear_pending()
    chain.pending_mark = chain.state.journal.mark()
    try:
        apply_beginning(chain.state, block, count, skip, is_pending=True)
    except BaseException:
        chain.clear_pending()
        raise
    chain.pending = Pending(block.transactions[:count])
    # As pending transactions of their own they may be refused: nobody has tried that.
    chain._pending_skip = NOT_APPLIED
