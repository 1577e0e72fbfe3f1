"""Memory limits of requests: usage, eviction, batches, and calls that wait."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from rpc.caller import LOCAL, Caller
from rpc.declare.arguments import Int32
from rpc.declare.method import Method, method
from rpc.json.reader import values_size
from rpc.jsonrpc.memory import KEPT_SIZE, LITTLE_SIZE, MemoryLimiter, Overloaded
from tests.helpers.fakes import serving

SIZE = 10 * LITTLE_SIZE


def remote(number: int) -> Caller:
    """Return a remote caller with its own address."""
    return Caller(f"192.0.2.{number}", "it is elsewhere")


class Connection:
    """A connection that records whether it was aborted."""

    def __init__(self) -> None:
        self.requests_in_progress, self.is_cut = 0, False
        self.abort: Callable[[], None] = self._abort

    def _abort(self) -> None:
        self.is_cut = True


def sizes(memory: MemoryLimiter) -> tuple[int, int]:
    """Return the reserved bytes of local callers and of remote callers."""
    return memory.used()["bytes"][0], memory.used()["remote_bytes"][0]


# ------------------------------------------------------------------ who may hold what


def test_address_can_reserve_as_much_as_is_free() -> None:
    memory = MemoryLimiter(SIZE)
    first = [memory.reserve(remote(1)) for _ in range(2)]
    first[0].add(SIZE // 4)
    first[1].add(SIZE // 4)
    with pytest.raises(Overloaded, match=f"would use {SIZE // 2 + 1} bytes of memory.* of {SIZE} bytes are in use. Send less at once"):
        first[0].add(1)
    second = memory.reserve(remote(2))
    second.add(SIZE // 4)
    with pytest.raises(Overloaded):
        second.add(SIZE // 8)
    assert sizes(memory) == (0, SIZE // 4 * 3)


def test_small_reservations_can_exceed_the_limit() -> None:
    memory = MemoryLimiter(SIZE)
    memory.reserve(remote(0)).add(SIZE // 2)
    reserved = [
        memory.reserve(Caller(f"2001:db8:{number:x}::/64", "elsewhere")) for number in range((SIZE // 2 + KEPT_SIZE) // LITTLE_SIZE)
    ]
    for one in reserved:
        one.add(LITTLE_SIZE)
    with pytest.raises(Overloaded):
        memory.reserve(remote(1)).add(1)


def test_an_idle_connection_is_evicted() -> None:
    memory = MemoryLimiter(SIZE)
    lines = [Connection() for _ in range(4)]
    for place, line in enumerate(lines):
        memory.reserve(remote(place % 2), line).add(SIZE // 16 * (3 - place % 2))
    lines[0].requests_in_progress = 1
    # The evicted connection is the oldest idle one of the address that uses the most memory.
    memory.reserve(remote(7), Connection()).add(SIZE // 4)
    assert [line.is_cut for line in lines] == [False, False, True, False]
    # Connections that use less memory than the newcomer would use are not evicted.
    with pytest.raises(Overloaded):
        memory.reserve(remote(8), Connection()).add(SIZE // 16 * 5)
    assert [line.is_cut for line in lines] == [False, False, True, False]


def test_an_address_evicts_its_own_connections_first() -> None:
    memory = MemoryLimiter(SIZE)
    old, new = Connection(), Connection()
    memory.reserve(remote(1), old).add(SIZE // 4)
    memory.reserve(remote(1), old).add(SIZE // 4)
    memory.reserve(remote(1), new).add(SIZE // 4)
    assert (old.is_cut, new.is_cut, sizes(memory)) == (True, False, (0, SIZE // 4))


def test_local_callers_have_a_separate_limit() -> None:
    memory = MemoryLimiter(SIZE, SIZE)
    memory.reserve(LOCAL).add(SIZE // 2)
    memory.reserve(remote(1)).add(SIZE // 2)
    assert sizes(memory) == (SIZE // 2, SIZE // 2)


def test_releasing_leaves_nothing_reserved() -> None:
    memory = MemoryLimiter(SIZE)
    for number in range(100):
        with memory.reserve(remote(number)) as reserved:
            reserved.add(0)
            reserved.add(5)
        reserved.release()
    assert (sizes(memory), memory._remote._sizes, memory._remote._held) == ((0, 0), {}, {})


# ------------------------------------------------------------------ what counts


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b",".join([b"{}"] * 1000) + b"]",
        b"[" + b",".join([b"[" * 90 + b"]" * 90] * 20) + b"]",
        b"[" + b",".join([b'{"":' * 90 + b"0" + b"}" * 90] * 20) + b"]",
        b"[" + b",".join([b'"ab"'] * 1000) + b"]",
        b'["' + b"a" * 10_000 + "\U0001f600".encode() + b'"]',
        b'["' + b"a" * 10_000 + b'\\ud83d\\ude00"]',
    ],
)
def test_the_estimate_covers_the_values_of_a_body(body: bytes) -> None:
    seen: set[int] = set()

    def size(value: Any) -> int:
        if id(value) in seen:
            return 0
        seen.add(id(value))
        inner = value if isinstance(value, list) else [*value, *value.values()] if isinstance(value, dict) else []
        return sys.getsizeof(value) + sum(map(size, inner))

    assert size(json.loads(body)) <= 1.1 * values_size(body)


class Asked:
    """A service with a method `much`, which returns a text of a given length, and a method `wait`, which waits."""

    def __init__(self, memory: MemoryLimiter) -> None:
        registry: dict[str, Method] = {}
        self.go_on, self.waiting = trio.Event(), 0

        @method("a_api.much", registry=registry)
        def much(state: str, /, count: Int32) -> str:
            """Return a text of `count` letters."""
            return "x" * count

        @method("a_api.wait", registry=registry)
        async def wait(state: str) -> str:
            """Wait until the test lets the method continue."""
            self.waiting += 1
            await self.go_on.wait()
            return "done"

        self.service = serving(registry, memory=memory)

    async def ask(self, request: Any, caller: Caller) -> Any:
        reply = self.service.answer(json.dumps(request).encode(), caller, True)
        return json.loads(reply if isinstance(reply, bytes) else await reply)


MUCH, WAIT = {"jsonrpc": "2.0", "method": "a_api.much", "params": [SIZE // 8]}, {"jsonrpc": "2.0", "method": "a_api.wait"}


async def test_replies_to_a_batch_are_reserved_as_they_are_built() -> None:
    memory = MemoryLimiter(SIZE)
    asked = Asked(memory)
    assert [len(one["result"]) for one in await asked.ask([MUCH] * 3, remote(1))] == [SIZE // 8] * 3
    refused = await asked.ask([MUCH] * 4, remote(1))
    assert f"of {SIZE} bytes" in refused["error"]["message"]
    # Reservations of other clients also count, and local callers have a separate limit.
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asked.ask, [MUCH, MUCH, WAIT], remote(2))
        await trio.testing.wait_all_tasks_blocked()
        assert sizes(memory)[1] > SIZE // 4
        assert "error" in await asked.ask([MUCH] * 3, remote(1))
        assert len(await asked.ask([MUCH] * 20, LOCAL)) == 20
        asked.go_on.set()
    assert sizes(memory) == (0, 0)


async def test_the_values_of_a_waiting_call_are_reserved() -> None:
    memory = MemoryLimiter(SIZE)
    asked = Asked(memory)
    request = WAIT | {"other": "x" * (SIZE // 3)}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asked.ask, request, remote(1))
        await trio.testing.wait_all_tasks_blocked()
        assert sizes(memory)[1] > SIZE // 3
        assert f"of {SIZE} bytes" in (await asked.ask(request, remote(1)))["error"]["message"]
        assert asked.waiting == 1
        asked.go_on.set()
    assert sizes(memory) == (0, 0)
