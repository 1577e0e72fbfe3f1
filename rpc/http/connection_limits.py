"""Connection limits: what each client address uses of connections, requests and WebSockets, and which connection is evicted when a limit is
reached.

Every resource has a total limit, part of which is reserved for programs on this machine, and a limit per address. At a limit, the oldest
connection of the address with the largest usage is evicted, unless the node is working for it. So no client can lock out others by holding
resources.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

import trio
from msgspec import Struct

CONNECTIONS_MAX = 4096
# One in this many connections can be a WebSocket, or have an open request. The rest can always be evicted.
SOCKETS_SHARE, REQUESTS_SHARE = 4, 4
# One in this many connections can be a block stream; subscriptions per possible WebSocket.
STREAMS_SHARE, SUBSCRIPTIONS_TIMES = 16, 4
# An address may use 1/ADDRESS_SHARE of a limit; 1/LOCAL_SHARE is reserved for loopback addresses.
ADDRESS_SHARE, LOCAL_SHARE = 2, 8
# A WebSocket can be evicted for another one after this time without messages.
QUIET_SECONDS_MIN = 60
# The network of one client, since a client with an IPv6 address usually has its whole /64.
IPV6_PREFIX = 64
ADDRESSES_KEPT_MAX = 4096


class ClientResource(IntEnum):
    """A limited resource that clients use."""

    CONNECTIONS = 0
    REQUESTS = 1
    SOCKETS = 2
    SUBSCRIPTIONS = 3
    STREAMS = 4


# As a number, since using an enumeration member takes nine times as long.
_REQUESTS = int(ClientResource.REQUESTS)
# A WebSocket is evicted for these resources only after QUIET_SECONDS_MIN.
_OF_SOCKETS = (ClientResource.SOCKETS, ClientResource.SUBSCRIPTIONS)


class ConnectionLimits(Struct, frozen=True):
    """Total limit of each resource."""

    connections: int
    requests: int
    sockets: int
    subscriptions: int = CONNECTIONS_MAX // SOCKETS_SHARE * SUBSCRIPTIONS_TIMES
    streams: int = CONNECTIONS_MAX // STREAMS_SHARE


class ClientUsage:
    """Usage of a client connection: its address, the resources it uses, the time of its last complete request or reply, and its requests in
    progress.
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
    """Limits the resources of all connections; keeps them by address, in the order of their last activity."""

    def __init__(self, bounds: ConnectionLimits) -> None:
        self._bounds = [bounds.connections, bounds.requests, bounds.sockets, bounds.subscriptions, bounds.streams]
        self._address_bounds = [max(1, bound // ADDRESS_SHARE) for bound in self._bounds]
        self._remote_bounds = [bound - bound // LOCAL_SHARE for bound in self._bounds]
        self._used = [0] * len(ClientResource)
        self._used_by: dict[str, list[int]] = {}
        self._connections: dict[str, dict[ClientUsage, None]] = {}

    def used(self) -> dict[str, tuple[int, int]]:
        """Return the total usage and limit of each resource, by name."""
        return {kind.name.lower(): (self._used[kind], self._bounds[kind]) for kind in ClientResource}

    def register(self, host: str, cut: Callable[[], None]) -> ClientUsage | None:
        """Register a connection from an address. Return None if no connection can be evicted for it. `cut` closes it at once."""
        address, is_loopback = address_of(host)
        usage = ClientUsage(address, is_loopback, cut)
        if not self.acquire(usage, ClientResource.CONNECTIONS):
            return None
        self._connections.setdefault(address, {})[usage] = None
        return usage

    def unregister(self, usage: ClientUsage) -> None:
        """Remove a connection and release its resources."""
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
        """Acquire a resource for a connection, if need be by evicting others. Return whether that succeeded."""
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
        """Whether one more request fits within the limits without evicting another connection."""
        if usage.is_gone or self._used_by[usage.address][_REQUESTS] >= self._address_bounds[_REQUESTS]:
            return False
        return self._used[_REQUESTS] < (self._bounds if usage.is_loopback else self._remote_bounds)[_REQUESTS]

    @contextmanager
    def working(self, usage: ClientUsage) -> Iterator[None]:
        """Count a request, for which `has_room` was true, as open and in progress within the context."""
        self._add(usage, ClientResource.REQUESTS, 1)
        usage.working += 1
        try:
            yield
        finally:
            usage.working -= 1
            self.release(usage, ClientResource.REQUESTS)

    def release(self, usage: ClientUsage, kind: ClientResource, amount: int = 1) -> None:
        """Release a resource of a connection."""
        if not usage.is_gone:
            self._add(usage, kind, -amount)

    def touch(self, usage: ClientUsage) -> None:
        """Record a complete request or reply of a connection as its last activity."""
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
        """Return the address from which to evict a connection before this one can have more; None if there is room."""
        here = self._used_by.get(usage.address)
        if here is not None and here[kind] + amount > self._address_bounds[kind]:
            return usage.address
        bounds = self._bounds if usage.is_loopback else self._remote_bounds
        if self._used[kind] + amount <= bounds[kind]:
            return None
        # Among addresses with equal usage, that with the least recently active connection.
        return max(
            self._connections, key=lambda address: (self._used_by[address][kind], -next(iter(self._connections[address])).since), default=""
        )

    def _eviction_candidate(self, address: str, kind: ClientResource, newcomer: ClientUsage) -> ClientUsage | None:
        """Return the least recently active connection of an address that can be evicted, or None."""
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
    """Return the limits of a node with at most `connections` connections."""
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
    """Return the limit key of a client (its IPv4 address or the /64 of its IPv6 address), and whether it is a loopback address."""
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
