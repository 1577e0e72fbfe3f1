"""Transactions that take much work are refused when they enter this node, and blocks with them are applied."""

from collections.abc import Callable

import pytest

from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.operations.market import LimitOrderCreate
from state.operations.transfers import Transfer
from state.operations.vesting import TransferToVesting
from state.operations.witnesses import AccountWitnessProxy, AccountWitnessVote
from state.plugins.follow.operations import FollowOperation, ReblogOperation
from state.plugins.follow.plugin import FOLLOW, REBLOG_UNITS, apply_follow, apply_reblog
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, Asset
from state.protocol.work import UNITS_MAX, TooMuchWork
from tests.helpers.chains import NOW, UNSIGNED, add_account, add_comment, add_witness, apply, chain_at, transaction

LATER = NOW + 3600
COINS = 10**9


def orders(count: int) -> Chain:
    """A chain whose market has so many orders that each sell 0.001 SBD for 0.001."""
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
    "memos": (voters, memos(400), "memos tried as passwords"),
    "an order": (lambda: orders(500), [take(500)], "trades"),
    "an order that must be filled": (lambda: orders(500), [take(501, fill_or_kill=True)], "trades"),
}


@pytest.mark.parametrize("heavy", HEAVY)
def test_heavy_transactions_are_refused_on_their_way_in_and_not_in_blocks(heavy: str) -> None:
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


def test_posts_cost_by_the_number_of_followers() -> None:
    chain = chain_at(plugins=["follow"])
    state = chain.state
    for name in ("alice", "star", *(f"fan{number}" for number in range(40))):
        add_account(state, name)
    post, kept = add_comment(state, "alice", "post"), FOLLOW.of(state)
    spent = []
    for followers in (0, 40):
        for number in range(followers):
            apply_follow(state, kept, FollowOperation(f"fan{number}", "star", ("blog",)))
        before, mark = state.work.spent, state.journal.mark()
        apply_reblog(state, kept, ReblogOperation("star", post.author, post.permlink))
        spent.append(state.work.spent - before)
        state.journal.undo(mark)
    assert spent == [0, 40 * REBLOG_UNITS]
