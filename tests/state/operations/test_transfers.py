"""Transfers and savings: refusals, effects, and the delay of withdrawals from savings."""

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.chain.steps.withdrawals import process_savings_withdraws
from state.operations.transfers import CancelTransferFromSavings, Transfer, TransferFromSavings, TransferToSavings
from state.protocol.constants import COIN_PROTECTION_HARDFORK_TIME231, COIN_SAVINGS_WITHDRAW_TIME, HIVE_TREASURY_ACCOUNT
from state.protocol.errors import UnknownKey
from state.protocol.values.asset import COIN, SBD, Asset
from state.protocol.virtual import FillTransferFromSavings, Interest
from state.tables.payments import SavingsWithdraw
from tests.helpers.chains import BLOCK, NOW, TEST_SPEC, add_account, apply, chain_at, completed, move_to, push, refused

TREASURY = "coin.dao"


@pytest.fixture
def chain() -> Chain:
    chain = chain_at()
    add_account(chain.state, "alice", balance=10_000, sbd_balance=5_000, savings_balance=7_000, savings_sbd_balance=3_000)
    add_account(chain.state, "bob")
    return chain


def to_savings(**changes: object) -> TransferToSavings:
    return structs.replace(TransferToSavings("alice", "bob", Asset(400, COIN), "note"), **changes)


def from_savings(**changes: object) -> TransferFromSavings:
    return structs.replace(TransferFromSavings("alice", 1, "bob", Asset(400, COIN), "note"), **changes)


@pytest.mark.parametrize(
    ("name", "time"),
    [
        (HIVE_TREASURY_ACCOUNT, COIN_PROTECTION_HARDFORK_TIME231),
        (min(TEST_SPEC.protected_accounts), TEST_SPEC.constants.COIN_PROTECTION_HARDFORK_TIME),
    ],
)
def test_accounts_are_locked_from_a_time_on(chain: Chain, name: str, time: int) -> None:
    add_account(chain.state, name, balance=2)
    payment = Transfer(name, "bob", Asset(1, COIN))
    chain.state.set_props(time=time - 1)
    apply(chain, payment)
    chain.state.set_props(time=time)
    assert refused(chain, payment).endswith("TX has been rejected.")


def test_a_transfer_needs_funds_a_receiver_and_sbd_for_the_treasury(chain: Chain) -> None:
    text = refused(chain, Transfer("alice", "bob", Asset(10_001, COIN), ""))
    assert "Account alice does not have sufficient funds for balance adjustment. Required: " in text
    assert refused(chain, Transfer("alice", "nobody", Asset(1, COIN), "")) == UnknownKey().message()
    assert "Can only transfer SBD to coin.dao" in refused(chain, Transfer("alice", TREASURY, Asset(1, COIN), ""))
    apply(chain, Transfer("alice", TREASURY, Asset(1, SBD), ""))
    assert chain.state.account(TREASURY).sbd_balance == 1


def test_the_treasury_is_open_before_hardfork_21_except_for_pushes() -> None:
    chain = chain_at(20)
    add_account(chain.state, "alice", balance=1_000, savings_balance=1_000)
    for operation, text in (
        (Transfer("alice", TREASURY, Asset(1, COIN), ""), "Can only transfer SBD to coin.dao"),
        (to_savings(to=TREASURY), "Cannot transfer savings to coin.dao"),
        (from_savings(to=TREASURY), "Can only transfer SBD to coin.dao"),
    ):
        assert text in refused(chain, operation, by=push)
        apply(chain, operation)


def test_transfer_to_savings_refusals(chain: Chain) -> None:
    assert refused(chain, to_savings(from_="nobody")) == UnknownKey().message()
    assert refused(chain, to_savings(to="nobody")) == UnknownKey().message()
    assert "Cannot transfer savings to coin.dao" in refused(chain, to_savings(to=TREASURY, amount=Asset(1, SBD)))
    assert "sufficient funds" in refused(chain, to_savings(amount=Asset(5_001, SBD)))


def test_transfer_to_savings_moves_funds(chain: Chain) -> None:
    apply(chain, to_savings(), to_savings(to="alice", amount=Asset(500, SBD)))
    alice, bob = chain.state.account("alice"), chain.state.account("bob")
    assert (alice.balance, alice.savings_balance, bob.savings_balance) == (9_600, 7_000, 400)
    assert (alice.sbd_balance, alice.savings_sbd_balance) == (4_500, 3_500)
    assert alice.savings_sbd_seconds_last_update == NOW
    validate_invariants(chain.state)


def test_transfer_from_savings_refusals(chain: Chain) -> None:
    assert refused(chain, from_savings(from_="nobody")) == UnknownKey().message()
    assert refused(chain, from_savings(to="nobody")) == UnknownKey().message()
    assert "Can only transfer SBD to coin.dao" in refused(chain, from_savings(to=TREASURY))
    text = refused(chain, from_savings(amount=Asset(7_001, COIN)))
    assert text.endswith("_db.get_savings_balance( from, op.amount.symbol ) >= op.amount: ")
    assert text == refused(chain, from_savings(amount=Asset(3_001, SBD)))
    apply(chain, from_savings())
    assert "uniqueness constraint" in refused(chain, from_savings())
    chain.state.accounts.modify(chain.state.account("alice"), savings_withdraw_requests=100)
    assert "Account has reached limit for pending withdraw requests." in refused(chain, from_savings(request_id=2))


def test_transfer_from_savings_waits(chain: Chain) -> None:
    apply(chain, from_savings(), from_savings(request_id=7, amount=Asset(3_000, SBD), to="alice"))
    state = chain.state
    alice = state.account("alice")
    assert (alice.savings_balance, alice.savings_sbd_balance, alice.savings_withdraw_requests) == (6_600, 0, 2)
    row = state.savings_withdraws.by_from_rid.find("alice", 1)
    assert (row.to, row.amount, row.memo, row.complete) == ("bob", Asset(400, COIN), "note", NOW + COIN_SAVINGS_WITHDRAW_TIME)
    validate_invariants(state)


def test_cancelling_returns_the_amount_to_the_savings(chain: Chain) -> None:
    assert refused(chain, CancelTransferFromSavings("alice", 1)) == UnknownKey().message()
    apply(chain, from_savings(), from_savings(request_id=2, amount=Asset(5, SBD)))
    assert refused(chain, CancelTransferFromSavings("bob", 1)) == UnknownKey().message()
    apply(chain, CancelTransferFromSavings("alice", 1))
    alice = chain.state.account("alice")
    assert (alice.savings_balance, alice.savings_withdraw_requests) == (7_000, 1)
    assert [row.request_id for row in chain.state.savings_withdraws] == [2]
    validate_invariants(chain.state)


def test_withdrawals_arrive_when_they_are_complete(chain: Chain) -> None:
    state = chain.state
    events = completed(state, FillTransferFromSavings)
    apply(chain, from_savings(request_id=9), from_savings(amount=Asset(5, SBD)))
    move_to(state, NOW + 3)
    apply(chain, from_savings(request_id=2))
    move_to(state, NOW + COIN_SAVINGS_WITHDRAW_TIME - 1)
    process_savings_withdraws(state, BLOCK)
    assert events == []
    move_to(state, NOW + COIN_SAVINGS_WITHDRAW_TIME)
    process_savings_withdraws(state, BLOCK)
    assert events == [
        FillTransferFromSavings("alice", "bob", Asset(5, SBD), 1, "note"),
        FillTransferFromSavings("alice", "bob", Asset(400, COIN), 9, "note"),
    ]
    bob, alice = state.account("bob"), state.account("alice")
    assert (bob.balance, bob.sbd_balance, alice.savings_withdraw_requests) == (400, 5, 1)
    assert [row.request_id for row in state.savings_withdraws] == [2]
    validate_invariants(state)


def test_savings_earn_interest_when_they_move(chain: Chain) -> None:
    """Worked example E12: interest on 31.903 SBD for 2,592,003 seconds at 10 %."""
    state = chain.state
    events = completed(state, Interest)
    state.set_props(sbd_interest_rate=1000)
    saver = add_account(
        state, "saver", savings_sbd_balance=31_903, savings_sbd_seconds_last_update=NOW, savings_sbd_last_interest_payment=NOW
    )
    move_to(state, NOW + 2_592_003)
    apply(chain, TransferFromSavings("saver", 1, "bob", Asset(3, SBD), ""))
    assert saver.savings_sbd_balance == 31_903 + 262 - 3
    assert events == [Interest("saver", Asset(262, SBD))]
    assert (saver.savings_sbd_seconds, saver.savings_sbd_last_interest_payment) == (0, NOW + 2_592_003)
    validate_invariants(state)


def test_request_ids_are_independent_of_the_limit_of_requests(chain: Chain) -> None:
    """An account can have at most a hundred pending requests, but their ids can be any numbers."""
    for number in range(100):
        apply(chain, from_savings(request_id=2**32 - 1 - number, amount=Asset(1, COIN)))
    assert "reached limit" in refused(chain, from_savings(request_id=0))
    apply(chain, CancelTransferFromSavings("alice", 2**32 - 1))
    apply(chain, from_savings(request_id=0))
    assert isinstance(chain.state.savings_withdraws.by_from_rid.find("alice", 0), SavingsWithdraw)
