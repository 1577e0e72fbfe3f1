"""Limits per client address, and the eviction of connections."""

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


class Limiter:
    """A limiter, and the list of connections that it evicted."""

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
async def limits() -> Limiter:
    """A limiter with 80 connections, of which 10 are reserved for this machine. An address can have 40. There can be 20 requests and 20
    WebSockets.
    """
    return Limiter(ConnectionLimits(80, 20, 20))


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
def test_client_address(host: str, address: str, is_loopback: bool) -> None:
    assert address_of(host) == (address, is_loopback)


async def test_address_at_its_limit_loses_its_oldest_connection(limits: Limiter) -> None:
    other = limits.enter(REMOTE.format(2))
    first = limits.enter_some(REMOTE.format(1), 40)
    late = limits.enter(REMOTE.format(1))
    assert limits.cut == first[:1]
    assert not late.is_gone
    assert not other.is_gone


async def test_full_node_evicts_from_heaviest_address(limits: Limiter) -> None:
    most = limits.enter_some(REMOTE.format(1), 38)
    limits.enter_some(REMOTE.format(2), 32)
    limits.enter(REMOTE.format(3))
    assert limits.cut == most[:1]


async def test_full_node_evicts_oldest_of_equal_addresses(limits: Limiter) -> None:
    guests = [limits.enter(REMOTE.format(i)) for i in range(70)]
    limits.enter(REMOTE.format(200))
    assert limits.cut == guests[:1]


async def test_connections_are_reserved_for_loopback(limits: Limiter) -> None:
    for i in range(70):
        limits.enter(REMOTE.format(i))
    limits.enter_some("127.0.0.1", 10)
    assert limits.cut == []


async def test_eviction_spares_busy_and_recently_active_connections(limits: Limiter, autojump_clock: trio.testing.MockClock) -> None:
    first, second, third, *_ = limits.enter_some(REMOTE.format(1), 40)
    first.requests_in_progress = 1
    await trio.sleep(1)
    limits.limiter.touch(second)
    limits.enter(REMOTE.format(1))
    assert limits.cut == [third]


async def test_new_connection_is_refused_when_all_are_busy(limits: Limiter) -> None:
    for usage in limits.enter_some(REMOTE.format(1), 40):
        usage.requests_in_progress = 1
    assert limits.limiter.register(REMOTE.format(1), lambda: None) is None
    assert limits.limiter.register(REMOTE.format(2), lambda: None) is not None


async def test_new_request_evicts_slow_connection(limits: Limiter) -> None:
    slow = limits.enter(REMOTE.format(1))
    assert all(limits.limiter.acquire(slow, ClientResource.REQUESTS) for _ in range(10))
    assert not limits.limiter.acquire(slow, ClientResource.REQUESTS)
    quick = limits.enter(REMOTE.format(1))
    assert limits.limiter.acquire(quick, ClientResource.REQUESTS)
    assert limits.cut == [slow]
    assert not limits.limiter.acquire(slow, ClientResource.REQUESTS)
    assert not limits.limiter.acquire(quick, ClientResource.REQUESTS, 10)


async def test_long_silent_websocket_is_evicted(limits: Limiter, autojump_clock: trio.testing.MockClock) -> None:
    sockets = limits.enter_some(REMOTE.format(1), 11)
    assert all(limits.limiter.acquire(usage, ClientResource.SOCKETS) for usage in sockets[:10])
    assert not limits.limiter.acquire(sockets[10], ClientResource.SOCKETS)
    await trio.sleep(QUIET_SECONDS_MIN + 1)
    limits.limiter.touch(sockets[0])
    assert limits.limiter.acquire(sockets[10], ClientResource.SOCKETS)
    assert limits.cut == [sockets[1]]


async def test_closed_connections_leave_no_entries(limits: Limiter) -> None:
    def tables() -> Iterator[int]:
        yield len(limits.limiter._connections)
        yield len(limits.limiter._used_by)
        yield sum(limits.limiter._used)

    for usage in [limits.enter(REMOTE.format(i)) for i in range(100)]:
        limits.limiter.acquire(usage, ClientResource.REQUESTS)
        limits.limiter.unregister(usage)
        limits.limiter.unregister(usage)
        limits.limiter.release(usage, ClientResource.REQUESTS)
        limits.limiter.touch(usage)
    assert list(tables()) == [0, 0, 0]


def test_bounds_follow_from_the_number_of_connections() -> None:
    assert limits_for(4096) == ConnectionLimits(4096, 1024, 1024)
    assert limits_for(1) == ConnectionLimits(1, 1, 1, subscriptions=4, streams=1)
