"""Round-robin queueing by client address, so that one client's backlog doesn't delay other clients."""

from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import trio
from msgspec import Struct

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Queue of items by client address ("" for the node itself). Addresses take turns; items of the same address stay in order."""

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[Item]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, item: Item, address: str = "") -> None:
        """Append an item to the queue of an address."""
        queue = self._queues.get(address)
        if queue is None:
            queue = self._queues[address] = deque()
        queue.append(item)
        self._length += 1

    def take(self) -> Item | None:
        """Remove and return the next item. Return None if the queue is empty."""
        if not self._queues:
            return None
        self._length -= 1
        address, queue = self._queues.popitem(last=False)
        item = queue.popleft()
        if queue:
            self._queues[address] = queue
        return item


class _Waiter(Struct, eq=False):
    """A task that waits for a slot. If it has stopped waiting, it is skipped."""

    admitted: trio.Event
    has_gone: bool = False


class FairLimiter:
    """Capacity limiter with `places` slots. Tasks that wait get slots round-robin by address."""

    def __init__(self, places: int) -> None:
        self.free = places  # the number of free slots
        self._waiting: FairQueue[_Waiter] = FairQueue()

    def enter_nowait(self) -> None:
        """Acquire a slot. The caller must know that one is free."""
        assert self.free, "a slot is free"
        self.free -= 1

    async def enter(self, address: str) -> None:
        """Acquire a slot for an address. If none is free, wait for one. This is a checkpoint only if it waits."""
        if self.free:
            self.free -= 1
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
        """Context manager that acquires a slot and releases it on exit."""
        await self.enter(address)
        try:
            yield
        finally:
            self.leave()

    def leave(self) -> None:
        """Release a slot. It goes to the next waiting task, if there is one."""
        while (waiter := self._waiting.take()) is not None:
            if not waiter.has_gone:
                waiter.admitted.set()
                return
        self.free += 1
