"""The steps that expire orders and escrows count work units, so a long step can be interrupted."""

from state.chain.steps.market import expire_escrow_ratification
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, Asset
from state.tables.payments import Escrow
from tests.helpers.chains import add_account, chain_at

COUNT = 30


def test_refunded_escrows_are_counted() -> None:
    state = chain_at().state
    add_account(state, "alice")
    for i in range(COUNT):
        deadline = state.head_time + i % 2
        state.escrows.insert(Escrow(escrow_id=i, from_="alice", pending_fee=Asset(1, COIN), ratification_deadline=deadline))
    before = state.work.spent
    expire_escrow_ratification(state, SignedBlock(timestamp=state.head_time))
    assert len(state.escrows) == COUNT // 2
    assert state.work.spent - before == COUNT // 2
