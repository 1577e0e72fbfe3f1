"""Producing a block with skipped checks. Its transactions are tested with the same checks as the block itself."""

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.pending import Pending
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.protocol.transaction import SignedBlock, SignedTransaction
from tests.helpers.nodes import DEV, SECRET, dev_chain, make_block, transfer


def made(chain: Chain, skip: int) -> SignedBlock:
    """Produce the next block with skipped checks."""
    return chain.generate_block(slot_time(chain.state, 1), scheduled_witness(chain.state, 1), SECRET, skip)


def with_one(skip: int, **fields: object) -> tuple[Chain, SignedTransaction]:
    """Return a chain and its only pending transaction, which is valid only if these checks are skipped."""
    chain = dev_chain()
    make_block(chain)
    trx = chain.state.wire.seal(structs.replace(transfer(chain), **fields))
    chain.push_transaction(trx, skip)
    return chain, trx


def test_unsigned_transactions_get_into_a_block_made_without_that_check() -> None:
    chain, trx = with_one(Skip.TRANSACTION_SIGNATURES, signatures=())
    assert made(chain, Skip.TRANSACTION_SIGNATURES).transactions == (trx,)
    chain, _ = with_one(Skip.TRANSACTION_SIGNATURES, signatures=())
    assert made(chain, Skip.NOTHING).transactions == ()


def test_transactions_of_another_branch_get_into_a_block_made_without_that_check() -> None:
    skip = Skip.TAPOS_CHECK | Skip.TRANSACTION_SIGNATURES
    chain, trx = with_one(skip, ref_block_prefix=1)
    assert made(chain, skip).transactions == (trx,)
    chain, _ = with_one(skip, ref_block_prefix=1)
    assert made(chain, Skip.TRANSACTION_SIGNATURES).transactions == ()


@pytest.mark.parametrize(("is_late", "taken"), [(True, 2), (False, 3)])
def test_refused_transactions_are_tried_for_a_block_as_long_as_there_is_time(is_late: bool, taken: int) -> None:
    chain = Chain(new_state(DEV), lambda: is_late)
    sent = [transfer(chain, str(number)) for number in range(3)]
    # The duplicate is refused. Earlier transactions are included, even after the deadline.
    chain.pool.transactions = Pending([sent[0], sent[1], sent[0], sent[2]])
    assert make_block(chain).transactions == tuple(sent[:taken])
