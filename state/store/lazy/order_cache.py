"""`OrderCache`: lazy orders of the items of many scopes, for example of the posts under each tag."""

from collections.abc import Callable, Hashable, Iterable
from functools import partial

from state.store.lazy.incremental import ReadMode
from state.store.lazy.order import LazyOrder
from state.store.lazy.sorted_ids import Computed, SortedIds

ORDERS_MAX = 10_000  # A lower limit would let a client evict large orders by requests for small ones.
MARKS_MAX = 5000  # changes in a scope after which an order that nobody reads is dropped

Key = tuple[Hashable, Hashable]  # a scope, and the name of an order of its items


class OrderCache:
    """Lazy orders by scope and name, created at their first read. Above ORDERS_MAX, the least recently read order is dropped.

    A change of an item is marked in all orders of the item's scopes. An order that isn't read for MARKS_MAX changes is dropped, so that its
    marks take little memory. Orders count as query memory (`QueryMemory`).
    """

    def __init__(self, read_mode: ReadMode) -> None:
        self._read_mode = read_mode
        self._orders: dict[Key, LazyOrder] = {}  # the least recently read first
        self._names: dict[Hashable, dict[Hashable, int]] = {}  # by scope and name: the number of marks since the last read

    def __len__(self) -> int:
        """Return the number of orders."""
        return len(self._orders)

    def refreshed(self, scope: Hashable, name: Hashable, make: Callable[[], tuple[Computed, Iterable[int]]]) -> SortedIds:
        """Return an up-to-date order (`LazyOrder.refreshed`). `make` returns the arguments of a new order: `entry_of`, and the items."""
        key = scope, name
        order = self._orders.pop(key, None)
        if order is None:
            order = LazyOrder(*make(), self._read_mode, drop_all=partial(self._drop, key))
            if len(self._orders) >= ORDERS_MAX:
                self._drop(next(iter(self._orders)))
        self._orders[key] = order
        self._names.setdefault(scope, {})[name] = 0
        return order.refreshed()

    def mark(self, scope: Hashable, item: int) -> None:
        """Mark an item as changed in all orders of a scope."""
        names = self._names.get(scope)
        if names is None:
            return
        for name, marks in list(names.items()):
            if marks < MARKS_MAX:
                names[name] = marks + 1
                self._orders[scope, name].dirty.add(item)
            else:
                self._drop((scope, name))

    def clear(self) -> None:
        """Drop all orders."""
        for key in list(self._orders):
            self._drop(key)

    def _drop(self, key: Key) -> None:
        scope, name = key
        order = self._orders.pop(key, None)
        if order is None:  # as in a round of the query memory that dropped all orders with their view, or after a step of a dropped order
            return
        self._read_mode.memory.remove(order)
        del self._names[scope][name]
        if not self._names[scope]:
            del self._names[scope]
