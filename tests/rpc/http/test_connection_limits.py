"""Limits of each client address, and evictions."""

from collections.abc import Iterator

import pytest
import trio
import trio.testing

from rpc.http.connection_limits import (
    QUIET_SECONDS_MIN,
    ClientResource,
    ClientUsage,
    ConnectionLimiter,
    ConnectionLimits,
    address_of,
    limits_for,
)

REMOTE = "192.0.2.{}"


class Door:
    """A limiter, and the evicted connections."""

    def __init__(self, bounds: ConnectionLimits) -> None:
        self.limiter = ConnectionLimiter(bounds)
        self.cut: list[ClientUsage] = []

    def enter(self, host: str) -> ClientUsage:
        """Register a connection."""
        usage = self.limiter.register(host, lambda: self.cut.append(entered))
        assert usage is not None
        entered = usage
        return usage

    def enter_some(self, host: str, count: int) -> list[ClientUsage]:
        """Register `count` connections."""
        return [self.enter(host) for _ in range(count)]


@pytest.fixture
async def door() -> Door:
    """80 connections, of which 10 are for this machine, and 40 for each address; 20 requests, 20 sockets."""
    return Door(ConnectionLimits(80, 20, 20))


@pytest.mark.parametrize(
    ("host", "address", "is_loopback"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.8.9.1", "127.8.9.1", True),
        ("::1", "::1", True),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
        ("10.0.0.1", "10.0.0.1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", False),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", False),
        ("2001:db8:1:2::", "2001:db8:1:2::/64", False),
        ("fe80::1%eth0", "fe80::/64", False),
        ("", "", False),
        ("nonsense", "nonsense", False),
    ],
)
def test_what_stands_for_a_client(host: str, address: str, is_loopback: bool) -> None:
    assert address_of(host) == (address, is_loopback)


async def test_an_address_pays_for_its_own_newcomers(door: Door) -> None:
    other = door.enter(REMOTE.format(2))
    first = door.enter_some(REMOTE.format(1), 40)
    late = door.enter(REMOTE.format(1))
    assert door.cut == first[:1]
    assert not late.is_gone
    assert not other.is_gone


async def test_when_all_is_full_the_address_that_holds_most_pays(door: Door) -> None:
    most = door.enter_some(REMOTE.format(1), 38)
    door.enter_some(REMOTE.format(2), 32)
    door.enter(REMOTE.format(3))
    assert door.cut == most[:1]


async def test_of_many_addresses_the_oldest_connection_pays(door: Door) -> None:
    guests = [door.enter(REMOTE.format(i)) for i in range(70)]
    door.enter(REMOTE.format(200))
    assert door.cut == guests[:1]


async def test_a_part_is_kept_for_this_machine(door: Door) -> None:
    for i in range(70):
        door.enter(REMOTE.format(i))
    door.enter_some("127.0.0.1", 10)
    assert door.cut == []


async def test_whom_the_node_works_for_stays_and_who_was_heard_of_goes_last(door: Door, autojump_clock: trio.testing.MockClock) -> None:
    first, second, third, *_ = door.enter_some(REMOTE.format(1), 40)
    first.requests_in_progress = 1
    await trio.sleep(1)
    door.limiter.touch(second)
    door.enter(REMOTE.format(1))
    assert door.cut == [third]


async def test_a_newcomer_gets_nothing_from_those_the_node_works_for(door: Door) -> None:
    for usage in door.enter_some(REMOTE.format(1), 40):
        usage.requests_in_progress = 1
    assert door.limiter.register(REMOTE.format(1), lambda: None) is None
    assert door.limiter.register(REMOTE.format(2), lambda: None) is not None


async def test_requests_are_taken_from_slow_ones(door: Door) -> None:
    slow = door.enter(REMOTE.format(1))
    assert all(door.limiter.acquire(slow, ClientResource.REQUESTS) for _ in range(10))
    assert not door.limiter.acquire(slow, ClientResource.REQUESTS)
    quick = door.enter(REMOTE.format(1))
    assert door.limiter.acquire(quick, ClientResource.REQUESTS)
    assert door.cut == [slow]
    assert not door.limiter.acquire(slow, ClientResource.REQUESTS)
    assert not door.limiter.acquire(quick, ClientResource.REQUESTS, 10)


async def test_a_websocket_gives_way_when_it_was_silent_for_long(door: Door, autojump_clock: trio.testing.MockClock) -> None:
    sockets = door.enter_some(REMOTE.format(1), 11)
    assert all(door.limiter.acquire(usage, ClientResource.SOCKETS) for usage in sockets[:10])
    assert not door.limiter.acquire(sockets[10], ClientResource.SOCKETS)
    await trio.sleep(QUIET_SECONDS_MIN + 1)
    door.limiter.touch(sockets[0])
    assert door.limiter.acquire(sockets[10], ClientResource.SOCKETS)
    assert door.cut == [sockets[1]]


async def test_nothing_is_kept_of_those_who_left(door: Door) -> None:
    def tables() -> Iterator[int]:
        yield len(door.limiter._connections)
        yield len(door.limiter._used_by)
        yield sum(door.limiter._used)

    for usage in [door.enter(REMOTE.format(i)) for i in range(100)]:
        door.limiter.acquire(usage, ClientResource.REQUESTS)
        door.limiter.unregister(usage)
        door.limiter.unregister(usage)
        door.limiter.release(usage, ClientResource.REQUESTS)
        door.limiter.touch(usage)
    assert list(tables()) == [0, 0, 0]


def test_bounds_follow_from_the_number_of_connections() -> None:
    assert limits_for(4096) == ConnectionLimits(4096, 1024, 1024)
    assert limits_for(1) == ConnectionLimits(1, 1, 1, subscriptions=4, streams=1)
