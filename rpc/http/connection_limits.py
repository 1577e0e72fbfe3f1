"""Who is connected: what each client address holds of connections, requests and WebSockets, and who gives way when one of them runs out.
It knows no protocol.

Everything that a client can hold has a bound for all together, of which a part is kept for programs on this machine, and one for each
address. Where a bound is reached, the newcomer gets what the oldest connection of the address that holds most has to give up, as long as
the node isn't working for that one: so nobody can keep others out by holding on to something.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

import trio
from msgspec import Struct

CONNECTIONS_MAX = 4096
# The part of the connections that may be WebSockets, and that may have a request open. The rest can always be closed for somebody else.
SOCKETS_SHARE, REQUESTS_SHARE = 4, 4
# The part that may be streams of blocks, and how many subscriptions there may be for each connection that may be a WebSocket.
STREAMS_SHARE, SUBSCRIPTIONS_TIMES = 16, 4
# An address may hold one part in ADDRESS_SHARE; one part in LOCAL_SHARE is for loopback addresses only.
ADDRESS_SHARE, LOCAL_SHARE = 2, 8
# A WebSocket gives way to another one after it was silent for so long.
QUIET_SECONDS_MIN = 60
# The network of one client: who has an IPv6 address has all addresses of its /64.
IPV6_PREFIX = 64
ADDRESSES_KEPT_MAX = 4096


class ClientResource(IntEnum):
    """What a client can hold."""

    CONNECTIONS = 0
    REQUESTS = 1
    SOCKETS = 2
    SUBSCRIPTIONS = 3
    STREAMS = 4


# A member of an enumeration takes nine times as long to find and use as a number.
_REQUESTS = int(ClientResource.REQUESTS)
# A WebSocket gives way to others that want one of these only after it was silent for long.
_OF_SOCKETS = (ClientResource.SOCKETS, ClientResource.SUBSCRIPTIONS)


class ConnectionLimits(Struct, frozen=True):
    """How much all clients together may hold of each kind."""

    connections: int
    requests: int
    sockets: int
    subscriptions: int = CONNECTIONS_MAX // SOCKETS_SHARE * SUBSCRIPTIONS_TIMES
    streams: int = CONNECTIONS_MAX // STREAMS_SHARE


class ClientUsage:
    """One connection: whose it is, what it holds, since when it has neither sent a whole request nor taken a whole reply, and how many
    of its requests the node is working on.
    """

    def __init__(self, address: str, is_loopback: bool, cut: Callable[[], None]) -> None:
        self.address = address
        self.is_loopback = is_loopback
        self.abort = cut
        self.used = [0] * len(ClientResource)
        self.since = trio.current_time()
        self.working = 0
        self.is_gone = False


class ConnectionLimiter:
    """All connections, by address and from the one that was heard of least recently to the last."""

    def __init__(self, bounds: ConnectionLimits) -> None:
        self._bounds = [bounds.connections, bounds.requests, bounds.sockets, bounds.subscriptions, bounds.streams]
        self._address_bounds = [max(1, bound // ADDRESS_SHARE) for bound in self._bounds]
        self._remote_bounds = [bound - bound // LOCAL_SHARE for bound in self._bounds]
        self._used = [0] * len(ClientResource)
        self._used_by: dict[str, list[int]] = {}
        self._connections: dict[str, dict[ClientUsage, None]] = {}

    def used(self) -> dict[str, tuple[int, int]]:
        """Return how much all connections hold of each kind, by its name, and how much they may."""
        return {kind.name.lower(): (self._used[kind], self._bounds[kind]) for kind in ClientResource}

    def register(self, host: str, cut: Callable[[], None]) -> ClientUsage | None:
        """Take in a connection from an address; None when there is no room for it. `abort` closes it at once."""
        address, is_loopback = address_of(host)
        usage = ClientUsage(address, is_loopback, cut)
        if not self.acquire(usage, ClientResource.CONNECTIONS):
            return None
        self._connections.setdefault(address, {})[usage] = None
        return usage

    def unregister(self, usage: ClientUsage) -> None:
        """Forget a connection and what it held."""
        if usage.is_gone:
            return
        usage.is_gone = True
        for kind, amount in enumerate(usage.used):
            self._add(usage, kind, -amount)
        here = self._connections.get(usage.address, {})
        here.pop(usage, None)
        if not here:
            self._connections.pop(usage.address, None)
            self._used_by.pop(usage.address, None)

    def acquire(self, usage: ClientUsage, kind: ClientResource, amount: int = 1) -> bool:
        """Let a connection have more of something, if need be at the cost of others; whether it got it."""
        if usage.is_gone:
            return False
        while (crowded := self._exceeded_limit(usage, kind, amount)) is not None:
            loser = self._eviction_candidate(crowded, kind, usage)
            if loser is None:
                return False
            self.unregister(loser)
            loser.abort()
        self._add(usage, kind, amount)
        return True

    def has_room(self, usage: ClientUsage) -> bool:
        """Whether a connection could have one more request without anybody giving way to it."""
        if usage.is_gone or self._used_by[usage.address][_REQUESTS] >= self._address_bounds[_REQUESTS]:
            return False
        return self._used[_REQUESTS] < (self._bounds if usage.is_loopback else self._remote_bounds)[_REQUESTS]

    @contextmanager
    def working(self, usage: ClientUsage) -> Iterator[None]:
        """Count a request, for which there is room, as open and as worked on."""
        self._add(usage, ClientResource.REQUESTS, 1)
        usage.working += 1
        try:
            yield
        finally:
            usage.working -= 1
            self.release(usage, ClientResource.REQUESTS)

    def release(self, usage: ClientUsage, kind: ClientResource, amount: int = 1) -> None:
        """Take back what a connection has got."""
        if not usage.is_gone:
            self._add(usage, kind, -amount)

    def touch(self, usage: ClientUsage) -> None:
        """Note that a connection has sent a whole request or taken a whole reply."""
        if not usage.is_gone:
            usage.since = trio.current_time()
            here = self._connections[usage.address]
            del here[usage]
            here[usage] = None

    def _add(self, usage: ClientUsage, kind: int, amount: int) -> None:
        usage.used[kind] += amount
        self._used[kind] += amount
        here = self._used_by.get(usage.address)
        if here is None:
            here = self._used_by[usage.address] = [0] * len(ClientResource)
        here[kind] += amount

    def _exceeded_limit(self, usage: ClientUsage, kind: ClientResource, amount: int) -> str | None:
        """Return the address that has to give up something before a connection can have more; None when there is room."""
        here = self._used_by.get(usage.address)
        if here is not None and here[kind] + amount > self._address_bounds[kind]:
            return usage.address
        bounds = self._bounds if usage.is_loopback else self._remote_bounds
        if self._used[kind] + amount <= bounds[kind]:
            return None
        # Of addresses that hold the same, the one whose oldest connection is the oldest.
        return max(
            self._connections, key=lambda address: (self._used_by[address][kind], -next(iter(self._connections[address])).since), default=""
        )

    def _eviction_candidate(self, address: str, kind: ClientResource, newcomer: ClientUsage) -> ClientUsage | None:
        """Return the connection of an address that has to go, from the oldest on; None when the node is working for all of them."""
        quiet_since = trio.current_time() - QUIET_SECONDS_MIN
        for usage in self._connections.get(address, {}):
            if usage is newcomer or usage.working or not usage.used[kind]:
                continue
            if usage.used[ClientResource.SOCKETS] and (
                kind == ClientResource.CONNECTIONS or (kind in _OF_SOCKETS and usage.since > quiet_since)
            ):
                continue
            return usage
        return None


def limits_for(connections: int = CONNECTIONS_MAX) -> ConnectionLimits:
    """Return the bounds of a node that has room for so many connections."""
    sockets = max(1, connections // SOCKETS_SHARE)
    return ConnectionLimits(
        connections,
        max(1, connections // REQUESTS_SHARE),
        sockets,
        subscriptions=sockets * SUBSCRIPTIONS_TIMES,
        streams=max(1, connections // STREAMS_SHARE),
    )


@lru_cache(ADDRESSES_KEPT_MAX)
def address_of(host: str) -> tuple[str, bool]:
    """Return what stands for a client, its IPv4 address or the /64 of its IPv6 address, and whether it is a loopback one."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host, False
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        elif not address.is_loopback:
            bits = 128 - IPV6_PREFIX
            return f"{IPv6Address(int(address) >> bits << bits)}/{IPV6_PREFIX}", False
    return str(address), address.is_loopback
