"""Cache warming after the start and after every restored savepoint."""

import logging
from typing import Any, NoReturn

import pytest
import trio
import trio.testing

from bench.waits import Node, filled
from node.monitoring import warm_up
from rpc.jsonrpc.scheduler import ReadGate
from state.operations.content import Vote
from state.plugins.tags.plugin import TAGS
from state.tables import State
from tests.helpers.log_capture import log_caught


@pytest.fixture
def node() -> Node:
    return filled(30)


async def test_a_restored_state_is_warmed_up_again(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[State] = []

    async def note(state: State, _: ReadGate) -> None:
        read.append(state)

    monkeypatch.setattr(warm_up, "warm_up", note)
    listeners = list(node.chain.state.on_restored)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(warm_up.warm_periodically, node.chain.state)
        await trio.testing.wait_all_tasks_blocked()
        assert len(read) == 1
        node.chain.produce()
        await trio.testing.wait_all_tasks_blocked()
        assert len(read) == 1, "a block puts nothing back"
        node.devchain.revert(node.devchain.snapshot())
        await trio.testing.wait_all_tasks_blocked()
        assert len(read) == 2
        nursery.cancel_scope.cancel()
    assert node.chain.state.on_restored == listeners


async def test_changed_orders_are_refreshed_periodically(node: Node, autojump_clock: trio.testing.MockClock) -> None:
    state = node.chain.state
    async with trio.open_nursery() as nursery:
        nursery.start_soon(warm_up.warm_periodically, state)
        await trio.sleep(1)
        assert not any(order.dirty for order in state.accounts.lazy_orders)
        node.chain.apply(Vote("user-000001", "user-000002", "post", 5000))
        assert TAGS.of(state).dirty
        await trio.sleep(warm_up.PAUSE_SECONDS_MIN + 1)
        assert not TAGS.of(state).dirty
        nursery.cancel_scope.cancel()


async def test_a_failing_read_stops_only_the_warm_up(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    state, lines = node.chain.state, list[dict[str, Any]]()

    def fail(table: object) -> NoReturn:
        raise TypeError("rows that can't be compared")

    monkeypatch.setattr(warm_up, "lazy_index_reads", fail)
    listeners = list(state.on_restored)
    with log_caught(lines.append, logging.ERROR):
        await warm_up.warm_periodically(state)
    assert [(line["event"], str(line["exc_info"])) for line in lines] == [("warm-up failed and has stopped", "rows that can't be compared")]
    assert state.on_restored == listeners


async def test_nothing_is_read_in_advance_without_room(node: Node) -> None:
    state = node.chain.state
    state.journal.read_mode.memory.limit = 1
    await warm_up.warm_up(state)
    assert all(order.dirty for order in state.comments.lazy_orders)
    state.journal.read_mode.memory.limit = None
    await warm_up.warm_up(state)
    assert not any(order.dirty for order in state.comments.lazy_orders)
