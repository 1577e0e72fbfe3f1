"""Limits the memory that clients use in the node: received bodies, their decoded values, partial replies of batches, and unsent replies.

All callers without local rights share one limit, those with local rights another. An address may use as much as is left free, and a small
amount in any case. If there is no room for a request, a connection of an address with larger usage is evicted, unless the node is working
for it.
"""

from collections.abc import Callable
from typing import Protocol

from rpc.caller import Caller
from state.protocol.errors import Refused

# Estimated bytes of memory.
REMOTE_SIZE_MAX, LOCAL_SIZE_MAX = 128 * 2**20, 1_000_000_000
# Extra bytes for addresses that use at most LITTLE_SIZE, enough for all open requests.
KEPT_SIZE, LITTLE_SIZE = 32 * 2**20, 32 * 2**10


class Connection(Protocol):
    """A connection: the number of its requests in progress, and the function that closes it."""

    working: int
    abort: Callable[[], None]


class Overloaded(Refused):
    """The memory limit of an address is reached."""


class MemoryLimiter:
    """Memory limits of all requests, each of which has a `MemoryReservation`."""

    def __init__(self, remote_size_max: int = REMOTE_SIZE_MAX, local_size_max: int = LOCAL_SIZE_MAX) -> None:
        self._remote, self._local = _Pool(remote_size_max), _Pool(local_size_max)

    def reserve(self, caller: Caller, connection: Connection | None = None) -> "MemoryReservation":
        """Return an empty reservation for a request. Without a connection it can't be evicted."""
        return MemoryReservation(self._local if caller.is_local else self._remote, caller.address, connection)

    def used(self) -> dict[str, tuple[int, int]]:
        """Return the total usage and limit in bytes, with and without local rights, by the names of metrics."""
        return {"bytes": (self._local.size, self._local.size_max), "remote_bytes": (self._remote.size, self._remote.size_max)}


class MemoryReservation:
    """Memory reserved for a request, in bytes. As a context manager, it releases everything at the end."""

    def __init__(self, pool: "_Pool", address: str, connection: Connection | None) -> None:
        self.address, self.connection, self.size = address, connection, 0
        self._pool = pool

    def __enter__(self) -> "MemoryReservation":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def add(self, size: int) -> None:
        """Reserve `size` more bytes. Raises: Overloaded if there is no room."""
        self._pool.make_room(self, size)
        self._pool.count(self, size)

    def release(self) -> None:
        """Release everything."""
        if self.size:
            self._pool.count(self, -self.size)


class _Pool:
    """All reservations under one limit."""

    def __init__(self, size_max: int) -> None:
        self.size, self.size_max = 0, size_max
        self._sizes: dict[str, int] = {}
        self._held: dict[MemoryReservation, None] = {}

    def count(self, held: MemoryReservation, size: int) -> None:
        """Add `size` to a reservation."""
        held.size += size
        self.size += size
        here = self._sizes.get(held.address, 0) + size
        if here:
            self._sizes[held.address] = here
        else:
            self._sizes.pop(held.address, None)
        if held.size:
            self._held.setdefault(held)
        else:
            self._held.pop(held, None)

    def make_room(self, held: MemoryReservation, size: int) -> None:
        """Evict connections until a request may have `size` more bytes. Raises: Overloaded if that is not possible."""
        while not self._has_room(here := self._sizes.get(held.address, 0) + size, size):
            connection = self._eviction_candidate(held, here)
            if connection is None:
                raise Overloaded(
                    "The requests and unsent replies of this address would use ${held} bytes of memory, and an address may use as much as "
                    "is free: ${all} of ${max} bytes are in use. Send less at once, take the replies, and try again",
                    condition="held <= free",
                    held=here,
                    all=self.size,
                    max=self.size_max,
                )
            for one in [one for one in self._held if one.connection is connection]:
                one.release()
            connection.abort()

    def _has_room(self, here: int, size: int) -> bool:
        """Whether an address may reserve `size` more bytes, after which it would have `here`."""
        free = self.size_max - self.size - size
        return here <= free or (here <= LITTLE_SIZE and free >= -KEPT_SIZE)

    def _eviction_candidate(self, newcomer: MemoryReservation, here: int) -> Connection | None:
        """Return the connection to evict: the oldest of the address with the largest usage above `here`, or of the newcomer's own."""
        most, found = 0, None
        for held in self._held:
            size = self._sizes[held.address]
            if held.connection is None or held.connection is newcomer.connection or held.connection.working or size <= most:
                continue
            if size > here or held.address == newcomer.address:
                most, found = size, held.connection
        return found
