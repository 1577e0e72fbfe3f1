"""Work that is started eagerly has the same results and errors as work that is awaited normally."""

import pytest
import trio
import trio.testing

from rpc.jsonrpc.eager import Completed, start_eagerly


async def waiting(event: trio.Event, times: int) -> str:
    """Wait for an event, then let other tasks run `times` times."""
    await event.wait()
    for _ in range(times):
        await trio.lowlevel.checkpoint()
    return "done"


async def refused() -> str:
    raise ValueError("refused")


def test_work_that_does_not_block_is_completed() -> None:
    async def work() -> int:
        return 1

    assert start_eagerly(work()) == Completed(1)
    with pytest.raises(ValueError, match="refused"):
        start_eagerly(refused())


async def test_blocked_work_continues_when_awaited() -> None:
    event = trio.Event()
    begun = start_eagerly(waiting(event, 3))
    assert not isinstance(begun, Completed)
    trio.lowlevel.current_trio_token().run_sync_soon(event.set)
    with trio.CancelScope():
        assert await begun == "done"


async def test_blocked_work_is_cancelled_by_a_later_scope() -> None:
    event = trio.Event()
    begun = start_eagerly(waiting(event, 0))
    assert not isinstance(begun, Completed)
    with trio.CancelScope() as scope:
        scope.cancel()
        await begun
    assert scope.cancelled_caught
    assert not event.statistics().tasks_waiting


async def test_an_error_after_blocking_is_raised_by_the_await() -> None:
    async def work() -> str:
        await trio.lowlevel.checkpoint()
        return await refused()

    begun = start_eagerly(work())
    assert not isinstance(begun, Completed)
    with pytest.raises(ValueError, match="refused"):
        await begun


async def test_blocked_work_is_cancelled_with_its_task() -> None:
    with trio.CancelScope() as outer:
        outer.cancel()
        begun = start_eagerly(trio.to_thread.run_sync(str, abandon_on_cancel=True))
        assert not isinstance(begun, Completed)
        with trio.CancelScope() as inner:
            await begun
    assert outer.cancelled_caught
    assert not inner.cancelled_caught


async def test_work_can_block_in_its_own_scopes() -> None:
    async def work(seconds: float) -> str:
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep, 0)
                await trio.sleep_forever() if seconds == 0 else await trio.lowlevel.checkpoint()
        return "done"

    for seconds in (0, 60):
        with trio.CancelScope() as scope:
            begun = start_eagerly(work(seconds))
            assert not isinstance(begun, Completed)
            assert await begun == "done"
        assert not scope.cancelled_caught
