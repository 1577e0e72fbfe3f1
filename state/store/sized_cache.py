"""`SizedCache`, a dict with limited memory."""

from collections.abc import Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SizedCache(dict[K, V]):
    """Cached values by key. When they would take more than `size_max` bytes, all of them are dropped.

    Add values with `add` only. Reading is that of a dict, so it takes no more time.
    """

    __slots__ = ("size", "size_max")

    def __init__(self, size_max: int) -> None:
        super().__init__()
        self.size, self.size_max = 0, size_max

    def add(self, key: K, value: V, size: int) -> None:
        """Add a value that takes `size` bytes, the memory of its entry included."""
        if self.size + size > self.size_max:
            self.clear()
        self[key] = value
        self.size += size

    def clear(self) -> None:
        """Drop all values."""
        super().clear()
        self.size = 0
