"""Parses the transactions that a batch will broadcast ahead of their calls, so that other processes recover their keys meanwhile.

The calls then run one after another, with the same results as without prefetching.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from rpc.declare.arguments import LEGACY, PreparsedTransaction
from rpc.declare.method import Method
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction, Wire

# Smaller batches gain too little.
BATCH_MIN = 8
# Members that are prefetched together. If a batch ends early, that work is wasted.
MEMBERS_MAX = 64


class BroadcastPrefetcher:
    """Parses the transactions of calls, stores them in the calls' params, and passes them to the key recovery."""

    def __init__(self, methods: Iterable[Method], wire: Wire, recover: Callable[[list[SignedTransaction]], None]) -> None:
        self._methods, self._wire, self._recover = methods, wire, recover

    def prefetch(self, requests: list[Any]) -> None:
        """Parse the transactions that these requests broadcast. Other requests stay unchanged."""
        found = []
        for request in requests:
            place = self._place(request)
            if place is None:
                continue
            holder, key, is_legacy = place
            try:
                trx = self._wire.transaction_from_json(holder[key], is_legacy)
            except ChainError:
                continue  # the call will raise it again
            holder[key] = PreparsedTransaction(holder[key], trx)
            found.append(trx)
        self._recover(found)

    def _place(self, request: Any) -> tuple[Any, Any, bool] | None:
        """Return the params, the key of the transaction in them, and whether it has the condenser's form; None if there is none."""
        if type(request) is not dict:
            return None
        name, params = request.get("method"), request.get("params")
        if name == "call" and type(params) is list and len(params) == 3:
            group, name, params = params
            name = f"{group}.{name}"
        if type(name) is not str or name not in self._broadcasts:
            return None
        parameter, is_legacy = self._broadcasts[name]
        key: Any = parameter
        if type(params) is list and params:
            key, given = 0, params[0]
        else:
            given = params.get(parameter) if type(params) is dict else None
        return (params, key, is_legacy) if type(given) is dict else None

    @cached_property
    def _broadcasts(self) -> dict[str, tuple[str, bool]]:
        """The methods whose first argument is a transaction that they push: by name, that argument's name and whether its form is the
        condenser's. Computed at the first batch, since a start doesn't need the types of arguments.
        """
        taking = [method for method in self._methods if method.waits and method.parameters]
        return {
            method.name: (method.parameters[0].name, method.form is LEGACY)
            for method in taking
            if method.parameters[0].annotation is SignedTransaction
        }
