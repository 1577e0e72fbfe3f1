"""Overflows of plugins' numbers. Changes made before an overflow remain, as in the reference, and the chain continues."""

from typing import Any

import pytest

from state.operations.content import Vote
from state.operations.custom import Custom
from state.operations.market import LimitOrderCreate
from state.operations.vesting import TransferToVesting
from state.plugins import market_history, reputation
from state.plugins.market_history import MARKET_HISTORY, Bucket, BucketSide, MarketHistory
from state.plugins.rc.accounts import regenerate_before
from state.plugins.rc.plugin import RC, take
from state.plugins.rc.prices import cost
from state.plugins.rc.rows import maximum_rc
from state.plugins.rc.usage import usage_of
from state.plugins.reputation import REPUTATION
from state.protocol.errors import ChainError, DivisionByZero, IntegerOverflow
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, SBD, Asset
from state.protocol.virtual import FillOrder
from state.tables import State
from tests.helpers.chains import NOW, add_account, add_comment, apply, chain_at, move_to, push
from tests.state.plugins.rc.test_plugin import bar, chain_with_credits

MOST = 2**63 - 1
DAY = 86_400

# ------------------------------------------------------------------ credits


@pytest.mark.parametrize(
    ("fields", "adjustment", "most"),
    [
        ({"vesting_shares": MOST}, 5, MOST),
        # The sum saturates before the power-down is subtracted.
        ({"vesting_shares": MOST, "next_vesting_withdrawal": 1, "vesting_withdraw_rate": 7, "to_withdraw": 100}, 5, MOST - 7),
        ({"vesting_shares": MOST - 5, "next_vesting_withdrawal": 1, "vesting_withdraw_rate": 7, "to_withdraw": 6}, 5, MOST - 6),
        ({"vesting_shares": MOST - 9, "delegated_vesting_shares": 4, "received_vesting_shares": 20}, -1, MOST - 1),
        ({"vesting_shares": 2**62, "received_vesting_shares": 1}, 1, 2**62 + 2),
        ({"vesting_shares": 10, "delegated_vesting_shares": 4, "received_vesting_shares": 20}, -1, 25),
    ],
)
def test_the_size_of_a_bar(fields: dict[str, Any], adjustment: int, most: int) -> None:
    assert maximum_rc(add_account(chain_at().state, "alice", **fields), adjustment) == most


def test_bar_whose_regeneration_exceeds_64_bits() -> None:
    """For an account with 3/4 of 2^63 VESTS, the regeneration over ten days overflows, so no transaction is charged and the credits don't
    change.
    """
    chain = chain_with_credits(20, 3 * 2**61)
    state, row = chain.state, bar(chain.state)
    RC.of(state).accounts.modify(row, mana=5, mana_time=NOW)
    move_to(state, NOW + 10 * DAY)
    for by in (push, apply):
        by(chain, Custom(("alice",), 1, b""))
        assert (row.mana, row.mana_time) == (5, NOW)
    # Before an operation on VESTS a listener updates the credits. The error ends only this listener.
    with pytest.raises(ChainError) as caught:
        regenerate_before(state, RC.of(state), TransferToVesting("alice", "", Asset(1)))
    assert caught.value.message() == "Assert Exception:u_regen <= std::numeric_limits< int64_t >::max(): rethrow"
    apply(chain, TransferToVesting("alice", "", Asset(1)))
    assert row.mana_time == NOW
    move_to(state, NOW + 6 * DAY)
    apply(chain, Custom(("alice",), 1, b""))
    assert row.mana_time == NOW + 6 * DAY


def test_costs_that_leave_64_bits() -> None:
    usage, unused = (1, 1, 0, 0, 0), ((1, 1),) * 3
    assert cost(((2**62, 1), (2**62 - 3, 1), *unused), usage) == MOST
    assert cost(((2**62, 1), (2**62 - 2, 1), *unused), usage) == -(2**63)
    assert cost(((2**64 - 1, 1), *unused, (1, 1)), (1, 0, 0, 0, 0)) == 0
    with pytest.raises(ChainError, match=r"^Assert Exception:hi == 0: $"):
        cost(((2**64, 1), *unused, (1, 1)), (1, 0, 0, 0, 0))
    for place in range(5):
        rates = tuple((1, int(i != place)) for i in range(5))
        with pytest.raises(DivisionByZero, match=r"^Division by zero\.:Division by zero\.: $"):
            cost(rates, (1, 1, 1, 1, 1))


@pytest.mark.parametrize("by", [push, apply])
def test_a_price_that_leaves_64_bits(by: Any) -> None:
    """If the price of a resource can't be computed, the transaction is free."""
    chain = chain_with_credits()
    data, row = RC.of(chain.state), bar(chain.state)
    mana = row.mana
    assert data.price(chain.state, usage_of(SignedTransaction(operations=(Custom(("alice",), 1, b""),), size=1))) > 0
    data._rates = ((2**64, 1), *((1, 1),) * 4)
    by(chain, Custom(("alice",), 1, b""))
    assert row.mana == mana


def test_a_price_that_has_wrapped_below_zero() -> None:
    """A negative price adds credits to the payer, up to the maximum of 64 bits. Every account can pay it."""
    chain = chain_with_credits()
    state, row, alice = chain.state, bar(chain.state), chain.state.account("alice")
    data, most = RC.of(state), maximum_rc(alice, row.adjustment)
    with state.pushing():
        take(state, data, row, alice, -5)
        assert row.mana == most + 5
        take(state, data, row, alice, -(2**63))
        assert row.mana == MOST
        data.accounts.modify(row, mana=-10)
        take(state, data, row, alice, -7)
        assert row.mana == -3


# ------------------------------------------------------------------ trades


def market() -> tuple[State, MarketHistory]:
    """A market without trades, and its plugin data."""
    state = chain_at(plugins=[MARKET_HISTORY.name]).state
    data = MARKET_HISTORY.of(state)
    return state, data


def trade(coin: int, sbd: int) -> FillOrder:
    """Return the virtual operation of a trade. The newer order pays COIN, the older one SBD."""
    return FillOrder("alice", 1, Asset(coin, COIN), "bob", 1, Asset(sbd, SBD))


def bucket(state: State, seconds: int) -> Bucket:
    """Return the open bucket of this size."""
    return market_history.buckets(state, seconds, 0, 2**32)[-1]


def test_a_volume_of_sbd_that_overflows() -> None:
    state, data = market()
    data.record(state, trade(2, MOST - 1))
    with pytest.raises(IntegerOverflow):
        data.record(state, trade(3, 2))
    shortest = bucket(state, 15)
    # The COIN amount was already added. The high and the longer buckets were not reached.
    assert shortest.coin == BucketSide(high=2, low=2, open=2, close=3, volume=5)
    assert shortest.non_coin == BucketSide(MOST - 1, MOST - 1, MOST - 1, MOST - 1, MOST - 1)
    assert bucket(state, 60).coin.volume == 2
    assert market_history.volume(state) == (5, MOST - 1)
    assert len(data.trades) == 2


def test_the_volume_of_several_buckets_overflows() -> None:
    state, data = market()
    data.record(state, trade(2, MOST))
    state.set_props(time=NOW + 15)
    with pytest.raises(IntegerOverflow):
        data.record(state, trade(2, 1))  # in the minute, in which the first trade was as well
    assert bucket(state, 15).non_coin.volume == 1
    with pytest.raises(IntegerOverflow):
        market_history.volume(state)


@pytest.mark.parametrize(("first", "second"), [((5, 0), (2, 3)), ((0, 5), (2, 3)), ((2, 3), (5, 0)), ((2, 3), (0, 5))])
def test_a_price_with_a_side_of_nothing(first: tuple[int, int], second: tuple[int, int]) -> None:
    state, data = market()
    data.record(state, trade(*first))
    with pytest.raises(ChainError, match=r"amount > share_type\(0\)"):
        data.record(state, trade(*second))
    shortest = bucket(state, 15)
    assert (shortest.coin.high, shortest.non_coin.high) == (shortest.coin.low, shortest.non_coin.low) == first
    assert (shortest.coin.close, shortest.non_coin.close) == second
    assert (shortest.coin.volume, shortest.non_coin.volume) == (first[0] + second[0], first[1] + second[1])
    assert bucket(state, 60).coin.volume == first[0]


def test_orders_are_filled_nevertheless() -> None:
    chain = chain_at(plugins=[MARKET_HISTORY.name])
    state = chain.state
    alice, bob = add_account(state, "alice", balance=2**62), add_account(state, "bob", sbd_balance=2**62)
    for account in (alice, bob):
        state.accounts.modify(account, sbd_seconds_last_update=NOW)
    state.set_props(current_supply=2**62, current_sbd_supply=2**62)
    for number, (seller, buyer) in enumerate([("alice", "bob"), ("bob", "alice"), ("alice", "bob")]):
        coin, sbd = Asset(2**62, COIN), Asset(2**62, SBD)
        apply(
            chain,
            LimitOrderCreate(seller, 2 * number, coin, sbd, expiration=NOW + 60),
            LimitOrderCreate(buyer, 2 * number, sbd, coin, expiration=NOW + 60),
        )
        assert bucket(state, 15).coin.volume == 2**62  # that of the first: two are 2^63
    assert (alice.balance, alice.sbd_balance, bob.balance, bob.sbd_balance) == (0, 2**62, 2**62, 0)
    assert len(MARKET_HISTORY.of(state).trades) == 3


# ------------------------------------------------------------------ reputations


def test_a_reputation_at_its_limit_is_unchanged() -> None:
    chain = chain_at(plugins=[REPUTATION.name])
    state = chain.state
    alice = add_account(state, "alice", vesting_shares=10**15, voting_mana=10**15, voting_mana_time=NOW)
    add_account(state, "bob")
    comment = add_comment(state, "bob", "post")
    table = REPUTATION.of(state)
    row = table.insert(reputation.Reputation(account="bob", reputation=MOST))
    apply(chain, Vote("alice", "bob", "post", 10_000))
    assert row.reputation == MOST
    vote = state.comment_votes.by_comment_voter.find(comment.id, alice.id)
    assert vote.rshares > 64
