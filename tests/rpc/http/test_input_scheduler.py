"""The order in which the scheduler starts to process the input of clients."""

import time
from functools import partial

import pytest
import trio
import trio.testing

from rpc.http import input_scheduler
from rpc.http.input_scheduler import FairInputScheduler


async def test_addresses_take_turns_after_a_long_iteration() -> None:
    order: list[str] = []

    async def work(gate: FairInputScheduler, address: str) -> None:
        await gate.wait(address)
        order.append(address)
        time.sleep(2 * input_scheduler.ITERATION_SECONDS_MAX)

    async with trio.open_nursery() as nursery:
        gate = FairInputScheduler()
        nursery.start_soon(gate.run)
        await trio.testing.wait_all_tasks_blocked()
        async with trio.open_nursery() as workers:
            for _ in range(10):
                workers.start_soon(work, gate, "many")
            await trio.lowlevel.checkpoint()
            workers.start_soon(work, gate, "one")
        nursery.cancel_scope.cancel()
    assert len(order) == 11
    assert order.index("one") < 5


async def test_cancelled_waiters_are_skipped() -> None:
    async with trio.open_nursery() as nursery:
        gate = FairInputScheduler()
        gate._iteration_start -= 1
        scopes = [trio.CancelScope() for _ in range(5)]

        async def wait(scope: trio.CancelScope) -> None:
            with scope:
                await gate.wait("a")

        for scope in scopes:
            nursery.start_soon(wait, scope)
        await trio.testing.wait_all_tasks_blocked()
        for scope in scopes[:4]:
            scope.cancel()
        nursery.start_soon(gate.run)
        await trio.testing.wait_all_tasks_blocked()
        assert not gate._waiting
        assert not scopes[4].cancelled_caught
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("data", "is_page"),
    [
        (b"GET /health HTTP/1.1\r\n", True),
        (b"HEAD /health HTTP/1.1", True),
        (b"GET /healthy ", False),
        (b"POST /health HTTP", False),
        (b"", False),
    ],
)
def test_page_requests_are_recognised(data: bytes, is_page: bool) -> None:
    gate = FairInputScheduler(["/health"])
    assert gate.is_for_page(data) is is_page
    assert gate.is_page("/health")
    assert not gate.is_page("/")


async def test_input_is_admitted_at_once_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_scheduler, "ITERATION_SECONDS_MAX", 3600)  # a busy machine may pause for longer than 5 ms
    async with trio.open_nursery() as nursery:
        gate = FairInputScheduler()
        nursery.start_soon(gate.run)
        await trio.testing.wait_all_tasks_blocked()
        with trio.testing.assert_no_checkpoints():
            await partial(gate.wait, "a")()
        nursery.cancel_scope.cancel()


async def test_pages_take_precedence_without_blocking_others() -> None:
    gate = FairInputScheduler()
    gate._iteration_start -= 1
    order: list[str] = []
    for i in range(6):
        gate.submit("a", partial(order.append, f"input {i}"))
        gate.submit("a", partial(order.append, f"page {i}"), is_page=True)
    gate.submit("b", partial(order.append, "page of another"), is_page=True)
    assert order == []
    gate._release(1)
    assert order == ["page 0", "input 0"]
    gate._release(4)
    assert order[2:] == ["page of another", "page 1", "input 1", "input 2"]
    for _ in range(4):
        gate._release(2)
    assert len(order) == 13


async def test_many_page_requests_are_queued() -> None:
    gate = FairInputScheduler(["/health"])
    begun = 0

    async def work() -> None:
        nonlocal begun
        await gate.wait("a", is_page=True)
        begun += 1
        time.sleep(2 * input_scheduler.ITERATION_SECONDS_MAX)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(gate.run)
        await trio.testing.wait_all_tasks_blocked()
        async with trio.open_nursery() as workers:
            for _ in range(20):
                workers.start_soon(work)
            await trio.lowlevel.checkpoint()
            assert begun < 5
        assert begun == 20
        nursery.cancel_scope.cancel()
