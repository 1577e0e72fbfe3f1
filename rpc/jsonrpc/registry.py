"""The methods of a service, bound to its context objects and indexed by the names that requests use. Source: rpc-api.md §1.4, §1.11."""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from rpc.caller import Caller
from rpc.declare.arguments import LEGACY
from rpc.declare.method import Call, Method, bind, refuse
from rpc.declare.plugin_switches import hint
from rpc.describe.signature import signature
from state.protocol.errors import ChainError, Refused, require
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.convert import to_text

# API numbers of older nodes, and the groups that now contain their methods. Clients of older nodes look up other numbers by
# `get_api_by_name`.
NUMBERED_GROUPS = {"0": "condenser_api", "1": "login_api", "2": "condenser_api"}
NAME_GUESSED_MAX = 64
NAME_POINTS_MAX = 2
GUESSES_MAX, GUESSES_KEPT_MAX = 3, 1024
NO_TEST_CHAIN = "this is only for test chains, for example dev and steem-testnet"

Path = tuple[str, ...]
# Whether a caller has local rights, and whether it has a session (a WebSocket).
Rights = tuple[bool, bool]


class BoundMethod(Struct, frozen=True):
    """A method bound to a service."""

    method: Method
    call: Call
    waits: bool
    needs_local: bool
    needs_session: bool
    needs_owner: bool
    needs_caller: bool
    is_of_chain: bool
    name: str


class Registry:
    """The served methods by name and by path, and for other methods the reason why they aren't served. For the arguments `plugins` and
    `withheld`, see `Service`.
    """

    def __init__(
        self, methods: Iterable[Method], wire: Wire, context: dict[str, Any], plugins: Collection[str] | None, withheld: str
    ) -> None:
        self._wire = wire
        self.by_path: dict[Path, BoundMethod] = {}
        self._hints: dict[Path, str] = {}
        for method in methods:
            path = tuple(method.name.split("."))
            needs_local = method.loopback_only or method.needs_local
            if method.test_only and not wire.spec.is_test:
                self._hints[path] = NO_TEST_CHAIN
            elif withheld and method.loopback_only:
                self._hints[path] = withheld
            elif plugins is None or not method.plugins or any(plugin in plugins for plugin in method.plugins):
                needs = method.needs_session, method.needs_owner, method.needs_caller, method.is_of_chain
                self.by_path[path] = BoundMethod(method, bind(method, wire, context), method.waits, needs_local, *needs, method.name)
            elif method.not_enabled is not None:
                refused = refuse(method.not_enabled, method.plugins)
                self.by_path[path] = BoundMethod(method, refused, False, needs_local, False, False, False, False, method.name)
            elif not method.loopback_only:
                self._hints[path] = hint(method.plugins)
        self.by_name = {bound.name: bound for bound in self.by_path.values()}
        self._groups = {(local, in_session): self._visible(local, in_session) for local in (False, True) for in_session in (False, True)}
        self._guesses = lru_cache(GUESSES_KEPT_MAX)(lambda path, rights: _closest_names(path, self._groups[rights]))

    def _visible(self, is_local: bool, in_session: bool) -> dict[str, set[str]]:
        """Return the names of the methods that callers with these rights can see, by API group."""
        groups: dict[str, set[str]] = {}
        for bound in self.by_path.values():
            if (is_local or not bound.method.loopback_only) and (in_session or not bound.needs_session):
                group, _, name = bound.name.partition(".")
                groups.setdefault(group, set()).add(name)
        return groups

    @property
    def names(self) -> list[str]:
        """The names of all served methods, sorted."""
        return sorted(self.by_name)

    def signature(self, name: str) -> dict[str, Any]:
        """Return a sample of a method's arguments and of its result, filled with default values."""
        parts = name.split(".")
        require(len(parts) == 2, "Invalid method name", condition="v.size() == 2")
        group, method = parts
        groups = self._groups[True, True]
        missing = "Method ${api}.${method} does not exist"
        require(group in groups, missing + ".", condition="api_itr != _method_sigs.end()", api=group, method=method)
        require(method in groups[group], missing, condition="method_itr != api_itr->second.end()", api=group, method=method)
        return signature(self.by_path[group, method].method, self._wire)

    def called(self, request: Any, caller: Caller) -> BoundMethod | None:
        """Return the method that a request calls, or None if there is no such method."""
        found = _path_of(request, caller.session is not None)
        return None if found is None else self.by_path.get(found[0])

    def needs_owner(self, request: Any, caller: Caller) -> bool:
        """Whether a request or batch must be forwarded unchanged to the process that owns the chain.

        It must be forwarded if one of its calls needs the owner, unless another call of the batch needs a session or the process that
        received the batch.
        """
        if type(request) is not list:
            bound = self.called(request, caller)
            return bound is not None and bound.needs_owner and (caller.is_local or not bound.needs_local)
        found = [bound for one in request if (bound := self.called(one, caller)) is not None]
        return any(bound.needs_owner for bound in found) and not any(bound.needs_session or bound.method.of_process for bound in found)

    def only_reads(self, request: Any, caller: Caller) -> bool:
        """Whether a request only reads the chain, and depends neither on the process nor on a session. It must not be a batch."""
        bound = self.called(request, caller)
        return bound is None or not (bound.waits or bound.needs_session or bound.needs_owner or bound.method.of_process)

    def transaction_of(self, request: Any) -> tuple[Any, Any, bool] | None:
        """Return where a request contains the transaction that it broadcasts, or None if it broadcasts none.

        The result consists of the request's params, the key or index of the transaction in them, and whether it has the condenser's form.
        """
        found = _path_of(request, True)
        bound = None if found is None else self.by_path.get(found[0])
        if found is None or bound is None or not bound.waits or not (parameters := bound.method.parameters):
            return None
        params, parameter = found[1], parameters[0]
        key: Any = 0 if isinstance(params, list) else parameter.name
        has_key = bool(params) if isinstance(params, list) else isinstance(params, dict) and params.get(key) is not None
        return (params, key, bound.method.form is LEGACY) if has_key and parameter.annotation is SignedTransaction else None

    def not_found(self, path: Path, rights: Rights) -> Refused:
        """Return the error for a path that doesn't exist for callers with these rights."""
        if len(path) != 2:
            return Refused("method specification invalid. Should be api.method", condition="v.size() == 2")
        group, method = path
        if group not in self._groups[rights]:
            return Refused("Could not find API ${api}", condition="api_itr != _registered_apis.end()", api=group)
        return Refused("Could not find method ${method}", condition="method_itr != api_itr->second.end()", method=method)

    def suggestion(self, path: Path, rights: Rights) -> dict[str, Any]:
        """Return the members of `error.data` for an unknown path: the reason why the method isn't served, or similar names."""
        if path in self._hints:
            return {"hint": self._hints[path]}
        closest = self._guesses(path, rights) if sum(map(len, path)) <= NAME_GUESSED_MAX else []
        return {"closest": closest} if closest else {}


def path_of(name: str, params: Any, in_session: bool) -> tuple[Path, Any]:
    """Return the path and the params of a call. In a call of the method `call`, both are contained in the params: [api, method, params]."""
    if name != "call":
        # Split off at most one part more than any name has, since a malicious name could contain millions of dots.
        return tuple(name.split(".", NAME_POINTS_MAX)), params
    sizes = "v.size() == 2 || v.size() == 3"
    require(type(params) is list and len(params) in (2, 3), 'params should be {"api", "method", "args"', condition=sizes)
    group, method = to_text(params[0]), to_text(params[1])
    return (NUMBERED_GROUPS.get(group, group) if in_session else group, method), params[2] if len(params) == 3 else {}


def _path_of(request: Any, in_session: bool) -> tuple[Path, Any] | None:
    """Return the path and the params of a request, or None if the request is invalid."""
    name = request.get("method") if type(request) is dict else None
    try:
        return path_of(name, request.get("params"), in_session) if type(name) is str else None
    except ChainError:
        return None


def _closest_names(path: Path, groups: dict[str, set[str]]) -> list[str]:
    """Return suggestions for an unknown name: the same method in other groups first, then similar names."""
    # Imported here, since it is needed only for errors.
    from difflib import get_close_matches

    group, method = path[0], path[-1]
    names = [f"{other}.{method}" for other in sorted(groups) if method in groups[other]]
    if group in groups:
        names += [f"{group}.{close}" for close in get_close_matches(method, sorted(groups[group]), GUESSES_MAX)]
    else:
        every = [f"{other}.{name}" for other in sorted(groups) for name in sorted(groups[other])]
        names += get_close_matches(".".join(path), every, GUESSES_MAX)
    return list(dict.fromkeys(names))[:GUESSES_MAX]
