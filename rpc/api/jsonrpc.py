"""jsonrpc and rpc: methods that describe this node's methods, arguments and results. Source: rpc-api.md §1.11; spec.open-rpc.org."""

from functools import lru_cache
from typing import Annotated, Any

from rpc.declare.arguments import Example, Text
from rpc.declare.method import METHODS, method
from rpc.jsonrpc.dispatch import Service
from state.protocol.transaction import Wire
from state.store.lazy.incremental import NotReady, ReadMode

DOCUMENTS_KEPT_MAX, METHODS_OF_SLICE = 4, 10


@method("jsonrpc.get_methods")
def get_methods(service: Service) -> list[str]:
    """Return the names of all methods that this node serves, sorted."""
    return service.registry.names


@method("jsonrpc.get_signature")
def get_signature(service: Service, method: Annotated[Text, Example("condenser_api.get_accounts")]) -> dict[str, Any]:
    """Return a sample of a method's arguments and of its result, filled with default values."""
    return service.registry.signature(method)


@method("rpc.discover")
def discover(service: Service) -> dict[str, Any]:
    """Return the OpenRPC document of this node, which describes the arguments, result and refusals of every method."""
    return document_of(tuple(service.registry.names), service.wire).read(service.read_mode)


class Document:
    """OpenRPC document of a service's methods. The document is built on first use and must not be changed."""

    def __init__(self, names: tuple[str, ...], wire: Wire) -> None:
        # Imported here, since few nodes ever get a request for the document.
        from rpc.describe.openrpc import document_in_steps

        self._steps = document_in_steps([METHODS[name] for name in names], wire)
        self._made: dict[str, Any] | None = None

    def read(self, read_mode: ReadMode) -> dict[str, Any]:
        """Return the document. An incremental read raises NotReady until the document is complete."""
        if self._made is None:
            if read_mode.is_incremental:
                raise NotReady(self._advance)
            while self._advance():
                pass
        assert self._made is not None
        return self._made

    def _advance(self) -> bool:
        """Describe the next METHODS_OF_SLICE methods. Return whether there are more.

        The document can be complete already, if a concurrent read has finished it.
        """
        if self._made is not None:
            return False
        try:
            for _ in range(METHODS_OF_SLICE):
                next(self._steps)
        except StopIteration as end:
            self._made = end.value
        return self._made is None


document_of = lru_cache(DOCUMENTS_KEPT_MAX)(Document)
