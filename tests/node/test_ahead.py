"""What clients ask for first is read ahead: after the start, and after each return to an earlier moment of the chain."""

import pytest
import trio
import trio.testing

from bench.waits import Node, filled
from node import ahead
from state.tables import State


@pytest.fixture
def node() -> Node:
    return filled(30)


async def test_what_is_put_back_is_read_ahead_again(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[State] = []

    async def note(state: State) -> None:
        read.append(state)

    monkeypatch.setattr(ahead, "read_ahead", note)
    listeners = list(node.site.state.on_put_back)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ahead.keep_ahead, node.site.state)
        await trio.testing.wait_all_tasks_blocked()
        assert len(read) == 1
        node.site.produce()
        await trio.testing.wait_all_tasks_blocked()
        assert len(read) == 1, "a block puts nothing back"
        node.driver.revert(node.driver.snapshot())
        await trio.testing.wait_all_tasks_blocked()
        assert len(read) == 2
        nursery.cancel_scope.cancel()
    assert node.site.state.on_put_back == listeners
