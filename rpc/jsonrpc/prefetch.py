"""Parses the transactions that a batch broadcasts before its calls run, so that other processes can recover the signers' keys meanwhile.

The calls then run one after another. Their results are the same as without prefetching.
"""

from collections.abc import Callable
from typing import Any

from rpc.declare.arguments import PreparsedTransaction
from rpc.jsonrpc.registry import Registry
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction, Wire

# Minimum size of a batch. Prefetching gains too little in smaller ones.
BATCH_MIN = 8
# Number of requests to prefetch at once. If the batch is aborted, this work is wasted.
MEMBERS_MAX = 64


class BroadcastPrefetcher:
    """Parses the transactions of calls, stores them in the calls' params, and passes them to the key recovery workers."""

    def __init__(self, registry: Registry, wire: Wire, recover: Callable[[list[SignedTransaction]], None]) -> None:
        self._registry, self._wire, self._recover = registry, wire, recover

    def prefetch(self, requests: list[Any]) -> None:
        """Parse the transactions that these requests broadcast. Requests that broadcast none are skipped."""
        found = []
        for request in requests:
            place = self._registry.transaction_of(request)
            if place is None or type(place[0][place[1]]) is not dict:
                continue
            holder, key, is_legacy = place
            try:
                trx = self._wire.transaction_from_json(holder[key], is_legacy)
            except ChainError:
                continue  # the call itself will raise the error again
            holder[key] = PreparsedTransaction(holder[key], trx)
            found.append(trx)
        self._recover(found)
