"""Refusals of a node as exceptions that explain themselves, and the expectation of one."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import pytest


class Refused(Exception):
    """A call that a node has refused. Its text is the message, why, and what to do.

    `rule`, `why`, `what_to_do` and `values` are those of `error.data.explain`, empty where there is none: only refused transactions have
    it. `code`, `message` and `data` are those of the error of JSON-RPC.
    """

    def __init__(self, message: str, code: int = 0, data: Any = None, explain: dict[str, Any] | None = None, method: str = "") -> None:
        self.message, self.code, self.data = message, code, data
        explain = explain or {}
        self.rule: str = explain.get("rule", "")
        self.why: str = explain.get("why", "")
        self.what_to_do: str = explain.get("what_to_do", "")
        self.values: dict[str, Any] = explain.get("values", {})
        # Only refused transactions are explained; of other calls the method says most, and the names that it may have been.
        closest = data.get("closest") if isinstance(data, dict) else None
        called = "" if explain or not method else f"  method: {method}" + (f"; is it {' or '.join(closest)}?" if closest else "")
        lines = [message, called, self.rule and f"  rule: {self.rule}", self.why and f"  why: {self.why}"]
        super().__init__("\n".join(filter(None, [*lines, self.what_to_do and f"  what to do: {self.what_to_do}"])))

    @classmethod
    def by(cls, method: str, error: dict[str, Any]) -> Self:
        """Return the refusal of a method by an error of JSON-RPC."""
        data = error.get("data")
        return cls(error["message"], error["code"], data, data.get("explain") if isinstance(data, dict) else None, method)


class Expected:
    """The expectation that what is done inside of it is refused: `with coin_chain.refused("missing_active_authority") as refusal`.

    `refusal.error` is the Refused afterwards, and its attributes can be read here as well. Whichever client sends the transaction: an
    exception of another library counts when the node has refused a transaction meanwhile.
    """

    def __init__(self, rule: str, refused_meanwhile: Callable[[], list[Refused]]) -> None:
        self._expected, self._refused_meanwhile = rule, refused_meanwhile
        self.error: Refused | None = None

    def __enter__(self) -> Self:
        """Begin to expect it."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        """Fail the test unless it was refused, by the rule if one is expected."""
        __tracebackhide__ = True
        expected = f"by {self._expected} " if self._expected else ""
        if error is None:
            pytest.fail(f"nothing was refused, although a refusal {expected}was expected")
        if not isinstance(error, Refused):
            meanwhile = self._refused_meanwhile() if isinstance(error, Exception) else []
            if not meanwhile:
                return False
            error = meanwhile[0]
        if self._expected and error.rule != self._expected:
            pytest.fail(f"refused by {error.rule or 'another rule'}, although a refusal {expected}was expected:\n{error}")
        self.error = error
        return True

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the refusal: `message`, `rule`, `why`, `what_to_do`, `values`, `code`, `data`."""
        if self.error is None:
            raise AttributeError(f"{name}: nothing has been refused yet")
        return getattr(self.error, name)
