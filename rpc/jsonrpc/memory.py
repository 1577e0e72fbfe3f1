"""Limits the memory that clients use in the node: received bodies, their decoded values, partial replies of batches, and unsent replies.

All callers without local rights share one limit, and all callers with local rights share another. A request is admitted if the memory that
its address then uses is at most the memory that then remains free. A small amount per address is always allowed. If a request doesn't fit,
the node evicts a connection of an address that uses more, unless a request on that connection is in progress.
"""

from collections.abc import Callable
from typing import Protocol

from rpc.caller import Caller
from state.protocol.errors import Refused

# The two limits, in bytes of estimated memory.
REMOTE_SIZE_MAX, LOCAL_SIZE_MAX = 128 * 2**20, 1_000_000_000
# Bytes beyond the limit that are reserved for addresses that use at most LITTLE_SIZE. They are sufficient for all open requests.
KEPT_SIZE, LITTLE_SIZE = 32 * 2**20, 32 * 2**10


class Connection(Protocol):
    """A connection that can be evicted: it counts its requests in progress, and `abort` closes it."""

    requests_in_progress: int
    abort: Callable[[], None]


class Overloaded(Refused):
    """Raised when an address has reached its memory limit."""


class MemoryLimiter:
    """Memory limits for all requests. Each request gets a `MemoryReservation`."""

    def __init__(self, remote_size_max: int = REMOTE_SIZE_MAX, local_size_max: int = LOCAL_SIZE_MAX) -> None:
        self._remote, self._local = _Pool(remote_size_max), _Pool(local_size_max)

    def reserve(self, caller: Caller, connection: Connection | None = None) -> "MemoryReservation":
        """Return an empty reservation for a request. A request without a connection can't be evicted."""
        return MemoryReservation(self._local if caller.is_local else self._remote, caller.address, connection)

    def used(self) -> dict[str, tuple[int, int]]:
        """Return the total usage and the limit in bytes, keyed by metric name, separately for callers with and without local rights."""
        return {"bytes": (self._local.size, self._local.size_max), "remote_bytes": (self._remote.size, self._remote.size_max)}


class MemoryReservation:
    """The memory reserved for a request, in bytes. As a context manager, it releases all of the memory on exit."""

    def __init__(self, pool: "_Pool", address: str, connection: Connection | None) -> None:
        self.address, self.connection, self.size = address, connection, 0
        self._pool = pool

    def __enter__(self) -> "MemoryReservation":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def add(self, size: int) -> None:
        """Reserve `size` more bytes. Raises Overloaded if they don't fit."""
        self._pool.make_room(self, size)
        self._pool.count(self, size)

    def release(self) -> None:
        """Release all reserved memory."""
        if self.size:
            self._pool.count(self, -self.size)


class _Pool:
    """The reservations that share one limit."""

    def __init__(self, size_max: int) -> None:
        self.size, self.size_max = 0, size_max
        self._sizes: dict[str, int] = {}
        self._held: dict[MemoryReservation, None] = {}

    def count(self, held: MemoryReservation, size: int) -> None:
        """Add `size` bytes to a reservation and to the totals. A negative `size` releases memory."""
        held.size += size
        self.size += size
        usage = self._sizes.get(held.address, 0) + size
        if usage:
            self._sizes[held.address] = usage
        else:
            self._sizes.pop(held.address, None)
        if held.size:
            self._held.setdefault(held)
        else:
            self._held.pop(held, None)

    def make_room(self, held: MemoryReservation, size: int) -> None:
        """Evict connections until a reservation can grow by `size` bytes. Raises Overloaded if that is impossible."""
        while not self._has_room(usage := self._sizes.get(held.address, 0) + size, size):
            connection = self._eviction_candidate(held, usage)
            if connection is None:
                raise Overloaded(
                    "The requests and unsent replies of this address would use ${held} bytes of memory, and an address may use as much as "
                    "is free: ${all} of ${max} bytes are in use. Send less at once, take the replies, and try again",
                    condition="held <= free",
                    held=usage,
                    all=self.size,
                    max=self.size_max,
                )
            for one in [one for one in self._held if one.connection is connection]:
                one.release()
            connection.abort()

    def _has_room(self, usage: int, size: int) -> bool:
        """Whether `size` more bytes fit for an address that would then use `usage` bytes."""
        free = self.size_max - self.size - size
        return usage <= free or (usage <= LITTLE_SIZE and free >= -KEPT_SIZE)

    def _eviction_candidate(self, newcomer: MemoryReservation, usage: int) -> Connection | None:
        """Return the oldest connection of the address with the largest usage above `usage`. Connections of the newcomer's own address
        qualify, too.
        """
        largest, found = 0, None
        for held in self._held:
            size = self._sizes[held.address]
            if held.connection is None or held.connection is newcomer.connection or held.connection.requests_in_progress or size <= largest:
                continue
            if size > usage or held.address == newcomer.address:
                largest, found = size, held.connection
        return found
