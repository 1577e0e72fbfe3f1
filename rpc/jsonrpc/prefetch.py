"""Transactions that a batch is going to broadcast, read before their turn, so that other processes can recover their keys meanwhile.

It knows neither how keys are recovered nor what becomes of the calls: those run one after another as if nothing had been read.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from rpc.declare.arguments import LEGACY, PreparsedTransaction
from rpc.declare.method import Method
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction, Wire

# A batch with fewer members is not worth the trouble.
BATCH_MIN = 8
# How many members are looked at together: a batch that ends early has read these in vain.
MEMBERS_MAX = 64


class BroadcastPrefetcher:
    """Reads the transactions of calls, puts them into the calls' params, and hands them on to whoever recovers keys."""

    def __init__(self, methods: Iterable[Method], wire: Wire, recover: Callable[[list[SignedTransaction]], None]) -> None:
        self._methods, self._wire, self._recover = methods, wire, recover

    def prefetch(self, requests: list[Any]) -> None:
        """Read the transactions that these requests broadcast; all other requests are left as they are."""
        found = []
        for request in requests:
            place = self._place(request)
            if place is None:
                continue
            holder, key, is_legacy = place
            try:
                trx = self._wire.transaction_from_json(holder[key], is_legacy)
            except ChainError:
                continue  # the call will be refused with it
            holder[key] = PreparsedTransaction(holder[key], trx)
            found.append(trx)
        self._recover(found)

    def _place(self, request: Any) -> tuple[Any, Any, bool] | None:
        """Return the params, the place of the transaction in them and whether its form is the condenser's; None if it isn't there."""
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
        """The names of the methods whose first argument is a transaction that they push, with that argument's name and form.

        They are found when the first batch comes: a start has no use for the types of arguments.
        """
        taking = [method for method in self._methods if method.waits and method.parameters]
        return {
            method.name: (method.parameters[0].name, method.form is LEGACY)
            for method in taking
            if method.parameters[0].annotation is SignedTransaction
        }
