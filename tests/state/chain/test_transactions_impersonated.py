"""Transactions of impersonated accounts need no signatures, and remain valid after the impersonation ends."""

import pytest

from state.chain.chain import Chain
from state.chain.transactions import IMPERSONATED_MAX
from state.operations.authorities import AccountUpdate
from state.operations.transfers import Transfer
from state.protocol.authority import Authority, key_authority
from state.protocol.errors import ChainError
from state.protocol.keys.keys import derive_secret
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import Asset
from tests.helpers.nodes import copy_of, grown_chain, make_block, signed_transaction, transfer

PAYMENT = Asset(1)


@pytest.fixture
def chain() -> Chain:
    return grown_chain(2)


def transaction(chain: Chain, *operations: Operation, signers: tuple[str, ...] = (), garbage: int = 0) -> SignedTransaction:
    """Return a transaction with the signatures of these dev accounts, and `garbage` invalid signatures."""
    trx = signed_transaction(chain, operations, *(derive_secret(name, "active", "dev") for name in signers))
    trx.signatures += (bytes(65),) * garbage
    return chain.state.wire.seal(trx)


def pay(name: str, memo: str = "") -> Transfer:
    """Return a payment from an account to judy."""
    return Transfer(from_=name, to="judy", amount=PAYMENT, memo=memo)


def refused(chain: Chain, trx: SignedTransaction) -> str:
    """Return the text with which a transaction is refused."""
    with pytest.raises(ChainError) as caught:
        chain.push_transaction(trx)
    return caught.value.message(chain.state.spec.spell)


def test_impersonated_accounts_need_no_signature(chain: Chain) -> None:
    assert "Missing Active Authority alice" in refused(chain, transaction(chain, pay("alice")))
    chain.impersonate(["alice"])
    chain.push_transaction(transaction(chain, pay("alice")))
    chain.push_transaction(transaction(chain, pay("alice", "signed"), signers=("alice",)))
    chain.push_transaction(transaction(chain, pay("alice", "too much"), signers=("bob", "carol")))
    chain.push_transaction(transaction(chain, pay("alice", "garbage"), garbage=1))
    owner = AccountUpdate(account="alice", owner=key_authority(bytes([2] * 33)), memo_key=chain.state.account("alice").memo_key)
    chain.push_transaction(transaction(chain, owner))
    make_block(chain)
    assert not chain.pending
    assert chain.state.account("judy").balance == chain.state.account("bob").balance + 4


def test_others_have_to_sign(chain: Chain) -> None:
    chain.impersonate(["alice"])
    assert "Missing Active Authority bob" in refused(chain, transaction(chain, pay("bob")))
    assert "Missing Active Authority bob" in refused(chain, transaction(chain, pay("alice"), pay("bob")))
    assert "Missing Active Authority bob" in refused(chain, transaction(chain, pay("alice"), pay("bob"), signers=("carol",)))
    assert "Unnecessary signature" in refused(chain, transaction(chain, pay("bob"), signers=("bob", "carol")))
    chain.push_transaction(transaction(chain, pay("alice"), pay("bob", "too much"), signers=("bob", "carol")))
    chain.push_transaction(transaction(chain, pay("alice"), pay("bob"), signers=("bob",)))


def test_an_impersonated_member_of_an_authority_has_signed(chain: Chain) -> None:
    state = chain.state
    state.account_authorities.modify(state.authority("alice"), active=Authority(1, (("bob", 1),), ()))
    chain.impersonate(["bob"])
    chain.push_transaction(transaction(chain, pay("alice")))
    assert "Missing Active Authority carol" in refused(chain, transaction(chain, pay("carol")))


def test_everyone(chain: Chain) -> None:
    chain.impersonate(is_everyone=True)
    for name in ("alice", "bob", "initminer"):
        chain.push_transaction(transaction(chain, pay(name)))
    assert "balance" in refused(chain, transaction(chain, Transfer(from_="null", to="judy", amount=PAYMENT))).lower()


def test_accepted_transactions_stay_valid(chain: Chain) -> None:
    """The transactions are still valid when they are reapplied after a block, and when their block moves to another branch."""
    chain.impersonate(["alice"])
    trx = transaction(chain, pay("alice"))
    chain.push_transaction(trx)
    chain.impersonate()
    assert "Missing Active Authority" in refused(chain, transaction(chain, pay("alice", "another")))
    balance = chain.state.account("judy").balance
    block = make_block(chain)
    assert [each.id for each in block.transactions] == [trx.id]
    chain.pop_block()
    chain.push_block(block)
    assert chain.state.account("judy").balance == balance
    with pytest.raises(ChainError, match="Missing Active Authority"):
        copy_of(chain, 2).push_block(block)


def test_a_refused_transaction_is_not_accepted_later(chain: Chain) -> None:
    chain.impersonate(["alice"])
    trx = transaction(chain, Transfer(from_="alice", to="judy", amount=Asset(10**15)))
    assert "balance" in refused(chain, trx).lower()
    chain.impersonate()
    assert "Missing Active Authority" in refused(chain, trx)
    assert not chain.state.impersonated.is_on


def test_the_list_of_impersonated_transactions_is_limited(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.tables.state.ACCEPTED_MAX", 2)
    chain.impersonate(["alice"])
    ids = []
    for i in range(4):
        trx = transaction(chain, pay("alice", str(i)))
        chain.push_transaction(trx)
        ids.append(trx.id)
    assert list(chain.state.impersonated.accepted) == ids[-2:]


def test_accounts_that_can_be_impersonated(chain: Chain) -> None:
    chain.impersonate(["alice"])
    with pytest.raises(ChainError, match="no account"):
        chain.impersonate(["bob", "nobody"])
    with pytest.raises(ChainError, match="can be named"):
        chain.impersonate(["bob"] * (IMPERSONATED_MAX + 1))
    assert chain.state.impersonated.accounts == {"alice"}
    chain.impersonate(["bob"])
    assert chain.state.impersonated.accounts == {"bob"}
    assert "Missing" in refused(chain, transaction(chain, pay("alice")))


def test_signed_transactions_are_taken_as_before(chain: Chain) -> None:
    chain.impersonate(["bob"])
    chain.push_transaction(transfer(chain))
    assert not chain.state.impersonated.accepted
