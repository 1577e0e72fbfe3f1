"""What a fork does for each call before its method runs: fetch what the call names, and answer what was before the base."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from node.fork.demand import Demand
from node.fork.history import SourceHistory
from rpc.declare.demand import Key
from rpc.declare.method import Method


class ForkCalls:
    """Calls of a fork. Without `demand`, nothing that a call names is fetched."""

    def __init__(self, demand: Demand | None, history: SourceHistory) -> None:
        self._demand, self._history = demand, history

    def call(self, method: Method, values: Sequence[Any], keys: Iterable[Key], function: Callable[..., Any]) -> Any:
        """Return the result of a call. Raises NotHere if it needs something of the source."""
        if self._demand is not None:
            self._demand.require(keys)
        return self._history.call(method, values, function)
