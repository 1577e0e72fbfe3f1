"""jsonrpc and rpc: the methods of this node, their arguments and results. Source: rpc-api.md §1.11; spec.open-rpc.org."""

from functools import lru_cache
from typing import Annotated, Any

from rpc.service.arguments import Example, Text
from rpc.service.describe.openrpc import document
from rpc.service.envelope import Service
from rpc.service.method import METHODS, method
from state.protocol.transaction import Wire

DOCUMENTS_KEPT_MAX = 4


@method("jsonrpc.get_methods")
def get_methods(service: Service) -> list[str]:
    """Return the names of all methods that this node serves, sorted."""
    return service.method_names


@method("jsonrpc.get_signature")
def get_signature(service: Service, method: Annotated[Text, Example("condenser_api.get_accounts")]) -> dict[str, Any]:
    """Return arguments and result of a method, with their default values."""
    return service.signature(method)


@method("rpc.discover")
def discover(service: Service) -> dict[str, Any]:
    """Return the OpenRPC document of this node: every method with its arguments, result and refusals."""
    return document_of(tuple(service.method_names), service.wire)


@lru_cache(DOCUMENTS_KEPT_MAX)
def document_of(names: tuple[str, ...], wire: Wire) -> dict[str, Any]:
    """Return the OpenRPC document of these methods, made once; it must not be changed."""
    return document([METHODS[name] for name in names], wire)
