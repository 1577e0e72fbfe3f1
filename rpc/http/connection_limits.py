"""Limits the resources that each client address uses (connections, requests, WebSockets), and chooses which connection is evicted at a
limit.

Every resource has a total limit, part of which is reserved for programs on this machine, and a limit per address. At a limit, the node
evicts the least recently active connection of the address with the largest usage, unless a request on it is in progress. No client can
therefore lock out others by holding resources.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

import trio
from msgspec import Struct

CONNECTIONS_MAX = 4096
# Limits on WebSockets and on open requests, as fractions 1/n of the limit on connections. The remaining connections can always be evicted.
WEBSOCKETS_DIVISOR, REQUESTS_DIVISOR = 4, 4
# Limit on block streams, as a fraction 1/n of the limit on connections, and the average number of subscriptions per WebSocket.
STREAMS_DIVISOR, SUBSCRIPTIONS_PER_WEBSOCKET = 16, 4
# An address may use 1/ADDRESS_DIVISOR of a limit, and 1/LOCAL_DIVISOR of each limit is reserved for loopback addresses.
ADDRESS_DIVISOR, LOCAL_DIVISOR = 2, 8
# A WebSocket without messages for this time can be evicted in favour of another one.
QUIET_SECONDS_MIN = 60
# Size of the network that counts as one client, since a client with an IPv6 address usually has a whole /64.
IPV6_PREFIX = 64
ADDRESSES_KEPT_MAX = 4096


class ClientResource(IntEnum):
    """A limited resource that client connections use."""

    CONNECTIONS = 0
    REQUESTS = 1
    SOCKETS = 2
    SUBSCRIPTIONS = 3
    STREAMS = 4


# The values are integers, since using an enumeration member takes nine times as long.
_REQUESTS = int(ClientResource.REQUESTS)
# For these resources, a WebSocket is evicted only after QUIET_SECONDS_MIN without messages.
_WEBSOCKET_RESOURCES = (ClientResource.SOCKETS, ClientResource.SUBSCRIPTIONS)


class ConnectionLimits(Struct, frozen=True):
    """The total limit of each resource."""

    connections: int
    requests: int
    sockets: int
    subscriptions: int = CONNECTIONS_MAX // WEBSOCKETS_DIVISOR * SUBSCRIPTIONS_PER_WEBSOCKET
    streams: int = CONNECTIONS_MAX // STREAMS_DIVISOR


class ClientUsage:
    """What one client connection uses: its address, its resources, the time of its last complete request or reply, and the number of its
    requests in progress.
    """

    def __init__(self, address: str, is_loopback: bool, abort: Callable[[], None]) -> None:
        self.address = address
        self.is_loopback = is_loopback
        self.abort = abort
        self.used = [0] * len(ClientResource)
        self.since = trio.current_time()
        self.requests_in_progress = 0
        self.is_gone = False


class ConnectionLimiter:
    """Limits the resources of all connections. The connections of each address are ordered by their last activity."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = [limits.connections, limits.requests, limits.sockets, limits.subscriptions, limits.streams]
        self._address_limits = [max(1, limit // ADDRESS_DIVISOR) for limit in self._limits]
        self._remote_limits = [limit - limit // LOCAL_DIVISOR for limit in self._limits]
        self._used = [0] * len(ClientResource)
        self._used_by: dict[str, list[int]] = {}
        self._connections: dict[str, dict[ClientUsage, None]] = {}

    def used(self) -> dict[str, tuple[int, int]]:
        """Return the total usage and the limit of each resource, keyed by the resource's name."""
        return {kind.name.lower(): (self._used[kind], self._limits[kind]) for kind in ClientResource}

    def register(self, host: str, abort: Callable[[], None]) -> ClientUsage | None:
        """Register a connection from an address. `abort` closes it. Return None if a limit is reached and nothing can be evicted."""
        address, is_loopback = address_of(host)
        usage = ClientUsage(address, is_loopback, abort)
        if not self.acquire(usage, ClientResource.CONNECTIONS):
            return None
        self._connections.setdefault(address, {})[usage] = None
        return usage

    def unregister(self, usage: ClientUsage) -> None:
        """Unregister a connection and release its resources."""
        if usage.is_gone:
            return
        usage.is_gone = True
        for kind, amount in enumerate(usage.used):
            self._add(usage, kind, -amount)
        of_address = self._connections.get(usage.address, {})
        of_address.pop(usage, None)
        if not of_address:
            self._connections.pop(usage.address, None)
            self._used_by.pop(usage.address, None)

    def acquire(self, usage: ClientUsage, kind: ClientResource, amount: int = 1) -> bool:
        """Acquire a resource for a connection, evicting other connections if necessary. Return whether the resource was acquired."""
        if usage.is_gone:
            return False
        while (address := self._exceeded_limit(usage, kind, amount)) is not None:
            candidate = self._eviction_candidate(address, kind, usage)
            if candidate is None:
                return False
            self.unregister(candidate)
            candidate.abort()
        self._add(usage, kind, amount)
        return True

    def has_room(self, usage: ClientUsage) -> bool:
        """Whether another request of a connection fits within the limits without evicting a connection."""
        if usage.is_gone or self._used_by[usage.address][_REQUESTS] >= self._address_limits[_REQUESTS]:
            return False
        return self._used[_REQUESTS] < (self._limits if usage.is_loopback else self._remote_limits)[_REQUESTS]

    @contextmanager
    def request_in_progress(self, usage: ClientUsage) -> Iterator[None]:
        """Context manager that counts a request as open and in progress. Enter it only after `has_room` has returned True."""
        self._add(usage, ClientResource.REQUESTS, 1)
        usage.requests_in_progress += 1
        try:
            yield
        finally:
            usage.requests_in_progress -= 1
            self.release(usage, ClientResource.REQUESTS)

    def release(self, usage: ClientUsage, kind: ClientResource, amount: int = 1) -> None:
        """Release a resource of a connection."""
        if not usage.is_gone:
            self._add(usage, kind, -amount)

    def touch(self, usage: ClientUsage) -> None:
        """Mark a connection as active now, after a complete request or reply."""
        if not usage.is_gone:
            usage.since = trio.current_time()
            of_address = self._connections[usage.address]
            del of_address[usage]
            of_address[usage] = None

    def _add(self, usage: ClientUsage, kind: int, amount: int) -> None:
        usage.used[kind] += amount
        self._used[kind] += amount
        of_address = self._used_by.get(usage.address)
        if of_address is None:
            of_address = self._used_by[usage.address] = [0] * len(ClientResource)
        of_address[kind] += amount

    def _exceeded_limit(self, usage: ClientUsage, kind: ClientResource, amount: int) -> str | None:
        """Return None if the client of `usage` can get `amount` more of a resource within the limits. Otherwise, return the address of
        which a connection must be evicted first.
        """
        of_address = self._used_by.get(usage.address)
        if of_address is not None and of_address[kind] + amount > self._address_limits[kind]:
            return usage.address
        limits = self._limits if usage.is_loopback else self._remote_limits
        if self._used[kind] + amount <= limits[kind]:
            return None
        # If several addresses have the largest usage, take the one with the least recently active connection.
        return max(
            self._connections, key=lambda address: (self._used_by[address][kind], -next(iter(self._connections[address])).since), default=""
        )

    def _eviction_candidate(self, address: str, kind: ClientResource, newcomer: ClientUsage) -> ClientUsage | None:
        """Return the least recently active connection of an address that can be evicted, or None if there is none."""
        quiet_since = trio.current_time() - QUIET_SECONDS_MIN
        for usage in self._connections.get(address, {}):
            if usage is newcomer or usage.requests_in_progress or not usage.used[kind]:
                continue
            if usage.used[ClientResource.SOCKETS] and (
                kind == ClientResource.CONNECTIONS or (kind in _WEBSOCKET_RESOURCES and usage.since > quiet_since)
            ):
                continue
            return usage
        return None


def limits_for(connections: int = CONNECTIONS_MAX) -> ConnectionLimits:
    """Return the limits of a node with at most `connections` connections."""
    sockets = max(1, connections // WEBSOCKETS_DIVISOR)
    return ConnectionLimits(
        connections,
        max(1, connections // REQUESTS_DIVISOR),
        sockets,
        subscriptions=sockets * SUBSCRIPTIONS_PER_WEBSOCKET,
        streams=max(1, connections // STREAMS_DIVISOR),
    )


@lru_cache(ADDRESSES_KEPT_MAX)
def address_of(host: str) -> tuple[str, bool]:
    """Return the key by which a client is limited, and whether the client's address is a loopback address.

    The key is the IPv4 address, or the /64 network of the IPv6 address.
    """
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
