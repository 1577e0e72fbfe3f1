"""The scheduler of replies: the order of replies, and timers that run between them."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock, wait_all_tasks_blocked

from rpc.caller import LOCAL, Caller
from rpc.jsonrpc.scheduler import REPLIES_SECONDS_MAX, ReadGate, ReplyScheduler

LONG_SECONDS = 1.0
TASKS = 5


async def test_a_timer_and_its_consequences_wait_for_one_reply(mock_clock: MockClock) -> None:
    scheduler = ReplyScheduler()
    seen: list[str] = []
    jobs_in, jobs_out = trio.open_memory_channel[str](10)

    def work() -> None:
        time.sleep(REPLIES_SECONDS_MAX * 1.1)
        mock_clock.jump(LONG_SECONDS)
        seen.append("reply")

    async def ask() -> None:
        for _ in range(3):
            await scheduler.run(work)

    async def produce() -> None:
        await trio.sleep(2.5 * LONG_SECONDS)
        await jobs_in.send("block")

    async def process() -> None:
        async for job in jobs_out:
            seen.append(job)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(process)
        nursery.start_soon(produce)
        await wait_all_tasks_blocked()
        async with trio.open_nursery() as clients:
            for _ in range(TASKS):
                clients.start_soon(ask)
        nursery.cancel_scope.cancel()
    assert seen == ["reply"] * 3 + ["block"] + ["reply"] * (3 * TASKS - 3)


async def test_replies_are_computed_in_order() -> None:
    scheduler = ReplyScheduler()
    seen: list[int] = []

    def work(number: int) -> None:
        time.sleep(REPLIES_SECONDS_MAX * 1.1)
        seen.append(number)

    async def ask(number: int) -> None:
        for _ in range(3):
            await scheduler.run(lambda: work(number))

    async with trio.open_nursery() as nursery:
        for number in range(TASKS):
            nursery.start_soon(ask, number)
    assert len(set(seen[:TASKS])) == TASKS
    assert seen == seen[:TASKS] * 3


async def test_addresses_take_turns() -> None:
    scheduler = ReplyScheduler(lambda: 0.0)
    seen: list[str] = []

    async def ask(address: str) -> None:
        await scheduler.run(lambda: seen.append(address), address)

    scheduler.gate.close()
    async with trio.open_nursery() as nursery:
        for address in ("many",) * TASKS + ("few", "other"):
            nursery.start_soon(ask, address)
            await wait_all_tasks_blocked()
        # The limiter's slot is taken first, so that all tasks are waiting when the gate has opened.
        await scheduler._limiter.enter("")
        scheduler.gate.open()
        await wait_all_tasks_blocked()
        scheduler._limiter.leave()
    assert sorted(seen[:3]) == ["few", "many", "other"]
    assert seen[3:] == ["many"] * (TASKS - 1)


async def test_many_short_replies_yield() -> None:
    seconds = 0.0
    scheduler = ReplyScheduler(lambda: seconds)
    passes = 0

    def work() -> None:
        nonlocal seconds
        seconds += REPLIES_SECONDS_MAX / 10

    async def other() -> None:
        nonlocal passes
        while True:
            await trio.lowlevel.checkpoint()
            passes += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await scheduler.run(lambda: None)
        assert passes == 0
        for _ in range(30):
            await scheduler.run(work)
        nursery.cancel_scope.cancel()
    assert passes >= 4  # two slices of ten replies, with at least two passes in each


async def test_a_waiting_reply_can_be_cancelled() -> None:
    scheduler = ReplyScheduler()
    seen: list[str] = []

    async def ask(name: str, scope: trio.CancelScope) -> None:
        def work() -> None:
            time.sleep(REPLIES_SECONDS_MAX * 1.1)
            seen.append(name)
            if len(seen) == 1:
                for other in scopes.values():
                    other.cancel()

        with scope:
            await scheduler.run(work)

    scopes = {name: trio.CancelScope() for name in "abc"}
    async with trio.open_nursery() as nursery:
        for name, scope in scopes.items():
            nursery.start_soon(ask, name, scope)
    assert len(seen) == 1
    assert await scheduler.run(lambda: 7) == 7


async def test_an_exception_ends_the_turn() -> None:
    scheduler = ReplyScheduler()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await scheduler.run(lambda: 1 // 0)
    assert await scheduler.run(lambda: 7) == 7


async def test_nothing_is_read_while_the_gate_is_closed(nursery: trio.Nursery) -> None:
    scheduler, seen = ReplyScheduler(), list[int]()

    async def ask(number: int) -> None:
        await scheduler.run(lambda: seen.append(number))

    scheduler.gate.close()
    assert not scheduler.is_free
    for number in range(TASKS):
        nursery.start_soon(ask, number)
    await wait_all_tasks_blocked()
    assert seen == []
    scheduler.gate.open()
    await wait_all_tasks_blocked()
    assert sorted(seen) == list(range(TASKS))
    assert scheduler.is_free


async def test_a_reply_cancelled_at_the_gate_frees_its_turn() -> None:
    scheduler = ReplyScheduler(lambda: 0.0)
    scheduler.gate.close()
    with trio.move_on_after(0):
        await scheduler.run(int)
    scheduler.gate.open()
    with trio.testing.assert_no_checkpoints():
        assert await scheduler.run(lambda: 1) == 1


async def test_the_standby_answers_while_the_gate_is_closed(nursery: trio.Nursery) -> None:
    gate, seen = ReadGate(), list[bytes]()

    async def stand_in(body: bytes, caller: Caller) -> bytes:
        return body.upper() if body.isalpha() else b""

    async def ask(body: bytes) -> None:
        seen.append(await gate.answer(body, LOCAL))

    gate.close()
    nursery.start_soon(ask, b"read")
    nursery.start_soon(ask, b"1 write")
    await wait_all_tasks_blocked()
    assert seen == []
    gate.set_standby(stand_in)
    await wait_all_tasks_blocked()
    assert seen == [b"READ"]
    gate.set_standby(None)
    nursery.start_soon(ask, b"late")
    await wait_all_tasks_blocked()
    assert seen == [b"READ"]
    gate.open()
    await wait_all_tasks_blocked()
    assert seen == [b"READ", b"", b""]


async def test_replies_waiting_for_a_turn_go_to_the_standby(nursery: trio.Nursery) -> None:
    """The standby answers replies that wait for their turn, even if a reply that it can't answer is ahead of them in the queue."""
    seconds, seen = 0.0, list[str]()
    scheduler = ReplyScheduler(lambda: seconds)

    def first() -> str:
        nonlocal seconds
        seconds += REPLIES_SECONDS_MAX * 1.1
        scheduler.gate.close()
        return "here"

    async def elsewhere(body: bytes, caller: Caller) -> bytes:
        return body

    async def ask(work: Callable[[], Any], instead: Callable[[], Awaitable[Any]] | None) -> None:
        seen.append(await scheduler.run(work, "", instead))

    nursery.start_soon(ask, first, None)
    await trio.lowlevel.checkpoint()
    nursery.start_soon(ask, lambda: "stream", None)
    for _ in range(TASKS):
        nursery.start_soon(ask, lambda: "here", partial(scheduler.gate.answer, b"there", LOCAL))
    await wait_all_tasks_blocked()
    scheduler.gate.set_standby(elsewhere)
    await wait_all_tasks_blocked()
    assert seen == ["here", *[b"there"] * TASKS]
    scheduler.gate.open()
    await wait_all_tasks_blocked()
    assert seen[-1] == "stream"
    assert scheduler.gate.waiting_reads == 0
