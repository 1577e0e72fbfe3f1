"""`QueryMemory`: limits the memory of data that only queries read, such as lazy orders and the views of plugins.

This data is derived from the state, so it can be dropped at any time and made again at its next read. Above the limit, the data that no
read has used for the longest time is dropped. Some data is **held**, because dropping it would make a read start over without end, or a
rule wait: data that is being made, that the current read has used, that a waiting read (`NotReady`) has used, or that rules read. Unless it
is used again, it is held for HELD_PERIODS. The limit can therefore be exceeded for some seconds, by the size of the data made in them.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from itertools import takewhile

HELD_PERIODS = 2


class QueryData(ABC):
    """Base of data that a `QueryMemory` limits."""

    __slots__ = ("held_until", "used_at", "was_dropped")

    def __init__(self) -> None:
        self.used_at = self.held_until = 0
        self.was_dropped = False

    @property
    @abstractmethod
    def memory_size(self) -> int:
        """The approximate memory in bytes."""

    @abstractmethod
    def drop(self) -> None:
        """Free the memory. The next read makes the data again. Called between reads."""


class QueryMemory:
    """The data of one state that only queries read. `limit` is the maximum of `size`, in bytes. `dropped` counts the drops of data."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self.size = self.dropped = 0
        self._sizes: OrderedDict[QueryData, int] = OrderedDict()  # in the order of `used_at`
        self._uses = self._read_began = self._period = 0

    def __len__(self) -> int:
        return len(self._sizes)

    def begin_read(self) -> None:
        """Begin a query."""
        self._read_began = self._uses

    def used(self, data: QueryData, is_query: bool) -> None:
        """Record a read of data by a query or a rule."""
        self._uses += 1
        data.used_at = self._uses
        data.held_until = 0 if is_query else self._period + HELD_PERIODS
        if data in self._sizes:
            self._sizes.move_to_end(data)

    def resized(self, data: QueryData) -> None:
        """Record the size of data that is being made or that has changed, and drop other data if the limit is exceeded."""
        self.used(data, is_query=False)
        size = data.memory_size
        self.size += size - self._sizes.get(data, 0)
        self._sizes[data] = size
        self._enforce()

    def hold_used(self) -> None:
        """Hold the data that the current query has used, since it will be repeated."""
        for data in takewhile(self._is_in_use, reversed(self._sizes)):
            data.held_until = self._period + HELD_PERIODS

    def remove(self, data: QueryData) -> None:
        """Remove data that no longer exists."""
        self.size -= self._sizes.pop(data, 0)

    def has_room(self, size: int) -> bool:
        """Whether `size` more bytes are within the limit."""
        return self.limit is None or self.size + size <= self.limit

    def end_period(self) -> None:
        """End a period of some seconds. Data that was held for HELD_PERIODS can now be dropped."""
        self._period += 1
        self._read_began = self._uses
        self._enforce()

    def _is_in_use(self, data: QueryData) -> bool:
        """Whether the current query has used the data."""
        return data.used_at > self._read_began

    def _enforce(self) -> None:
        while self.limit is not None and self.size > self.limit:
            data = next((data for data in self._sizes if data.held_until <= self._period), None)
            if data is None or self._is_in_use(data):
                break
            self.remove(data)
            data.was_dropped = True
            data.drop()
            self.dropped += 1
