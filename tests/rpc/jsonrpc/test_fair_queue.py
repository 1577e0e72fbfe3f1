"""Queues and limiters that serve clients in turn."""

import trio
from trio.testing import assert_no_checkpoints, wait_all_tasks_blocked

from rpc.jsonrpc.fair_queue import FairLimiter, FairQueue


def test_addresses_take_turns() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in ("a1", "a2", "a3", "b1", "c1", "b2"):
        queue.put(item, item[0])
    assert len(queue) == 6
    assert [queue.take() for _ in range(7)] == ["a1", "b1", "c1", "a2", "b2", "a3", None]
    assert len(queue) == 0


async def test_a_limiter_admits_addresses_in_turn() -> None:
    limiter, seen = FairLimiter(2), list[str]()

    async def enter(name: str) -> None:
        await limiter.enter(name[0])
        seen.append(name)

    with assert_no_checkpoints():
        await limiter.enter("a")
        limiter.enter_nowait()
    assert not limiter.free
    async with trio.open_nursery() as nursery:
        for name in ("a1", "a2", "a3", "b1"):
            nursery.start_soon(enter, name)
            await wait_all_tasks_blocked()
        assert seen == []
        for count in range(1, 5):
            limiter.leave()
            await wait_all_tasks_blocked()
            assert len(seen) == count
    assert seen == ["a1", "b1", "a2", "a3"]
    limiter.leave()
    with assert_no_checkpoints():
        await limiter.enter("a")


async def test_a_cancelled_waiter_takes_no_slot() -> None:
    """Even a waiter that is cancelled at the moment of its admission takes no slot."""
    limiter = FairLimiter(1)
    limiter.enter_nowait()
    scopes = [trio.CancelScope() for _ in range(2)]

    async def enter(scope: trio.CancelScope) -> None:
        with scope:
            await limiter.enter("a")

    async with trio.open_nursery() as nursery:
        for scope in scopes:
            nursery.start_soon(enter, scope)
            await wait_all_tasks_blocked()
        scopes[0].cancel()
        limiter.leave()
        scopes[1].cancel()
    assert all(scope.cancelled_caught for scope in scopes)
    assert limiter.free
