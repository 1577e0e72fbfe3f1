"""Producing a block with checks left out: what is chosen for it is held to the same checks as the block."""

from msgspec import structs

from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.protocol.transaction import SignedBlock, SignedTransaction
from tests.helpers.nodes import DEV, SECRET, dev_chain, make_block, transfer


def made(chain: Chain, skip: int) -> SignedBlock:
    """The next block, produced with checks left out."""
    return chain.generate_block(slot_time(chain.state, 1), scheduled_witness(chain.state, 1), SECRET, skip)


def with_one(skip: int, **fields: object) -> tuple[Chain, SignedTransaction]:
    """A chain on which one transaction waits that only these flags let in."""
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


def test_transactions_are_tried_for_a_block_as_long_as_there_is_time() -> None:
    """Of those that are refused any number can wait."""
    asked = 0
    is_busy = False

    def out_of_time() -> bool:
        nonlocal asked
        asked += is_busy
        return asked > 3

    chain = Chain(new_state(DEV), out_of_time)
    sent = [transfer(chain, str(number)) for number in range(5)]
    for trx in sent:
        chain.push_transaction(trx)
    is_busy = True
    block = make_block(chain)
    assert [trx.id for trx in block.transactions] == [trx.id for trx in sent[:3]]
    is_busy, asked = False, 0
    assert [trx.id for trx in make_block(chain).transactions] == [trx.id for trx in sent[3:]]
