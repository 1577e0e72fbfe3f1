"""The plugin account_history: paging, pruning and pending transactions."""

from collections.abc import Callable
from typing import Any

import pytest

from state.chain.blocks import NO_TRANSACTION
from state.operations.accounts import AccountCreate
from state.operations.transfers import Transfer
from state.plugins import account_history
from state.plugins.account_by_key import ACCOUNT_BY_KEY
from state.plugins.account_history import (
    ACCOUNT_HISTORY,
    RETAINED_ENTRIES,
    RETAINED_SECONDS,
    history,
    locate_transaction,
    operations_in_block,
    virtual_operations,
)
from state.plugins.transaction_status import TRANSACTION_STATUS
from state.protocol.operation import OPERATIONS
from state.protocol.values.asset import SBD, Asset
from state.protocol.virtual import Interest, ProposalPay, SpsFund
from state.tables import State
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.chains import add_account, genesis_state
from tests.helpers.snapshots import snapshot


def data_of(state: State) -> account_history.AccountHistory:
    """Return the plugin's data."""
    plugin: account_history.AccountHistory = ACCOUNT_HISTORY.of(state)
    return plugin


def transfer(number: int) -> Transfer:
    """Return a transfer that differs from others by its number."""
    return Transfer(from_="alice", to="bob", amount=Asset(number))


def test_times_are_those_of_head() -> None:
    player = Player(CASES / "savings_interest")
    times = {0: 0}
    for block in player.blocks():
        player.chain.push_block(block)
        times[block.number] = block.timestamp
    seen = set()
    recorded = data_of(player.chain.state).recorded
    for record in map(recorded.reader(), range(len(recorded))):
        before = record.trx_in_block != NO_TRANSACTION
        if record.block > 1:
            assert record.timestamp == times[record.block - before]
            seen.add(before)
    assert seen == {True, False}


@pytest.mark.parametrize("name", [ACCOUNT_BY_KEY.name, ACCOUNT_HISTORY.name, TRANSACTION_STATUS.name])
def test_after_forks_the_data_is_that_of_the_main_branch(name: str) -> None:
    player = Player(CASES / "block_feed", [name])
    switches = 0
    for event in player.events():
        player.advance(event["height"])
        if "block" in event:
            switches += event["accepted"] and event["block"]["previous"] not in (event["head_before"], event["head_after"])
            player.feed(event)
        elif "trx" in event:
            player.broadcast(event)
    player.chain.clear_pending()
    assert switches
    straight = Player(CASES / "block_feed", [name])
    for number in range(1, player.chain.state.props.head_block_number + 1):
        block = player.chain.block_by_number(number)
        assert block is not None
        straight.chain.push_block(block)
    assert straight.chain.state.props.head_block_id == player.chain.state.props.head_block_id
    assert snapshot(straight.chain.state.plugins[name]) == snapshot(player.chain.state.plugins[name])


def test_pending_transactions_are_listed() -> None:
    player = Player(CASES / "tx_validity")
    state, plugin = player.chain.state, data_of(player.chain.state)
    event = next(e for e in player.events() if "trx" in e and "settle" in e["trx"]["operations"][0]["value"].get("memo", ""))
    player.advance(event["height"])
    before = snapshot(plugin)
    assert player.broadcast(event) is None
    trx = player.chain.pending[0]
    _, newest = history(state, trx.operations[0].from_, -1, 1)[0]  # type: ignore[attr-defined]
    assert (newest.trx_id, newest.block, newest.trx_in_block) == (trx.id, event["height"], NO_TRANSACTION)
    assert newest in operations_in_block(state, event["height"])
    assert locate_transaction(state, trx.id) is None
    player.chain.clear_pending()
    assert snapshot(plugin) == before


def test_paging() -> None:
    state = genesis_state(ACCOUNT_HISTORY.name)
    for number in range(1, 8):
        data_of(state).record(state, transfer(number))

    def numbers(account: str, start: int, limit: int) -> list[int]:
        found = history(state, account, start, limit)
        assert [n for n, _ in found] == [r.operation.amount.amount for _, r in found]  # type: ignore[attr-defined]
        return [n for n, _ in found]

    assert numbers("alice", -1, 3) == [5, 6, 7]
    assert numbers("bob", 7, 3) == [5, 6, 7]
    assert numbers("bob", 2**63, 3) == [5, 6, 7]
    assert numbers("bob", 4, 3) == [2, 3, 4]
    assert numbers("bob", 2, 2) == [1, 2]
    assert numbers("bob", 2, 100) == [1, 2]
    assert numbers("bob", 0, 0) == numbers("bob", -1, 0) == numbers("carol", -1, 10) == []


def test_old_entries_go_when_enough_newer_ones_came() -> None:
    state = genesis_state(ACCOUNT_HISTORY.name)
    add_account(state, "alice")
    plugin, start = data_of(state), state.head_time
    for number in range(1, 11):
        plugin.record(state, transfer(number))
    state.set_props(time=start + 1)
    for number in range(11, RETAINED_ENTRIES + 6):
        plugin.record(state, transfer(number))
    assert len(plugin.accounts.get("alice")[1]) == RETAINED_ENTRIES + 5
    state.set_props(time=start + RETAINED_SECONDS)
    plugin.record(state, transfer(RETAINED_ENTRIES + 6))
    assert len(plugin.accounts.get("alice")[1]) == RETAINED_ENTRIES + 6
    before = snapshot(plugin)
    mark = state.journal.position()
    # One second later, the first ten entries are older than 30 days. Then 30 entries are kept in front of the newest.
    state.set_props(time=start + RETAINED_SECONDS + 1)
    plugin.record(state, transfer(RETAINED_ENTRIES + 7))
    assert [n for n, _ in history(state, "alice", -1, 10_000)] == list(range(7, RETAINED_ENTRIES + 8))
    for number in range(RETAINED_ENTRIES + 8, RETAINED_ENTRIES + 30):
        plugin.record(state, transfer(number))
    # The eleventh entry is a second younger.
    assert history(state, "alice", -1, 10_000)[0][0] == 11
    assert history(state, "alice", 12, 10)[0][0] == 11
    assert history(state, "alice", 10, 10) == []
    # Memory is released periodically, without visible effects.
    assert plugin.accounts.get("alice")[0] == 0
    for number in range(RETAINED_ENTRIES + 30, 2 * RETAINED_ENTRIES + 2):
        plugin.record(state, transfer(number))
    assert plugin.accounts.get("alice")[0] == 10
    for start_at in range(11):
        assert history(state, "alice", start_at, 10_000) == []
    assert [n for n, _ in history(state, "alice", 13, 10_000)] == [11, 12, 13]
    # The records themselves remain, since they also belong to blocks.
    assert len(operations_in_block(state, 0)) == 2 * RETAINED_ENTRIES + 1
    state.journal.undo(mark)
    assert snapshot(plugin) == before


def test_operations_without_impacted_accounts_are_not_recorded() -> None:
    state = genesis_state(ACCOUNT_HISTORY.name)
    virtual_only = [cls for cls in OPERATIONS.values() if cls.VIRTUAL and not cls().impacted()]
    assert len(virtual_only) == 3
    for cls in virtual_only:
        data_of(state).record(state, cls())
    assert len(data_of(state).recorded) == 0


def test_the_treasury_has_the_name_of_the_spec() -> None:
    state = genesis_state(ACCOUNT_HISTORY.name)
    assert state.spec.treasury == "steem.dao"
    for operation in (SpsFund(additional_funds=Asset(1, SBD)), ProposalPay(receiver="alice", payment=Asset(1, SBD))):
        for listener in state.listeners.before_operation[type(operation)]:
            listener(state, operation)
    assert [type(r.operation) for _, r in history(state, "steem.dao", -1, 10)] == [SpsFund, ProposalPay]
    assert [type(r.operation) for _, r in history(state, "alice", -1, 10)] == [ProposalPay]
    assert set(data_of(state).accounts.early) == {"alice"}


def test_an_account_that_is_touched_twice_has_one_entry() -> None:
    state = genesis_state(ACCOUNT_HISTORY.name)
    data_of(state).record(state, Transfer(from_="alice", to="alice", amount=Asset(1)))
    assert len(history(state, "alice", -1, 10)) == 1


def test_virtual_operations_of_a_range_of_blocks() -> None:
    state = genesis_state(ACCOUNT_HISTORY.name)
    here, plugin = state.position, data_of(state)

    def put(block: int, trx_in_block: int, trx_id: bytes, *virtual: bool) -> None:
        here.block, here.trx_in_block, here.trx_id, here.virtual_op = block, trx_in_block, trx_id, 0
        for is_virtual in virtual:
            here.virtual_op += is_virtual
            plugin.record(state, Interest(owner="alice") if is_virtual else transfer(1))

    zero, some = bytes(20), bytes(range(20))
    put(1, 0, some, False, True, False, True)
    put(1, NO_TRANSACTION, zero, True)
    put(3, 0, some, False)
    put(4, NO_TRANSACTION, zero, True, True)
    put(4, NO_TRANSACTION, some, False, True)  # waits

    def places(begin: int, end: int, enough: int = 100) -> tuple[list[tuple[int, int, int]], int]:
        found, following = virtual_operations(state, begin, end, enough)
        return [(r.block, r.trx_in_block, r.virtual_op) for r in found], following

    assert places(1, 2) == ([(1, 0, 1), (1, 0, 2), (1, NO_TRANSACTION, 1)], 4)
    assert places(2, 4) == ([], 4)
    assert places(1, 5) == ([(1, 0, 1), (1, 0, 2), (1, NO_TRANSACTION, 1), (4, NO_TRANSACTION, 1), (4, NO_TRANSACTION, 2)], 0)
    assert places(1, 5, 3) == places(1, 5, 1) == places(1, 4)
    assert places(1, 5, 4) == places(1, 5)
    first = [(r.trx_in_block, r.virtual_op) for r in operations_in_block(state, 1)]
    assert first == [(0, 0), (0, 0), (0, 1), (0, 2), (NO_TRANSACTION, 1)]
    assert len(operations_in_block(state, 4)) == 4
    assert len(operations_in_block(state, 4, only_virtual=True)) == 3
    assert operations_in_block(state, 2) == operations_in_block(state, 5) == []


@pytest.mark.parametrize("is_adopted", [False, True])
def test_the_history_of_an_account_begins_with_its_creation(is_adopted: bool) -> None:
    """The operation that creates an account is recorded when the account doesn't exist yet."""
    state = genesis_state(ACCOUNT_HISTORY.name)
    plugin, marks, found = data_of(state), list[int](), list[dict[str, Any]]()
    creation = AccountCreate(creator="alice", new_account_name="bob")
    steps: list[Callable[[], object]] = [
        lambda: plugin.record(state, creation),
        lambda: add_account(state, "bob"),
        lambda: plugin.adopt(state, creation) if is_adopted else None,
        lambda: plugin.record(state, transfer(1)),
    ]
    for step in steps:
        marks.append(state.journal.position())
        found.append(snapshot(plugin))
        step()
    assert [number for number, _ in history(state, "bob", -1, 10)] == [1, 2]
    assert set(plugin.accounts.early) == {"alice"}
    for mark, before in zip(reversed(marks), reversed(found), strict=True):
        state.journal.undo(mark)
        assert snapshot(plugin) == before
