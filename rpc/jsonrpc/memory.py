"""The memory that clients make the node hold: bodies that arrive, the values read from them, answers so far, replies that nobody takes.

All callers without local rights share one limit, and those with local rights another. An address may hold as much as all leave free, and a
little in any case. For a request that finds no room, a connection is closed that the node isn't working for, of an address that holds
more. It knows no protocol.
"""

from collections.abc import Callable
from typing import Protocol

from rpc.caller import Caller
from state.protocol.errors import Refused

# Bytes of memory, by estimate.
REMOTE_SIZE_MAX, LOCAL_SIZE_MAX = 128 * 2**20, 1_000_000_000
# Beyond that, for addresses that hold little: as many of them as there may be open requests.
KEPT_SIZE, LITTLE_SIZE = 32 * 2**20, 32 * 2**10


class Connection(Protocol):
    """A connection: how many of its requests the node works on, and what closes it."""

    working: int
    abort: Callable[[], None]


class Overloaded(Refused):
    """An address would hold more than it may."""


class MemoryLimiter:
    """What all requests hold; each of them by a `MemoryReservation`."""

    def __init__(self, remote_size_max: int = REMOTE_SIZE_MAX, local_size_max: int = LOCAL_SIZE_MAX) -> None:
        self._remote, self._local = _Pool(remote_size_max), _Pool(local_size_max)

    def reserve(self, caller: Caller, connection: Connection | None = None) -> "MemoryReservation":
        """Return what a request of a caller holds, nothing yet. Without a connection it never gives way to others."""
        return MemoryReservation(self._local if caller.is_local else self._remote, caller.address, connection)

    def used(self) -> dict[str, tuple[int, int]]:
        """Return how many bytes all hold, with local rights and without, by the names of metrics, and how many they may."""
        return {"bytes": (self._local.size, self._local.size_max), "remote_bytes": (self._remote.size, self._remote.size_max)}


class MemoryReservation:
    """What one request holds. As a context it holds nothing any more at the end."""

    def __init__(self, pool: "_Pool", address: str, connection: Connection | None) -> None:
        self.address, self.connection, self.size = address, connection, 0
        self._pool = pool

    def __enter__(self) -> "MemoryReservation":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def add(self, size: int) -> None:
        """Hold so many bytes more. Raises Overloaded."""
        self._pool.make_room(self, size)
        self._pool.count(self, size)

    def release(self) -> None:
        """Hold nothing any more."""
        if self.size:
            self._pool.count(self, -self.size)


class _Pool:
    """The bytes that are held within one limit."""

    def __init__(self, size_max: int) -> None:
        self.size, self.size_max = 0, size_max
        self._sizes: dict[str, int] = {}
        self._held: dict[MemoryReservation, None] = {}

    def count(self, held: MemoryReservation, size: int) -> None:
        """Add to what a request holds."""
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
        """Close connections until a request may hold so many bytes more. Raises Overloaded."""
        while not self._has_room(here := self._sizes.get(held.address, 0) + size, size):
            connection = self._eviction_candidate(held, here)
            if connection is None:
                raise Overloaded(
                    "The requests of this address, and the replies that it has not taken, would hold ${held} bytes of memory, and an "
                    "address may hold as much as is left: all hold ${all} of ${max} bytes. Send less at once, take the replies, "
                    "and try again",
                    condition="held <= free",
                    held=here,
                    all=self.size,
                    max=self.size_max,
                )
            for one in [one for one in self._held if one.connection is connection]:
                one.release()
            connection.abort()

    def _has_room(self, here: int, size: int) -> bool:
        """Whether an address that holds `here` bytes then may hold `size` more."""
        free = self.size_max - self.size - size
        return here <= free or (here <= LITTLE_SIZE and free >= -KEPT_SIZE)

    def _eviction_candidate(self, newcomer: MemoryReservation, here: int) -> Connection | None:
        """Return the connection that has to go: the oldest of the address that holds most, or of the newcomer's own."""
        most, found = 0, None
        for held in self._held:
            size = self._sizes[held.address]
            if held.connection is None or held.connection is newcomer.connection or held.connection.working or size <= most:
                continue
            if size > here or held.address == newcomer.address:
                most, found = size, held.connection
        return found
