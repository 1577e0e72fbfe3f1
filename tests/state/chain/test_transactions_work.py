"""Transactions that need too much work are refused when they are pushed, but accepted in blocks."""

import json
from collections.abc import Callable

import pytest

from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.operations.custom import CustomJson
from state.operations.market import LimitOrderCreate
from state.operations.transfers import Transfer
from state.operations.vesting import TransferToVesting
from state.operations.witnesses import AccountWitnessProxy, AccountWitnessVote
from state.plugins.follow.operations import FollowOperation, ReblogOperation
from state.plugins.follow.plugin import FEEDS, FOLLOW, FOLLOWERS_AT_ONCE, REBLOG_UNITS, apply_follow, apply_reblog
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, Asset
from state.protocol.work import UNITS_MAX, TooMuchWork
from tests.helpers.chains import NOW, UNSIGNED, add_account, add_comment, add_witness, apply, chain_at, transaction

LATER = NOW + 3600
COINS = 10**9


def orders(count: int) -> Chain:
    """A chain whose market has `count` orders that each sell 0.001 SBD for 0.001 COIN."""
    chain = chain_at()
    add_account(chain.state, "alice", balance=COINS)
    add_account(chain.state, "maker", sbd_balance=COINS)
    for number in range(count):
        apply(chain, LimitOrderCreate("maker", number, Asset(1, SBD), Asset(1, COIN), expiration=LATER))
    return chain


def take(amount: int, fill_or_kill: bool = False) -> LimitOrderCreate:
    return LimitOrderCreate("alice", 1, Asset(amount, COIN), Asset(amount, SBD), fill_or_kill, LATER)


def voters() -> Chain:
    """A chain on which alice and carol vote for 30 witnesses."""
    chain = chain_at()
    for name in ("alice", "carol"):
        add_account(chain.state, name, balance=COINS, vesting_shares=COINS)
    add_account(chain.state, "bob", vesting_shares=COINS)
    for number in range(30):
        add_account(chain.state, f"witness{number}")
        add_witness(chain.state, f"witness{number}")
        apply(chain, *(AccountWitnessVote(name, f"witness{number}") for name in ("alice", "carol")))
    return chain


def proxies(count: int) -> list[Operation]:
    return [AccountWitnessProxy("bob", "" if number % 2 else "alice") for number in range(count)]


def memos(count: int) -> list[Operation]:
    return [Transfer("alice", "bob", Asset(1, COIN), "memo") for _ in range(count)]


def power_ups(count: int) -> list[Operation]:
    return [TransferToVesting("alice", "", Asset(1, COIN)) for _ in range(count)]


HEAVY: dict[str, tuple[Callable[[], Chain], list[Operation], str]] = {
    "proxies, of which the number is enough": (voters, proxies(9001), "account_witness_proxy"),
    "proxies": (voters, proxies(301), "witness votes"),
    "power-ups": (voters, power_ups(300), "witness votes"),
    "memos": (voters, memos(600), "memos tried as passwords"),
    "an order": (lambda: orders(500), [take(500)], "trades"),
    "an order that must be filled": (lambda: orders(500), [take(501, fill_or_kill=True)], "trades"),
}


@pytest.mark.parametrize("heavy", HEAVY)
def test_expensive_transactions_are_refused_only_when_pushed(heavy: str) -> None:
    make, operations, kind = HEAVY[heavy]
    chain = make()
    before = state_digest(chain.state)
    with pytest.raises(TooMuchWork) as caught:
        chain.push_transaction(transaction(chain, *operations), UNSIGNED, UNITS_MAX)
    assert caught.value.limit == UNITS_MAX < caught.value.units
    assert next(iter(caught.value.kinds)) == kind
    assert (state_digest(chain.state), len(chain.pending)) == (before, 0)
    if not getattr(operations[0], "fill_or_kill", False):
        apply(chain, *operations)
        assert state_digest(chain.state) != before


def test_the_limit_ends_with_the_transaction() -> None:
    chain = voters()
    with pytest.raises(TooMuchWork):
        chain.push_transaction(transaction(chain, *proxies(300)), UNSIGNED, UNITS_MAX)
    chain.push_transaction(transaction(chain, *proxies(300)), UNSIGNED)
    chain.push_transaction(transaction(chain, *proxies(2)), UNSIGNED, UNITS_MAX)
    assert chain.pending[0].units > UNITS_MAX > chain.pending[1].units


def stars(fans: int) -> Chain:
    """A chain on which `star` has `fans` followers, and alice has two posts."""
    chain = chain_at(plugins=["follow"])
    state = chain.state
    for name in ("alice", "star", *(f"fan{number}" for number in range(fans))):
        add_account(state, name, vesting_shares=COINS)
    for number in range(fans):
        apply_follow(state, FOLLOW.of(state), FollowOperation(f"fan{number}", "star", ("blog",)))
    for permlink in ("one", "two"):
        add_comment(state, "alice", permlink)
    return chain


def reblog(permlink: str) -> CustomJson:
    value = ["reblog", {"account": "star", "author": "alice", "permlink": permlink}]
    return CustomJson((), ("star",), "follow", json.dumps(value))


def test_posts_cost_by_the_number_of_followers() -> None:
    spent = []
    for fans in (0, 3 * FOLLOWERS_AT_ONCE, 3 * FOLLOWERS_AT_ONCE + 1):
        chain = stars(fans)
        before = chain.state.work.spent
        apply_reblog(chain.state, FOLLOW.of(chain.state), ReblogOperation("star", "alice", "one"))
        spent.append(chain.state.work.spent - before)
    assert spent == [0, 3 * REBLOG_UNITS, 4 * REBLOG_UNITS]


def test_first_reblog_of_a_transaction_can_exceed_the_limit() -> None:
    """The first reblog of a transaction reaches all followers, even beyond the work limit. A second reblog in the same transaction is
    refused. A limit of 40 units replaces the real limit, which would need thousands of followers.
    """
    chain = stars(3 * FOLLOWERS_AT_ONCE)
    chain.push_transaction(transaction(chain, reblog("one")), UNSIGNED, 40)
    assert chain.pending[0].units > 40
    chain.clear_pending()
    with pytest.raises(TooMuchWork) as caught:
        chain.push_transaction(transaction(chain, reblog("one"), reblog("two")), UNSIGNED, 40)
    assert next(iter(caught.value.kinds)) == FEEDS
    assert not chain.pending


def test_500_transfers_with_memos_are_accepted() -> None:
    chain = chain_at()
    for name in ("alice", "bob"):
        add_account(chain.state, name, balance=COINS)
    chain.push_transaction(transaction(chain, *memos(500)), UNSIGNED, UNITS_MAX)


def test_a_refusal_says_what_to_do() -> None:
    chain = voters()
    with pytest.raises(TooMuchWork, match="Send its operations in several transactions"):
        chain.push_transaction(transaction(chain, *proxies(300)), UNSIGNED, UNITS_MAX)
