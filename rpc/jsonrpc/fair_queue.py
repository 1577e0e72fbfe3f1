"""Queues from which the clients are served in turn, however much one of them puts in."""

from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import trio
from msgspec import Struct

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Items by the address of a client, "" for the node itself. Each address has its turn, with the oldest item that it has."""

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[Item]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, item: Item, address: str = "") -> None:
        """Add an item."""
        queue = self._queues.get(address)
        if queue is None:
            queue = self._queues[address] = deque()
        queue.append(item)
        self._length += 1

    def take(self) -> Item | None:
        """Remove and return the next item, None when there is none."""
        if not self._queues:
            return None
        self._length -= 1
        address, queue = self._queues.popitem(last=False)
        item = queue.popleft()
        if queue:
            self._queues[address] = queue
        return item


class _Waiter(Struct, eq=False):
    """A task that waits for a place; one that has gone is passed over."""

    admitted: trio.Event
    has_gone: bool = False


class FairLimiter:
    """Lets so many tasks in at a time; those of one address after the other."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: FairQueue[_Waiter] = FairQueue()

    @property
    def is_full(self) -> bool:
        """Whether the next task waits."""
        return not self._free

    def enter_nowait(self) -> None:
        """Take a free place."""
        assert self._free, "there is a place"
        self._free -= 1

    async def enter(self, address: str) -> None:
        """Take a place, once there is one for this address; a checkpoint only where it has to wait."""
        if self._free:
            self._free -= 1
            return
        waiter = _Waiter(trio.Event())
        self._waiting.put(waiter, address)
        try:
            await waiter.admitted.wait()
        except BaseException:
            waiter.has_gone = True
            if waiter.admitted.is_set():
                self.leave()
            raise

    @asynccontextmanager
    async def place(self, address: str) -> AsyncIterator[None]:
        """Have a place for a while."""
        await self.enter(address)
        try:
            yield
        finally:
            self.leave()

    def leave(self) -> None:
        """Give a place back."""
        while (waiter := self._waiting.take()) is not None:
            if not waiter.has_gone:
                waiter.admitted.set()
                return
        self._free += 1
