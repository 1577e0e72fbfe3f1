"""The collected operations are those of the applied block, and are collected before any other listener runs. Operations of pending or
tentatively applied transactions are not collected.
"""

import pytest

from rpc.push.operations import OperationCollector, impacted
from state.operations.transfers import Transfer
from state.protocol.errors import ChainError, Refused
from state.protocol.virtual import ProposalPay, SpsFund
from tests.helpers.nodes import DEV, dev_chain, make_block, transfer


def names(collector: OperationCollector, number: int) -> list[str]:
    """Return the names of the operations of a block."""
    return [record.operation.NAME for record in collector.take()[number]]


def test_pending_transactions_are_left_out() -> None:
    chain = dev_chain()
    collector = OperationCollector(chain.state)
    collector.attach()
    chain.push_transaction(transfer(chain))  # also before the first block, where no coordinates have been set
    assert collector.take() == {}
    block = make_block(chain)
    assert names(collector, 1).count("transfer") == len(block.transactions)
    chain.push_transaction(transfer(chain, "second"))
    make_block(chain)
    assert names(collector, 2) == ["transfer", "producer_reward"]
    collector.detach()
    make_block(chain)
    assert collector.take() == {}


def test_a_refused_block_is_forgotten() -> None:
    chain, other = dev_chain(), dev_chain()
    other.push_block(make_block(chain))
    chain.push_transaction(transfer(chain))
    block = make_block(chain)
    alice = other.state.accounts.by_name.get("alice")
    assert alice is not None
    other.state.accounts.modify(alice, balance=0)
    collector = OperationCollector(other.state)
    collector.attach()
    with pytest.raises(ChainError):
        other.push_block(block)
    other.state.accounts.modify(alice, balance=1000)
    other.push_transaction(transfer(other, "pending"))
    make_block(other)
    assert names(collector, 2) == ["transfer", "producer_reward"]


def test_a_failing_listener_hides_no_operation() -> None:
    chain = dev_chain()

    def refuse(*_: object) -> None:
        raise Refused("no", condition="false")

    chain.state.listeners.on_operation(refuse, Transfer, after=False)
    make_block(chain)
    collector = OperationCollector(chain.state)
    collector.attach()
    chain.push_transaction(transfer(chain))
    make_block(chain)
    assert names(collector, 2) == ["transfer", "producer_reward"]


def test_the_treasury_has_the_name_of_the_chain() -> None:
    state = dev_chain().state
    assert impacted(state, SpsFund()) == {DEV.treasury}
    assert impacted(state, ProposalPay(receiver="alice")) == {DEV.treasury, "alice"}
    assert impacted(state, Transfer(from_="alice", to="bob")) == {"alice", "bob"}
