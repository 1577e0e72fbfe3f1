"""Method names in requests: their parts, and the refusals of unknown names with suggestions."""

from collections.abc import Iterable
from typing import Any

from state.protocol.errors import Refused, require
from state.protocol.values.convert import to_text

# API numbers of older nodes, and the groups that now contain their methods. Clients of older nodes look up other numbers by
# `get_api_by_name`.
NUMBERED_GROUPS = {"0": "condenser_api", "1": "login_api", "2": "condenser_api"}
GUESSES_MAX = 3

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


def grouped(names: Iterable[str]) -> dict[str, set[str]]:
    """Return the method names of each group."""
    out: dict[str, set[str]] = {}
    for full in names:
        group, _, name = full.partition(".")
        out.setdefault(group, set()).add(name)
    return out


def closest_names(path: Path, groups: dict[str, set[str]]) -> list[str]:
    """Return suggestions for an unknown name: the same method in other groups, and similar names."""
    # Imported here, because only errors need it.
    from difflib import get_close_matches

    group, method = path[0], path[-1]
    names = [f"{other}.{method}" for other in sorted(groups) if method in groups[other]]
    if group in groups:
        names += [f"{group}.{close}" for close in get_close_matches(method, sorted(groups[group]), GUESSES_MAX)]
    else:
        every = [f"{other}.{name}" for other in sorted(groups) for name in sorted(groups[other])]
        names += get_close_matches(".".join(path), every, GUESSES_MAX)
    return list(dict.fromkeys(names))[:GUESSES_MAX]
