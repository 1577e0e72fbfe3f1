"""Delegations: the amount that an account can delegate, manabars, and the return of VESTS after a delegation is removed."""

from typing import Any

import pytest

from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.chain.steps.heads import clear_expired_delegations
from state.operations.vesting import DelegateVestingShares
from state.protocol.constants import COIN_HF_21_STALL_BLOCK
from state.protocol.errors import UnknownKey
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import VESTS, Asset
from state.protocol.virtual import ReturnVestingDelegation
from state.tables.accounts import Account
from tests.helpers.chains import NOW, add_account, apply, chain_at, completed, move_to, refused, set_median

OWN = 8_000_000_000
RETURN_PERIOD = 432_000


def lending_chain(hardfork: int = 23, **fields: Any) -> Chain:
    """A chain with `alice`, who has VESTS and full manabars, and `bob`, who has none."""
    chain = chain_at(hardfork)
    add_account(chain.state, "alice", vesting_shares=OWN, **fields)
    add_account(chain.state, "bob")
    return chain


@pytest.fixture
def chain() -> Chain:
    return lending_chain()


def delegate(shares: int, delegatee: str = "bob", delegator: str = "alice") -> DelegateVestingShares:
    return DelegateVestingShares(delegator, delegatee, Asset(shares, VESTS))


def bars(account: Account) -> tuple[int, int]:
    return account.voting_mana, account.downvote_mana


def amount(text: str, label: str) -> int:
    """Return the number that follows a label in a refusal's text."""
    return int(text.split(f'{label}: {{"amount":"')[1].split('"')[0])


# ------------------------------------------------------------------ refusals


def test_both_accounts_must_exist(chain: Chain) -> None:
    assert refused(chain, delegate(1, delegator="nobody")) == UnknownKey().message()
    assert refused(chain, delegate(1, delegatee="nobody")) == UnknownKey().message()


def test_only_owned_vests_can_be_delegated(chain: Chain) -> None:
    text = refused(chain, delegate(OWN + 1))
    assert "Account alice does not have enough mana to delegate. required: " in text
    assert (amount(text, "required"), amount(text, "available")) == (OWN + 1, OWN)
    apply(chain, delegate(OWN - 10))
    text = refused(chain, delegate(OWN + 1))
    assert (amount(text, "required"), amount(text, "available")) == (11, 10)


def test_used_mana_cannot_be_delegated(chain: Chain) -> None:
    state = chain.state
    alice = state.account("alice")
    state.accounts.modify(alice, voting_mana=OWN - 100, voting_mana_time=NOW, downvote_mana=OWN // 4, downvote_mana_time=NOW)
    assert "enough mana to delegate" in refused(chain, delegate(OWN - 99))
    state.accounts.modify(alice, voting_mana=OWN, downvote_mana=OWN // 4 - 100)
    text = refused(chain, delegate(OWN - 396))
    assert "Account alice does not have enough downvote mana to delegate. required: " in text
    assert amount(text, "available") == OWN - 397  # 400 less, rounded up by 3
    apply(chain, delegate(OWN - 1_000))
    assert bars(alice) == (1_000, 150)
    assert "enough downvote mana" in refused(chain, delegate(OWN - 396))
    apply(chain, delegate(OWN - 397))


def test_without_a_downvote_pool_there_is_one_bar(chain: Chain) -> None:
    chain.state.set_props(downvote_pool_percent=0)
    assert "enough mana to delegate" in refused(chain, delegate(OWN + 1))
    apply(chain, delegate(OWN))


def test_received_vests_are_not_lent_but_count_as_used_first(chain: Chain) -> None:
    state = chain.state
    add_account(state, "carol", vesting_shares=1_000)
    apply(chain, delegate(1_000, "alice", "carol"))
    text = refused(chain, delegate(OWN + 1))
    assert amount(text, "available") == OWN
    alice = state.account("alice")
    state.accounts.modify(alice, voting_mana=OWN, downvote_mana=OWN // 4)
    apply(chain, delegate(OWN))
    assert bars(alice) == (0, 0)


def test_vests_being_powered_down_cannot_be_delegated(chain: Chain) -> None:
    alice = chain.state.account("alice")
    chain.state.accounts.modify(alice, vesting_withdraw_rate=1_000, to_withdraw=4_000, withdrawn=500, next_vesting_withdrawal=NOW + 60)
    assert amount(refused(chain, delegate(OWN)), "available") == OWN - 3_500
    chain.state.accounts.modify(alice, withdrawn=3_600)  # in the last week the bar leaves out all of it
    assert amount(refused(chain, delegate(OWN)), "available") == OWN - 400
    apply(chain, delegate(OWN - 400))


def test_delegations_have_a_minimum_and_steps(chain: Chain) -> None:
    set_median(chain.state, account_creation_fee=3_000)
    assert "Account must delegate a minimum of " in refused(chain, delegate(999_999))
    apply(chain, delegate(1_000_000))
    assert "Coin Power increase is not enough of a difference. min_update: " in refused(chain, delegate(1_099_999))
    apply(chain, delegate(1_100_000))
    assert "Coin Power decrease is not enough of a difference. min_update: " in refused(chain, delegate(1_000_001))
    apply(chain, delegate(2_000_000))
    assert "Delegation must be removed or leave minimum delegation amount of " in refused(chain, delegate(999_999))
    apply(chain, delegate(1_000_000), delegate(0))
    assert len(chain.state.vesting_delegations) == 0


def test_the_step_is_checked_before_the_mana(chain: Chain) -> None:
    set_median(chain.state, account_creation_fee=20_000_000)
    apply(chain, delegate(OWN))
    assert "increase is not enough" in refused(chain, delegate(OWN + 1))


# ------------------------------------------------------------------ effects


def test_a_new_delegation(chain: Chain) -> None:
    state = chain.state
    apply(chain, delegate(1_000_000))
    alice, bob = state.account("alice"), state.account("bob")
    assert (alice.delegated_vesting_shares, bob.received_vesting_shares) == (1_000_000, 1_000_000)
    assert bars(alice) == (OWN - 1_000_000, OWN // 4 - 250_000)
    assert bars(bob) == (1_000_000, 250_000)
    assert {alice.voting_mana_time, alice.downvote_mana_time, bob.voting_mana_time, bob.downvote_mana_time} == {NOW}
    row = state.vesting_delegations.by_delegation.find("alice", "bob")
    assert (row.vesting_shares, row.min_delegation_time) == (1_000_000, NOW)
    validate_invariants(state)


def test_more_and_less(chain: Chain) -> None:
    state = chain.state
    alice, bob = state.account("alice"), state.account("bob")
    apply(chain, delegate(1_000_000))
    move_to(state, NOW + 60)
    apply(chain, delegate(1_400_000))
    row = state.vesting_delegations.by_delegation.find("alice", "bob")
    assert (row.vesting_shares, row.min_delegation_time) == (1_400_000, NOW)
    assert (alice.delegated_vesting_shares, bob.received_vesting_shares) == (1_400_000, 1_400_000)
    assert bars(bob) == (1_400_000, 350_000)
    state.accounts.modify(bob, voting_mana=300_000, downvote_mana=10_000)
    apply(chain, delegate(1_000_000))
    assert (alice.delegated_vesting_shares, bob.received_vesting_shares) == (1_400_000, 1_000_000)
    assert bars(bob) == (0, 0)
    expiration = next(iter(state.delegation_expirations))
    assert (expiration.delegator, expiration.vesting_shares, expiration.expiration) == ("alice", 400_000, NOW + 60 + RETURN_PERIOD)
    validate_invariants(state)
    apply(chain, delegate(0))
    assert len(state.vesting_delegations) == 0
    assert bob.received_vesting_shares == 0
    validate_invariants(state)


def test_nothing_can_be_delegated_again_and_again(chain: Chain) -> None:
    """Without a creation fee there is no minimum amount, so an empty delegation can be repeated."""
    for _ in range(3):
        apply(chain, delegate(0))
    assert [row.vesting_shares for row in chain.state.vesting_delegations] == [0]


def test_a_delegation_stays_for_its_minimum_time(chain: Chain) -> None:
    state = chain.state
    apply(chain, delegate(1_000_000))
    row = state.vesting_delegations.by_delegation.find("alice", "bob")
    state.vesting_delegations.modify(row, min_delegation_time=NOW + 2_592_000)
    apply(chain, delegate(0))
    assert [expiration.expiration for expiration in state.delegation_expirations] == [NOW + 2_592_000]


def test_removed_delegations_return_with_mana(chain: Chain) -> None:
    state = chain.state
    events = completed(state, ReturnVestingDelegation)
    alice = state.account("alice")
    apply(chain, delegate(1_000_000), delegate(0))
    move_to(state, NOW + RETURN_PERIOD)
    clear_expired_delegations(state, SignedBlock(timestamp=NOW + RETURN_PERIOD))
    assert events == []
    state.accounts.modify(alice, voting_mana=100, voting_mana_time=NOW + RETURN_PERIOD + 1)
    state.accounts.modify(alice, downvote_mana=0, downvote_mana_time=NOW + RETURN_PERIOD + 1)
    move_to(state, NOW + RETURN_PERIOD + 1)
    clear_expired_delegations(state, SignedBlock(timestamp=NOW + RETURN_PERIOD + 1))
    assert events == [ReturnVestingDelegation("alice", Asset(1_000_000, VESTS))]
    assert bars(alice) == (1_000_100, 250_000)
    assert alice.delegated_vesting_shares == 0
    assert len(state.delegation_expirations) == 0
    validate_invariants(state)


# ------------------------------------------------------------------ earlier rules


def test_under_hardfork_21_downvotes_paid_the_whole_amount() -> None:
    chain = lending_chain(21)
    state = chain.state
    alice, bob = state.account("alice"), state.account("bob")
    apply(chain, delegate(1_000_000))
    assert bars(alice) == (OWN - 1_000_000, OWN // 4 - 1_000_000)
    assert bars(bob) == (1_000_000, 250_000)
    move_to(state, NOW + 60)
    state.accounts.modify(bob, downvote_mana=900_000)
    apply(chain, delegate(600_000))
    assert bars(bob) == (600_000, 300_000)  # the rest of the delegation was taken from the downvote bar
    assert bob.voting_mana_time == NOW  # and the bars were not brought up to now


def test_under_hardfork_21_the_downvote_product_wrapped() -> None:
    chain = lending_chain(21)
    state = chain.state
    huge = 10**15
    state.accounts.modify(state.account("alice"), vesting_shares=3 * huge, downvote_mana=huge, downvote_mana_time=NOW)
    state.set_props(downvote_pool_percent=5_000, head_block_number=COIN_HF_21_STALL_BLOCK + 1)
    # 10^15 * 10^4 exceeds 2^63 and becomes negative.
    text = refused(chain, delegate(1))
    assert amount(text, "available") == -((2**64 - 10**19) // 5_000) + 1


def test_under_hardfork_20_there_was_one_bar() -> None:
    chain = lending_chain(20)
    state = chain.state
    alice, bob = state.account("alice"), state.account("bob")
    assert "enough mana to delegate" in refused(chain, delegate(OWN + 1))
    apply(chain, delegate(1_000_000))
    assert (bars(alice), bars(bob)) == ((OWN - 1_000_000, 0), (1_000_000, 0))
    move_to(state, NOW + 60)
    apply(chain, delegate(400_000))
    assert (bars(bob), bob.voting_mana_time) == ((400_000, 0), NOW)


def test_before_hardfork_20_free_vests_counted() -> None:
    chain = lending_chain(19, delegated_vesting_shares=1_000, to_withdraw=500, withdrawn=100, voting_mana=9_000)
    state = chain.state
    alice, bob = state.account("alice"), state.account("bob")
    assert amount(refused(chain, delegate(OWN)), "available") == OWN - 1_400
    set_median(state, account_creation_fee=30)
    assert "Account must delegate a minimum of" in refused(chain, delegate(299_999))
    apply(chain, delegate(300_000))
    assert "increase is not enough" in refused(chain, delegate(329_999))
    apply(chain, delegate(330_000), delegate(300_000))
    assert (bars(alice), bars(bob), bob.voting_mana_time) == ((9_000, 0), (0, 0), 0)
    assert bob.received_vesting_shares == 300_000
    period = state.props.delegation_return_period
    assert [expiration.expiration for expiration in state.delegation_expirations] == [NOW + period]
    move_to(state, NOW + period + 1)
    clear_expired_delegations(state, SignedBlock(timestamp=NOW + period + 1))
    assert (alice.delegated_vesting_shares, bars(alice)) == (301_000, (9_000, 0))
