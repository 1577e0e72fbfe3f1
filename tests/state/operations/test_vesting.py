"""Vesting: power-ups, power-downs, routes, and the weekly payments of a power-down."""

import pytest

from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.chain.steps.withdrawals import process_vesting_withdrawals
from state.operations.vesting import SetWithdrawVestingRoute, TransferToVesting, WithdrawVesting
from state.protocol.constants import COIN_VESTING_WITHDRAW_INTERVAL_SECONDS, TIME_MAX
from state.protocol.errors import ChainError, UnknownKey
from state.protocol.values.asset import COIN, VESTS, Asset
from state.protocol.virtual import FillVestingWithdraw
from state.tables.witnesses import WitnessVote
from tests.helpers.chains import (
    BLOCK,
    MAIN_SPEC,
    NOW,
    add_account,
    add_witness,
    apply,
    chain_at,
    completed,
    move_to,
    push,
    refused,
    set_median,
)

WEEK = COIN_VESTING_WITHDRAW_INTERVAL_SECONDS
TREASURY = "coin.dao"
NO_CHANGE = "This operation would not change the vesting withdraw rate."
TOO_LITTLE = "Account does not have sufficient Coin Power for withdraw."
SMALL = "Account registered by another account requires 10x account creation fee worth of Coin Power before it can be powered down."


@pytest.fixture
def chain() -> Chain:
    chain = chain_at()
    add_account(chain.state, "alice", balance=10_000, vesting_shares=8_000_000_000)
    add_account(chain.state, "bob", vesting_shares=1_000_000_000)
    return chain


def vests(amount: int) -> Asset:
    return Asset(amount, VESTS)


def withdraw(amount: int, account: str = "alice") -> WithdrawVesting:
    return WithdrawVesting(account, vests(amount))


def route(to: str = "bob", percent: int = 5000, auto_vest: bool = False) -> SetWithdrawVestingRoute:
    return SetWithdrawVestingRoute("alice", to, percent, auto_vest)


# ------------------------------------------------------------------ powering up


def test_powering_up_refusals(chain: Chain) -> None:
    assert refused(chain, TransferToVesting("nobody", "", Asset(1, COIN))) == UnknownKey().message()
    assert refused(chain, TransferToVesting("alice", "nobody", Asset(1, COIN))) == UnknownKey().message()
    assert "Can only transfer SBD to coin.dao" in refused(chain, TransferToVesting("alice", TREASURY, Asset(1, COIN)))
    assert "sufficient funds" in refused(chain, TransferToVesting("alice", "", Asset(10_001, COIN)))


def test_powering_up_adds_vests_mana_and_votes(chain: Chain) -> None:
    state = chain.state
    witness = add_witness(state, "bob")
    state.witness_votes.insert(WitnessVote(witness="bob", account="bob"))
    state.accounts.modify(state.account("bob"), witnesses_voted_for=1)
    state.witnesses.modify(witness, votes=1_000_000_000)
    apply(chain, TransferToVesting("alice", "bob", Asset(3_000, COIN)))
    alice, bob = state.account("alice"), state.account("bob")
    assert (alice.balance, bob.vesting_shares) == (7_000, 1_003_000_000)
    assert bob.voting_mana == 1_003_000_000  # full after so long, and what it gained on top
    assert bob.downvote_mana == 250_750_000
    assert witness.votes == 1_003_000_000
    validate_invariants(state)


def test_powering_up_the_treasury_before_hardfork_21() -> None:
    chain = chain_at(20)
    add_account(chain.state, "alice", balance=10_000)
    operation = TransferToVesting("alice", TREASURY, Asset(1, COIN))
    assert "Can only transfer SBD to coin.dao" in refused(chain, operation, by=push)
    apply(chain, operation)


def test_the_treasury_may_power_up_itself() -> None:
    """The rule against powering up the treasury checks `to`. If `to` is empty the rule doesn't apply, although the sender then receives the
    VESTS.
    """
    chain = chain_at(21)
    treasury = chain.state.account(TREASURY)
    chain.state.accounts.modify(treasury, balance=5)
    assert "Can only transfer SBD to coin.dao" in refused(chain, TransferToVesting(TREASURY, TREASURY, Asset(5, COIN)))
    apply(chain, TransferToVesting(TREASURY, "", Asset(5, COIN)))
    assert (treasury.balance, treasury.vesting_shares > 0) == (0, True)


def test_powering_up_before_hardfork_20_leaves_the_mana_alone() -> None:
    chain = chain_at(19)
    alice = add_account(chain.state, "alice", balance=10_000, voting_mana=9_000)
    apply(chain, TransferToVesting("alice", "", Asset(1_000, COIN)))
    assert (alice.voting_mana, alice.voting_mana_time) == (9_000, 0)


# ------------------------------------------------------------------ powering down


def test_powering_down_refusals(chain: Chain) -> None:
    assert refused(chain, withdraw(1, "nobody")) == UnknownKey().message()
    text = refused(chain, withdraw(-1))
    assert text.startswith("Assert Exception:false: Cannot withdraw negative VESTS. account: alice, vests:")
    assert NO_CHANGE in refused(chain, withdraw(0))
    assert TOO_LITTLE in refused(chain, withdraw(8_000_000_001))
    chain.state.accounts.modify(chain.state.account("alice"), delegated_vesting_shares=1)
    assert TOO_LITTLE in refused(chain, withdraw(8_000_000_000))
    apply(chain, withdraw(1_000))
    assert NO_CHANGE in refused(chain, withdraw(999))  # 250 a week as well
    chain.state.accounts.modify(chain.state.account("alice"), vesting_shares=-1)
    assert TOO_LITTLE in refused(chain, withdraw(0))


@pytest.mark.parametrize(
    ("hardfork", "amount", "rate"),
    [
        # operations.md §20 and worked example E17.
        (23, 1, 1),
        (23, 4, 1),
        (23, 5, 2),
        (23, 10, 3),
        (23, 1_000_001, 250_001),
        (23, 1_000_003, 250_001),
        # A power-down takes 13 weeks, rounded up since hardfork 21. Before hardfork 16 it took two years.
        (22, 1_000_003, 76_924),
        (20, 1_000_003, 76_923),
        (16, 12, 1),
        (15, 1_000_003, 9_615),
    ],
)
def test_the_weekly_rate(hardfork: int, amount: int, rate: int) -> None:
    chain = chain_at(hardfork)
    alice = add_account(chain.state, "alice", vesting_shares=8_000_000_000, withdrawn=5)
    apply(chain, withdraw(amount))
    assert (alice.vesting_withdraw_rate, alice.to_withdraw, alice.withdrawn) == (rate, amount, 0)
    assert alice.next_vesting_withdrawal == NOW + WEEK
    assert (alice.voting_mana, alice.voting_mana_time) == (0, 0)
    apply(chain, withdraw(0))
    assert (alice.vesting_withdraw_rate, alice.to_withdraw, alice.next_vesting_withdrawal) == (0, 0, TIME_MAX)


def test_before_hardfork_5_the_rate_may_stay() -> None:
    chain = chain_at(4)
    alice = add_account(chain.state, "alice", vesting_shares=8_000_000_000, mined=True)
    for amount in (1_040, 1_040, 0, 0):
        apply(chain, withdraw(amount))
    assert alice.next_vesting_withdrawal == TIME_MAX


def test_before_hardfork_20_an_account_keeps_ten_fees_of_vests() -> None:
    chain = chain_at(19)
    state = chain.state
    alice = add_account(state, "alice", vesting_shares=8_000_000_000)
    set_median(state, account_creation_fee=800_000)
    assert SMALL in refused(chain, withdraw(1_300))
    state.accounts.modify(alice, vesting_withdraw_rate=5)
    apply(chain, withdraw(0))  # since hardfork 16 it may stop
    set_median(state, account_creation_fee=799_999)
    apply(chain, withdraw(1_300))
    state.accounts.modify(alice, mined=True)
    set_median(state, account_creation_fee=10_000_000)
    apply(chain, withdraw(2_600))


def test_before_hardfork_16_ending_a_power_down_has_a_minimum() -> None:
    chain = chain_at(15)
    alice = add_account(chain.state, "alice", vesting_shares=8_000_000_000, vesting_withdraw_rate=5)
    set_median(chain.state, account_creation_fee=800_000)
    assert SMALL in refused(chain, withdraw(0))
    set_median(chain.state, account_creation_fee=0)
    apply(chain, withdraw(0))
    assert alice.vesting_withdraw_rate == 0


def test_a_negative_amount_once_did_nothing_on_the_public_chain() -> None:
    chain = chain_at(18, MAIN_SPEC, number=23_847_548)
    alice = add_account(chain.state, "alice", vesting_shares=8_000_000_000, vesting_withdraw_rate=5)
    apply(chain, withdraw(-1))
    assert alice.vesting_withdraw_rate == 5
    chain.state.set_props(head_block_number=23_847_549)
    assert "Cannot withdraw negative VESTS" in refused(chain, withdraw(-1))


# ------------------------------------------------------------------ routes


def test_route_refusals(chain: Chain) -> None:
    assert refused(chain, SetWithdrawVestingRoute("nobody", "bob", 1, False)) == UnknownKey().message()
    assert refused(chain, route("nobody")) == UnknownKey().message()
    assert "Cannot withdraw vesting to coin.dao" in refused(chain, route(TREASURY))
    assert "Cannot create a 0% destination." in refused(chain, route(percent=0))
    apply(chain, route(percent=6000))
    too_much = "More than 100% of vesting withdrawals allocated to destinations."
    assert too_much in refused(chain, route("alice", 4001))
    assert too_much in refused(chain, route(percent=10_000), route("alice", 1))
    apply(chain, route("alice", 4000))


def test_routes_are_made_changed_and_removed(chain: Chain) -> None:
    state = chain.state
    apply(chain, route(), route("alice", 100, True))
    alice = state.account("alice")
    assert alice.withdraw_routes == 2
    apply(chain, route(percent=7, auto_vest=True))
    row = state.withdraw_routes.by_withdraw_route.find("alice", "bob")
    assert (row.percent, row.auto_vest) == (7, True)
    apply(chain, route(percent=0))
    assert [row.to_account for row in state.withdraw_routes] == ["alice"]
    assert alice.withdraw_routes == 1


def test_there_are_ten_routes_at_most(chain: Chain) -> None:
    for i in range(11):
        add_account(chain.state, f"target{i}")
    for i in range(10):
        apply(chain, route(f"target{i}", 1))
    assert "Account already has the maximum number of routes." in refused(chain, route("target10", 1))
    apply(chain, route("target3", 2))


def test_routes_to_the_treasury_before_hardfork_21() -> None:
    chain = chain_at(20)
    add_account(chain.state, "alice")
    assert "Cannot withdraw vesting to coin.dao" in refused(chain, route(TREASURY), by=push)
    apply(chain, route(TREASURY))


# ------------------------------------------------------------------ payments


def test_a_power_down_is_paid_weekly_and_ends(chain: Chain) -> None:
    """Worked example E17, up to the last payment."""
    state = chain.state
    events = completed(state, FillVestingWithdraw)
    apply(chain, withdraw(1_000_003))
    alice = state.account("alice")
    for week in range(1, 5):
        move_to(state, NOW + week * WEEK - 1)
        process_vesting_withdrawals(state, BLOCK)
        move_to(state, NOW + week * WEEK)
        process_vesting_withdrawals(state, BLOCK)
        validate_invariants(state)
    assert [notice.withdrawn.amount for notice in events if isinstance(notice, FillVestingWithdraw)] == [250_001] * 3 + [250_000]
    assert (alice.vesting_shares, alice.withdrawn) == (8_000_000_000 - 1_000_003, 1_000_003)
    assert (alice.vesting_withdraw_rate, alice.next_vesting_withdrawal) == (0, TIME_MAX)
    assert alice.balance == 10_000 + 4 * 250


def test_routes_share_in_a_payment(chain: Chain) -> None:
    state = chain.state
    add_account(state, "carol", vesting_shares=1_000_000_000)  # votes for nobody: a witness can't have more votes than there are
    events = completed(state, FillVestingWithdraw)
    witness = add_witness(state, "bob")
    for name, weight in (("alice", 8_000_000_000), ("bob", 1_000_000_000)):
        state.witness_votes.insert(WitnessVote(witness="bob", account=name))
        state.accounts.modify(state.account(name), witnesses_voted_for=1)
        state.witnesses.modify(witness, votes=witness.votes + weight)
    apply(chain, withdraw(4_000_000_000), route("carol", 2_500), route("bob", 3_333, True), route("alice", 1, True))
    move_to(state, NOW + WEEK)
    process_vesting_withdrawals(state, BLOCK)
    to_bob, to_carol, to_alice = 333_300_000, 250_000_000, 100_000
    rest = 1_000_000_000 - to_bob - to_carol - to_alice
    assert events == [
        FillVestingWithdraw("alice", "alice", vests(to_alice), vests(to_alice)),
        FillVestingWithdraw("alice", "bob", vests(to_bob), vests(to_bob)),
        FillVestingWithdraw("alice", "carol", vests(to_carol), Asset(250_000, COIN)),
        FillVestingWithdraw("alice", "alice", vests(rest), Asset(rest // 1000, COIN)),
    ]
    alice, bob, carol = (state.account(name) for name in ("alice", "bob", "carol"))
    assert bob.vesting_shares == 1_000_000_000 + to_bob
    assert (bob.voting_mana, bob.voting_mana_time) == (0, 0)  # routes don't touch mana
    assert carol.balance == 250_000
    assert alice.vesting_shares == 8_000_000_000 - 1_000_000_000 + to_alice
    assert witness.votes == alice.vesting_shares + bob.vesting_shares
    validate_invariants(state)


def test_a_route_can_lift_a_witness_above_all_vests_for_a_moment(chain: Chain) -> None:
    """A route's share is credited to the receiver before it is subtracted from the sender. If all VESTS vote for the witness, the reference
    refuses the block.
    """
    state = chain.state
    witness = add_witness(state, "bob", votes=9_000_000_000)
    for name in ("alice", "bob"):
        state.witness_votes.insert(WitnessVote(witness="bob", account=name))
    apply(chain, withdraw(4_000), route(auto_vest=True))
    move_to(state, NOW + WEEK)
    with pytest.raises(ChainError, match="total_vesting_shares"):
        process_vesting_withdrawals(state, BLOCK)
    assert witness.votes == 9_000_000_000


def test_routes_can_take_the_whole_payment(chain: Chain) -> None:
    state = chain.state
    events = completed(state, FillVestingWithdraw)
    apply(chain, withdraw(4_000), route("bob", 10_000))
    move_to(state, NOW + WEEK)
    process_vesting_withdrawals(state, BLOCK)
    assert events[-1] == FillVestingWithdraw("alice", "alice", vests(0), Asset(0, COIN))
    assert state.account("alice").balance == 10_000
    validate_invariants(state)


def test_an_emptied_account_stops(chain: Chain) -> None:
    state = chain.state
    bob = state.account("bob")
    state.accounts.modify(bob, vesting_withdraw_rate=600_000_000, to_withdraw=2_400_000_000, next_vesting_withdrawal=NOW)
    process_vesting_withdrawals(state, BLOCK)
    assert (bob.vesting_shares, bob.next_vesting_withdrawal) == (400_000_000, NOW + WEEK)
    move_to(state, NOW + WEEK)
    process_vesting_withdrawals(state, BLOCK)
    assert (bob.vesting_shares, bob.vesting_withdraw_rate, bob.next_vesting_withdrawal) == (0, 0, TIME_MAX)


def test_after_a_long_gap_a_lone_account_is_paid_once_and_two_catch_up(chain: Chain) -> None:
    """The block step finds the next due account before it reschedules the current account. A lone due account is therefore paid once, while
    two due accounts are paid in turn until they have caught up.
    """
    state = chain.state
    alice, bob = state.account("alice"), state.account("bob")
    state.accounts.modify(alice, vesting_withdraw_rate=1_000, to_withdraw=4_000, next_vesting_withdrawal=NOW)
    move_to(state, NOW + 3 * WEEK)
    process_vesting_withdrawals(state, BLOCK)
    assert (alice.withdrawn, alice.next_vesting_withdrawal) == (1_000, NOW + WEEK)
    state.accounts.modify(bob, vesting_withdraw_rate=1_000, to_withdraw=4_000, next_vesting_withdrawal=NOW + WEEK + 1)
    process_vesting_withdrawals(state, BLOCK)
    assert (alice.withdrawn, alice.next_vesting_withdrawal) == (4_000, TIME_MAX)
    assert (bob.withdrawn, bob.next_vesting_withdrawal) == (2_000, NOW + 3 * WEEK + 1)


def test_each_conversion_has_the_current_price(chain: Chain) -> None:
    """Rounding makes each of the remaining VESTS worth slightly more, so each payment of a power-down has a different price."""
    state = chain.state
    state.set_props(total_vesting_fund_coin=9_999_999)
    add_account(state, "carol")
    apply(chain, withdraw(4_000_000), route("carol", 5_000))
    total, fund = state.props.total_vesting_shares, state.props.total_vesting_fund_coin
    move_to(state, NOW + WEEK)
    process_vesting_withdrawals(state, BLOCK)
    first = 500_000 * fund // total
    second = 500_000 * (fund - first) // (total - 500_000)
    assert state.account("carol").balance == first
    assert state.account("alice").balance == 10_000 + second
    assert state.props.total_vesting_fund_coin == fund - first - second
    assert state.props.total_vesting_shares == total - 1_000_000
