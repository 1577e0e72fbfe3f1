"""Calls of a fork: what a call names is fetched before its method runs, and calls about blocks before the base are answered."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import trio

from node.fork.cache import FetchCache
from node.fork.demand import Clock, Demand, Edit
from node.fork.history import SourceHistory
from node.fork.limits import SourceLimits
from node.fork.reader import SourceReader
from node.fork.source import Source
from rpc.declare.demand import Key
from rpc.declare.method import Method
from rpc.fork import Fork
from state.chain.chain import Chain


class ForkCalls:
    """Calls of a fork. Without `demand`, nothing that a call names is fetched."""

    def __init__(self, demand: Demand | None, history: SourceHistory) -> None:
        self._demand, self._history = demand, history

    def call(self, method: Method, values: Sequence[Any], keys: Iterable[Key], function: Callable[..., Any]) -> Any:
        """Return the result of a call. Raises NotHere if it needs something of the source."""
        if self._demand is not None:
            self._demand.require(keys)
        return self._history.call(method, values, function)


def new_calls(
    chain: Chain,
    fork: Fork,
    source: Source,
    edit: Edit,
    clock: Clock,
    cache: FetchCache | None,
    *,
    is_fetching: bool,
    asks_history: bool,
) -> tuple[ForkCalls, Demand | None]:
    """Return the calls of a fork and its demand, which has to run, or None if nothing can be fetched.

    Without `is_fetching`, only what is in `cache` is fetched. Without `asks_history`, calls about blocks before the base are refused.
    Raises FileError if the cache can't be used.
    """
    limits = SourceLimits(source.url, trio.current_time)
    reader = SourceReader(source, chain.state.spec, fork.origin.chain_id) if is_fetching else None
    demand = Demand(chain, reader, edit, limits, clock, fork.record, cache)
    needed = demand if demand.is_needed else None
    fork.is_on_demand = is_fetching
    history = SourceHistory(chain, source, limits) if asks_history else SourceHistory(chain, None, None)
    return ForkCalls(needed, history), needed
