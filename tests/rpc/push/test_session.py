"""The subscriptions of a connection and its queued notices: limits, order, and slow clients."""

import pytest
import trio
import trio.testing

from rpc.push import session as session_module
from rpc.push.session import DISCONNECT_SECONDS_MAX, SUBSCRIPTIONS_MAX, TOO_SLOW, Topic
from state.protocol.errors import ChainError
from tests.helpers.golden import fails
from tests.helpers.push import PushClients, notices


@pytest.fixture
def world() -> PushClients:
    """A chain with one block."""
    made = PushClients()
    made.make(1)
    return made


async def test_a_slow_client_is_disconnected(world: PushClients, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick = world.session(), world.session()
    for session in (slow, quick):
        session.subscribe(Topic.blocks)
    monkeypatch.setattr(session_module, "QUEUED_SIZE_MAX", 3000)
    for _ in range(20):
        world.make(1)
        await notices(quick, 1)
    assert (quick.reason, slow.reason, slow.size) == ("", TOO_SLOW, 0)
    assert await slow.next() is None
    assert slow.patience.deadline == pytest.approx(trio.current_time() + DISCONNECT_SECONDS_MAX, abs=5)
    with fails(ChainError):
        slow.subscribe(Topic.blocks)
    assert len(slow.reason) <= 123


async def test_a_single_notice_can_exceed_the_bound(world: PushClients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "QUEUED_SIZE_MAX", 10)
    session = world.session()
    session.subscribe(Topic.blocks)
    world.make(1)
    assert len(await notices(session, 1)) == 1


async def test_subscriptions_are_bounded_and_numbered(world: PushClients) -> None:
    session = world.session()
    assert [session.subscribe(Topic.blocks) for _ in range(SUBSCRIPTIONS_MAX)] == list(range(1, SUBSCRIPTIONS_MAX + 1))
    with fails(ChainError):
        session.subscribe(Topic.blocks)
    with fails(ChainError):
        session.set_callback(Topic.headers, 1)
    session.unsubscribe(5)
    assert session.subscribe(Topic.blocks) == SUBSCRIPTIONS_MAX + 1
    with fails(ChainError):
        session.unsubscribe(5)


async def test_slots_are_acquired_and_released(world: PushClients) -> None:
    places = [2]

    def take() -> bool:
        places[0] -= 1
        return places[0] >= 0

    def give_back() -> None:
        places[0] += 1

    session = world.hub.session(take, give_back)
    session.subscribe(Topic.blocks)
    session.set_callback(Topic.headers, 1)
    with fails(ChainError):
        session.subscribe(Topic.blocks)
    places[0] = 0
    session.close()
    assert (places[0], world.hub.count) == (2, 0)


async def test_notices_of_an_ended_subscription_are_not_sent(world: PushClients) -> None:
    session = world.session()
    first, second = session.subscribe(Topic.blocks), session.subscribe(Topic.blocks)
    world.make(2)
    session.unsubscribe(first)
    assert [notice["subscription"] for notice in await notices(session, 2)] == [second] * 2


async def test_notices_wait_while_a_reply_is_sent(world: PushClients, autojump_clock: trio.testing.MockClock) -> None:
    session = world.session()
    session.subscribe(Topic.blocks)
    with session.paused():
        world.make(1)
        with trio.move_on_after(1) as waited:
            await session.next()
        assert waited.cancelled_caught
    assert len(await notices(session, 1)) == 1


async def test_a_session_starts_sending_with_its_first_subscription(world: PushClients) -> None:
    session = world.session()
    begun: list[int] = []
    session.on_first = lambda: begun.append(1)
    assert begun == []
    session.set_callback(Topic.headers, 1)
    session.subscribe(Topic.blocks)
    assert begun == [1]


async def test_a_connection_has_one_public_block_subscription(world: PushClients) -> None:
    session = world.session()
    number = session.subscribe_blocks()
    assert [session.subscribe_blocks() for _ in range(SUBSCRIPTIONS_MAX)] == [number] * SUBSCRIPTIONS_MAX
    assert world.hub.count == 1
    session.unsubscribe(number)
    assert session.subscribe_blocks() != number
    world.make(1)
    assert [notice["kind"] for notice in await notices(session, 1)] == ["blocks"]


async def test_a_notice_is_shared_and_counted_until_it_is_sent(world: PushClients) -> None:
    first, second = world.session(), world.session()
    for session in (first, second):
        session.subscribe_blocks()
    world.make(1)
    received = [await session.next() for session in (first, second)]
    assert received[0] is not None
    assert received[1] is not None
    assert received[0][1] is received[1][1]
    first.sent()
    assert first.size == 0
    assert world.hub.held_size == second.size > 0
    second.close()
    second.sent()
    assert world.hub.held_size == 0
