"""Errors of calls to a node. Each message is shown to the user."""

from typing import Any

from node.runtime.errors import NodeError

UNKNOWN = ("Could not find API", "Could not find method", "Method not found", "api_itr != _registered_apis.end()")


class Unreachable(NodeError):
    """No node answers at the address."""


class NoNode(NodeError):
    """A program answers at the address, but it is not a node of this chain family."""


class TooLarge(NoNode):
    """A reply exceeds the client's limit of bytes or values."""


class WrongChain(NodeError):
    """The other node or the broker has another chain."""


class RefusedCall(NodeError):
    """Error for a call that the node refused. `error` is the JSON-RPC error, with its members `code`, `message` and `data`.

    `explain` is the member of `data` that explains a refused transaction. Without an explanation it is empty, and so are `rule`, `why`,
    `what_to_do` and `values`, which are read from it.
    """

    def __init__(self, method: str, error: dict[str, Any]) -> None:
        self.method, self.error = method, error
        self.code: int = error.get("code", 0)
        self.message = str(error.get("message", "an error without a message"))
        self.data: Any = error.get("data")
        self._details: dict[str, Any] = self.data if isinstance(self.data, dict) else {}
        explain = self._details.get("explain")
        self.explain: dict[str, Any] = explain if isinstance(explain, dict) else {}
        self.rule: str = self.explain.get("rule", "")
        self.why: str = self.explain.get("why", "")
        self.what_to_do: str = self.explain.get("what_to_do", "")
        self.values: dict[str, Any] = self.explain.get("values", {})
        super().__init__(self.text())

    def text(self) -> str:
        """Return the error as one line."""
        return f"{self.method} is refused: {self.message}"

    @property
    def hint(self) -> str:
        """The node's reason for not serving the method, or its advice on how to fix the call; "" if there is neither."""
        hint = self._details.get("hint")
        return hint if isinstance(hint, str) else ""

    @property
    def parameter(self) -> str:
        """The parameter that the node can't read; "" if it can read all of them."""
        parameter = self._details.get("parameter")
        return parameter if isinstance(parameter, str) else ""

    @property
    def closest(self) -> list[str]:
        """The node's suggestions for an unknown method."""
        found = self._details.get("closest")
        return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []

    @property
    def is_unknown_method(self) -> bool:
        """Whether the node lacks the method or its group."""
        return any(text in self.message for text in UNKNOWN)
