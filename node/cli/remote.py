"""The node that a command calls, and its chain. The symbols, the key prefix and the chain id come from methods that every node of the
family has.

For a chain in `genesis/`, the chain's spec adds the public test keys.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from cyclopts import Parameter

from node.cli.parameters import Config, Flag
from node.client.errors import NoNode, RefusedCall, Unreachable
from node.client.http import SHOWN_CHARACTERS_MAX, Client
from node.client.urls import DEFAULT_URL
from node.runtime.errors import NodeError, Status, last_line
from node.runtime.output import write_json
from node.specs.builder import load_spec
from node.specs.foreign import NotOfFamily, spec_of
from state.protocol.errors import ChainError
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire

# Exceptions raised by parsing a result of an unexpected form.
STRANGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, struct.error, ChainError)
DEV_GROUP = "dev_api."


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RemoteOptions:
    """Options that are common to all commands that call a node."""

    url: Annotated[str, Parameter(help="The address of the node.", env_var="COIND_URL")] = DEFAULT_URL
    json: Annotated[Flag, Parameter(help="Print JSON.")] = False
    config: Config = None


def call_node(options: RemoteOptions, work: Callable[["Remote"], int | None]) -> int:
    """Run the work of a command and return the exit status. If the node refuses a call, print the refusal with its explanation."""
    remote = Remote(options.url)
    try:
        return work(remote) or Status.DONE
    except RefusedCall as error:
        report_refusal(error, remote.url, as_json=options.json)
        return Status.REFUSED
    except Unreachable as error:
        raise Unreachable(f"{error}. Start a node with bin/coind run, or give another address by --url or COIND_URL.") from error
    except STRANGE as error:
        why = f"{type(error).__name__}: {error}"[:SHOWN_CHARACTERS_MAX]
        raise NoNode(f"{remote.url} answers {remote.last_method} in an unknown format ({why})") from error
    finally:
        remote.close()


def report_refusal(error: RefusedCall, url: str, *, as_json: bool) -> None:
    """Print a refusal of the node: its message and, if the node gives them, the reason and the advice."""
    if as_json:
        write_json({"error": error.error})
    last_line(f"coind: {url} refuses {error.method}: {error.message}")
    for name, key in (("why", "why"), ("what to do", "what_to_do")):
        if error.explain.get(key):
            last_line(f"{name}: {error.explain[key]}")
    if error.hint:
        last_line(f"what to do: {error.hint}")
    elif error.closest:
        last_line(f"what to do: call {' or '.join(error.closest)}")
    elif error.is_unknown_method:
        is_dev = error.method.startswith(DEV_GROUP)
        last_line(
            "what to do: use coind with a test chain on this machine, which serves dev_api: bin/coind run"
            if is_dev
            else "what to do: enable the plugin of this method on the node, or use another node with --url"
        )


class Remote:
    """A node at an address, and the node's chain."""

    def __init__(self, url: str) -> None:
        self._client = Client(url)
        self.url = url
        self.call = self._client.call

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    @property
    def last_method(self) -> str:
        """The method that was called last."""
        return self._client.last_method

    @cached_property
    def spec(self) -> ChainSpec:
        """The spec of the node's chain. If `genesis/` has a spec with the same chain id and symbols, it is that one. Otherwise it is built
        from the node's constants.
        """
        config, version = self._asked("condenser_api.get_config"), self._asked("condenser_api.get_version")
        try:
            return spec_of(config, version, self.head())
        except NotOfFamily as error:
            raise NoNode(f"{self.url} {error}") from None

    @cached_property
    def wire(self) -> Wire:
        """The wire format of the node's chain."""
        import state.operations  # noqa: F401 - fills the registry

        return Wire(self.spec)

    def head(self) -> dict[str, Any]:
        """Return the dynamic global properties of the chain."""
        found: dict[str, Any] = self._asked("condenser_api.get_dynamic_global_properties")
        return found

    def require_chain(self, name: str | None) -> None:
        """Raise NodeError unless the node has the chain of the spec `name`. None accepts any chain."""
        if name is None:
            return
        wanted = load_spec(name)
        if wanted.chain_id != self.spec.chain_id:
            raise NodeError(
                f"the node at {self.url} has the chain {self.spec.name} ({self.spec.chain_id.hex()}), "
                f"not {wanted.name} ({wanted.chain_id.hex()})"
            )

    def _asked(self, method: str) -> dict[str, Any]:
        """Call a method that every node of the family has, and return its result, which must be a JSON object. Raises NoNode otherwise."""
        try:
            found = self.call(method)
        except RefusedCall as error:
            raise NoNode(f"{self.url} is not a node of this chain family: {method} is refused with {error.message!r}") from None
        if not isinstance(found, dict):
            raise NoNode(f"{self.url} is not a node of this chain family: {method} doesn't return an object")
        return found
