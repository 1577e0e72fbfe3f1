"""Parses the transactions that a batch will broadcast ahead of their calls, so that other processes recover their keys meanwhile.

The calls then run one after another, with the same results as without prefetching.
"""

from collections.abc import Callable
from typing import Any

from rpc.declare.arguments import PreparsedTransaction
from rpc.jsonrpc.registry import Registry
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction, Wire

# Smaller batches gain too little.
BATCH_MIN = 8
# Members that are prefetched together. If a batch ends early, that work is wasted.
MEMBERS_MAX = 64


class BroadcastPrefetcher:
    """Parses the transactions of calls, stores them in the calls' params, and passes them to the key recovery."""

    def __init__(self, registry: Registry, wire: Wire, recover: Callable[[list[SignedTransaction]], None]) -> None:
        self._registry, self._wire, self._recover = registry, wire, recover

    def prefetch(self, requests: list[Any]) -> None:
        """Parse the transactions that these requests broadcast. Other requests stay unchanged."""
        found = []
        for request in requests:
            place = self._registry.transaction_of(request)
            if place is None or type(place[0][place[1]]) is not dict:
                continue
            holder, key, is_legacy = place
            try:
                trx = self._wire.transaction_from_json(holder[key], is_legacy)
            except ChainError:
                continue  # the call will raise it again
            holder[key] = PreparsedTransaction(holder[key], trx)
            found.append(trx)
        self._recover(found)
