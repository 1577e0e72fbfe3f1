"""Method names in requests: their parts, and the refusals of unknown names."""

from typing import Any

from state.protocol.errors import Refused, require
from state.protocol.values.convert import to_text

Path = tuple[str, ...]


def called(params: Any) -> tuple[Path, Any]:
    """Return path and params of the `call` form, [api, method, params]."""
    sizes = "v.size() == 2 || v.size() == 3"
    require(type(params) is list and len(params) in (2, 3), 'params should be {"api", "method", "args"', condition=sizes)
    return (to_text(params[0]), to_text(params[1])), params[2] if len(params) == 3 else {}


def not_found(path: Path, groups: dict[str, set[str]]) -> Refused:
    """Return the refusal of an unknown path."""
    if len(path) != 2:
        return Refused("method specification invalid. Should be api.method", condition="v.size() == 2")
    group, method = path
    if group not in groups:
        return Refused("Could not find API ${api}", condition="api_itr != _registered_apis.end()", api=group)
    return Refused("Could not find method ${method}", condition="method_itr != api_itr->second.end()", method=method)
