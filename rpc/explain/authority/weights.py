"""Computes the weight that the signing keys reach in each required authority."""

from collections.abc import Iterator
from typing import Any

from rpc.explain.case import MEMBERS_MAX, RefusalCase
from state.chain.transactions import authority_lookups
from state.protocol.authority import Authority
from state.protocol.authorization.signatures_check import LIMITS, Lookup
from state.protocol.errors import UnknownKey
from state.protocol.operation import Needed

REQUIRED_MAX = 20  # authorities in an explanation
SIGNATURES_MAX = 20  # checked signatures; a transaction with more is refused for another reason
# For each role, the roles whose authority is accepted instead.
REPLACED_BY = {"posting": ("active", "owner"), "active": ("owner",), "owner": (), "other": ()}


class Weigher:
    """Adds up the weights of the signing keys in an authority. `nested` looks up the authority of an account that is a member of the
    authority.
    """

    def __init__(self, keys: frozenset[bytes], nested: Lookup) -> None:
        self._keys, self._nested = keys, nested
        self._looked_up = 0

    def reached(self, authority: Authority, depth: int = 0) -> int:
        """Return the total weight that the keys have in an authority."""
        keys = sum(weight for key, weight in authority.key_auths if key in self._keys)
        return keys + sum(weight for name, weight in authority.account_auths if self.is_reached(name, depth))

    def is_reached(self, name: str, depth: int) -> bool:
        """Whether the keys satisfy the authority of an account that is a member of another authority."""
        if depth >= LIMITS.depth or self._looked_up >= LIMITS.accounts:
            return False
        self._looked_up += 1
        try:
            authority = self._nested(name)
        except UnknownKey:
            return False
        return self.reached(authority, depth + 1) >= authority.weight_threshold


def required(case: RefusalCase, needed: Needed, keys: frozenset[bytes]) -> Iterator[dict[str, Any]]:
    """Yield each required authority in JSON form, with the weight that the keys reach and the weight that is missing."""
    lookups = authority_lookups(case.state)
    nested = lookups.posting if needed.posting else lookups.active
    for role in ("owner", "active", "posting"):
        for name in sorted(getattr(needed, role))[:REQUIRED_MAX]:
            row = case.state.account_authorities.by_account.get(name)
            if row is not None:
                yield entry(case, name, role, getattr(row, role), Weigher(keys, nested))
    for authority in needed.other[:REQUIRED_MAX]:
        yield entry(case, "", "other", authority, Weigher(keys, nested))


def entry(case: RefusalCase, name: str, role: str, authority: Authority, weigher: Weigher) -> dict[str, Any]:
    """Return a required authority in JSON form, with the weight reached. `name` is "" for an authority that the operation contains."""
    reached = weigher.reached(authority)
    members: dict[str, Any] = {
        "account": name or None,
        "role": role,
        "threshold": authority.weight_threshold,
        "reached": reached,
        "short_by": max(authority.weight_threshold - reached, 0),
        "keys": [{"key": case.key_text(key), "weight": weight} for key, weight in authority.key_auths[:MEMBERS_MAX]],
    }
    if authority.account_auths:
        members["accounts"] = [
            {"account": inner, "weight": weight, "is_reached": weigher.is_reached(inner, 0)}
            for inner, weight in authority.account_auths[:MEMBERS_MAX]
        ]
    if REPLACED_BY[role]:
        members["or_role"] = list(REPLACED_BY[role])
    return members
