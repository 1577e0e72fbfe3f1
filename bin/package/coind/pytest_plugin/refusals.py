"""The exception for a refused call, and the context manager that expects a refusal."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import pytest

from node.client.dev_api import CallRefused


class Refused(CallRefused):
    """Raised if a node refuses a call."""


class Expected:
    """Context manager that expects a refusal in its body: `with coin_chain.refused("missing_active_authority") as refusal`.

    Afterwards, `error` is the Refused exception. Its attributes are also attributes of this object. Any client can send the transaction: if
    another library raises its own exception, that counts as a refusal if the node refused a transaction meanwhile.
    """

    def __init__(self, rule: str, refused_meanwhile: Callable[[], list[Refused]]) -> None:
        self._expected, self._refused_meanwhile = rule, refused_meanwhile
        self.error: Refused | None = None

    def __enter__(self) -> Self:
        """Start to expect a refusal, and return self."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        """Fail the test if nothing was refused, or if the refusal violates a rule other than the expected one."""
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
