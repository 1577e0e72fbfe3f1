"""Values that need modules which would take too long to import while the node starts."""

from collections.abc import Callable
from typing import Generic, TypeVar

import trio

Value = TypeVar("Value")


class LazyValue(Generic[Value]):
    """A value whose factory function imports large modules. `get` creates the value once, in a worker thread."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = trio.Lock()
        # A separate limiter, since all threads of trio's default limiter may be waiting for this value.
        self._threads = trio.CapacityLimiter(1)
        self.value: Value | None = None

    def make(self) -> Value:
        """Create the value in the current thread, and return it."""
        self.value = value = self._make()
        return value

    async def get(self) -> Value:
        """Return the value. The first call creates it in a worker thread."""
        async with self._lock:
            return await trio.to_thread.run_sync(self.make, limiter=self._threads) if self.value is None else self.value
