"""jsonrpc: what a node can be asked. Source: rpc-api.md §1.11."""

from typing import Any

from rpc.service.arguments import Text
from rpc.service.envelope import Service
from rpc.service.method import method


@method("jsonrpc.get_methods")
def get_methods(service: Service) -> list[str]:
    """The names of all methods that this node serves, sorted."""
    return service.method_names


@method("jsonrpc.get_signature")
def get_signature(service: Service, method: Text) -> dict[str, Any]:
    """Arguments and result of a method, with their default values."""
    return service.signature(method)
