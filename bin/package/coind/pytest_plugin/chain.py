"""The chain of a node for tests."""

from collections.abc import Callable
from typing import Any

from coind.pytest_plugin.refusals import Expected, Refused
from node.client.dev_api import DevApi

__tracebackhide__ = True  # makes pytest's reports end at the line of the test

REFUSED_SHOWN_MAX = 10


class Chain(DevApi):
    """A test chain. `url` is its address for clients. `call` can call any RPC method, and raises Refused."""

    def __init__(self, url: str, call: Callable[..., Any]) -> None:
        self.url, self._call = url, call
        self._refused_before: list[Any] = []

    def call(self, method: str, params: Any = None) -> Any:
        """Call an RPC method and return its result. Raises Refused, and NodeFailed if the node doesn't answer."""
        return self._call(method, params)

    def refused(self, rule: str = "") -> Expected:
        """Return a context manager that expects a refused transaction, for example `with coin_chain.refused("missing_active_authority") as
        refusal:`.

        If `rule` is given, the transaction must violate that rule.
        """
        before = self._list_refused()
        return Expected(rule, lambda: self._refused_since(before))

    def begin_test(self) -> None:
        """Start a new test. Transactions that are refused from now on belong to this test."""
        self._refused_before = self._list_refused()

    def refused_in_test(self) -> list[Refused]:
        """Return the most recent transactions that were refused during this test, newest first. Any client can have sent them."""
        return self._refused_since(self._refused_before)

    def _refused_since(self, before: list[Any]) -> list[Refused]:
        now = self._list_refused()
        # Entries can be equal. New entries are therefore found by the position from which on the new list equals the old list.
        at = (count for count in range(len(now)) if now[count:] == before[: REFUSED_SHOWN_MAX - count])
        new = next(at, len(now))
        return [Refused("", {"message": entry["message"], "data": {"explain": entry["explain"]}}) for entry in now[:new]]

    def _list_refused(self) -> list[Any]:
        try:
            listed: list[Any] = self.call("dev_api.list_refused", {"limit": REFUSED_SHOWN_MAX})
        except Exception:
            return []  # An error here must not hide the failure of the test.
        return listed
