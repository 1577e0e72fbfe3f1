"""`LazyValue`, what is loaded only when it is needed: its modules take longer to import than a start may take. It knows nothing of them."""

from collections.abc import Callable
from typing import Generic, TypeVar

import trio

Value = TypeVar("Value")


class LazyValue(Generic[Value]):
    """A value whose making imports much. It is made in a thread, once, when it is first asked for."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = trio.Lock()
        # A thread of its own: those of trio may all be waiting for what is loaded here.
        self._threads = trio.CapacityLimiter(1)
        self.value: Value | None = None

    def make(self) -> Value:
        """Make the value in this thread, and return it."""
        self.value = value = self._make()
        return value

    async def get(self) -> Value:
        """Return the value."""
        async with self._lock:
            return await trio.to_thread.run_sync(self.make, limiter=self._threads) if self.value is None else self.value
