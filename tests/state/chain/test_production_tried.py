"""The producer tests a pending transaction only if it hasn't already been applied on top of the current head."""

import ast
import re
from typing import Any

import pytest

from state.chain import production, transactions
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.production import BY_PRODUCER, all_selectable
from state.chain.skip import Skip
from state.protocol.transaction import SignedTransaction
from tests.helpers.chains import chain_at, transaction
from tests.helpers.nodes import DEV, copy_of, grown_chain, make_block, transfer
from tests.helpers.sources import sources

Tried = list[SignedTransaction]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Tried:
    """The list of transactions that the producer has tested."""
    found: Tried = []
    apply_transaction = transactions.apply_transaction

    def note(state: Any, trx: SignedTransaction, skip: int) -> None:
        found.append(trx)
        apply_transaction(state, trx, skip)

    monkeypatch.setattr(production, "apply_transaction", note)
    return found


def test_transactions_applied_on_the_head_are_not_tried_again(tried: Tried) -> None:
    chain = grown_chain(3)
    sent = [transfer(chain, str(number)) for number in range(3)]
    for trx in sent:
        chain.push_transaction(trx)
    assert make_block(chain).transactions == tuple(sent)
    # After another producer's block, the remaining transactions are reapplied.
    other, trx = copy_of(chain), transfer(chain)
    chain.push_transaction(trx)
    chain.push_block(make_block(other))
    assert make_block(chain).transactions == (trx,)
    assert tried == []


def test_unapplied_transactions_are_tried(tried: Tried) -> None:
    chain = grown_chain(3)
    trx = transfer(chain)
    chain.push_transaction(trx)
    chain.pop_block()
    assert list(chain.pending) == [trx]
    # The block that the transaction refers to no longer exists.
    assert make_block(chain).transactions == ()
    assert tried == [trx]


def test_transactions_unapplied_for_lack_of_time_are_tried(tried: Tried) -> None:
    late = [False]
    chain = Chain(new_state(DEV), lambda: late[0])
    make_block(chain)
    for number in range(2):
        chain.push_transaction(transfer(chain, str(number)))
    late[0] = True
    chain.push_block(make_block(copy_of(chain, 1)))
    late[0] = False
    waiting = list(chain.pending)
    assert make_block(chain).transactions == tuple(waiting)
    assert tried == waiting


def test_transactions_pushed_with_fewer_checks_are_tried(tried: Tried) -> None:
    chain = grown_chain(3)
    trx = transfer(chain)
    chain.push_transaction(trx, Skip.TAPOS_CHECK)
    assert make_block(chain).transactions == (trx,)
    assert tried == [trx]


def test_transactions_of_a_restored_savepoint_are_tried(tried: Tried) -> None:
    chain = grown_chain(3)
    trx = transfer(chain)
    chain.push_transaction(trx)
    savepoint = chain.savepoint()
    make_block(chain)
    chain.restore(savepoint)
    assert make_block(chain).transactions == (trx,)
    assert tried == [trx]


def test_transactions_that_may_not_apply_in_the_block_are_tried() -> None:
    chain = chain_at()
    state = chain.state
    trx = transaction(chain)
    assert all_selectable(state, [trx], trx.expiration, 100)
    assert not all_selectable(state, [trx], trx.expiration + 1, 100)
    assert all_selectable(state, [trx], trx.expiration, state.props.maximum_block_size - trx.size - 1)
    assert not all_selectable(state, [trx], trx.expiration, state.props.maximum_block_size - trx.size)
    for cls in BY_PRODUCER:
        trx.operations = (cls(),)
        assert not all_selectable(state, [trx], trx.expiration, 100)
    assert not all_selectable(chain_at(20).state, [], 0, 100)
    assert not all_selectable(chain_at(number=0).state, [], 0, 100)
    state.impersonated.set((), is_everyone=True)
    trx.operations = ()
    assert not all_selectable(state, [trx], trx.expiration, 100)


def test_rules_that_depend_on_the_producer_or_on_pushing_are_known() -> None:
    # A rule that is added here also needs the operations that reach it to be added to BY_PRODUCER.
    asks = re.compile(r"if not state\.is_pushing:|props\.current_witness")
    found = set()
    for source in sources("state"):
        if source.path.startswith(("state/operations/", "state/effects/")):
            functions = [node for node in source.nodes if isinstance(node, ast.FunctionDef)]
            for number, line in enumerate(source.text.splitlines(), 1):
                if asks.search(line):
                    inside = [each for each in functions if each.lineno <= number <= (each.end_lineno or 0)]
                    found.add((source.path.removeprefix("state/"), inside[-1].name if inside else ""))
    assert found == {
        ("operations/accounts.py", "use_subsidy"),
        ("operations/mining.py", "pay_producer"),
        ("operations/smt/tokens.py", "apply"),
    }
