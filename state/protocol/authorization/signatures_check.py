"""Checks whether signatures satisfy the required authorities, and finds the keys that would satisfy them.

The caller passes functions that look up the accounts' authorities. Source: wire-format.md §6; operations.md §2.4.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from state.protocol import errors
from state.protocol.authority import Authority
from state.protocol.constants import COIN_MAX_AUTHORITY_MEMBERSHIP, COIN_MAX_SIG_CHECK_ACCOUNTS, COIN_MAX_SIG_CHECK_DEPTH, COIN_TEMP_ACCOUNT
from state.protocol.operation import Needed
from state.protocol.work import Spend, spend_nothing

Lookup = Callable[[str], Authority]

MEMBERS_OF_UNIT = 40  # members of authorities checked per unit of work
MEMBERS_OF_AUTHORITY = 4  # The look-up of an authority takes as long as checking this many members.


class Lookups(Struct, frozen=True):
    """Functions that find an account's authority of each role, and a function that counts the work.

    The lookups raise UnknownKey for unknown accounts.
    """

    active: Lookup
    owner: Lookup
    posting: Lookup
    spend: Spend = spend_nothing


class Limits(Struct, frozen=True):
    """Limits for checking nested authorities. For members and accounts, 0 means no limit."""

    depth: int = COIN_MAX_SIG_CHECK_DEPTH
    members: int = COIN_MAX_AUTHORITY_MEMBERSHIP
    accounts: int = COIN_MAX_SIG_CHECK_ACCOUNTS


LIMITS = Limits()
NO_LIMITS = Limits(members=0, accounts=0)


class SignState:
    """State of a check: the signing keys, the keys that were used so far, and the accounts approved so far."""

    def __init__(
        self, keys: Iterable[bytes], nested: Lookup, limits: Limits = LIMITS, available: Iterable[bytes] = (), spend: Spend = spend_nothing
    ) -> None:
        self.used = dict.fromkeys(keys, False)
        self.available = frozenset(available)
        self.nested = nested
        self.limits = limits
        self.approved = {COIN_TEMP_ACCOUNT}
        self._counter = 0
        self._spend, self._looked_at = spend, 0

    def signed(self, key: bytes) -> bool:
        """Return whether a key has signed or is available. If so, mark the key as used."""
        if key in self.used or key in self.available:
            self.used[key] = True
            return True
        return False

    def by_name(self, name: str) -> bool:
        """Return whether an account is already approved, or its authority is satisfied."""
        if name in self.approved:
            return True
        self._counter = 1
        return self._evaluate(self.nested(name), 0)

    def by_authority(self, authority: Authority) -> bool:
        """Return whether an authority is satisfied."""
        self._counter = 0
        return self._evaluate(authority, 0)

    def _evaluate(self, authority: Authority, depth: int) -> bool:
        total = members = 0
        threshold, limits = authority.weight_threshold, self.limits
        given = len(authority.key_auths) + len(authority.account_auths)
        self._looked_at += MEMBERS_OF_AUTHORITY + min(given, limits.members or given)
        if self._looked_at >= MEMBERS_OF_UNIT:
            self._spend(self._looked_at // MEMBERS_OF_UNIT, "members of authorities")
            self._looked_at %= MEMBERS_OF_UNIT
        for key, weight in authority.key_auths:
            if self.signed(key):
                total += weight
                if total >= threshold:
                    return True
            members += 1
            if limits.members and members >= limits.members:
                return False
        for name, weight in authority.account_auths:
            if name not in self.approved:
                if depth == limits.depth:
                    continue
                if limits.accounts and self._counter >= limits.accounts:
                    return False
                self._counter += 1
                if self._evaluate(self.nested(name), depth + 1):
                    self.approved.add(name)
                    total += weight
                    if total >= threshold:
                        return True
            else:
                total += weight
                if total >= threshold:
                    return True
            members += 1
            if limits.members and members >= limits.members:
                return False
        return total >= threshold

    @property
    def has_unused(self) -> bool:
        """Whether a signing key was not used."""
        return not all(self.used.values())


def distinct(keys: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return the recovered keys as a tuple. Raises DuplicateSignature."""
    keys = tuple(keys)
    if len(set(keys)) != len(keys):
        raise errors.DuplicateSignature("Duplicate Signature detected")
    return keys


def require_only_posting(needed: Needed) -> None:
    """Refuse a transaction that requires posting authority together with another role."""
    for role in ("active", "owner", "other"):
        errors.require(not getattr(needed, role), condition=f"required_{role}.size() == 0")


def verify(
    needed: Needed, keys: Iterable[bytes], lookups: Lookups, limits: Limits = LIMITS, approved: frozenset[str] = frozenset()
) -> None:
    """Refuse unless the keys satisfy all required authorities, and each key is required.

    Accounts in `approved` count as satisfied members of other accounts' authorities. IrrelevantSignature is raised only after all
    authorities are satisfied.
    """
    keys = distinct(keys)
    if len(keys) == 1 and one_key_is_enough(needed, keys[0], lookups, limits):
        return
    if needed.posting:
        require_only_posting(needed)
        state = SignState(keys, lookups.posting, limits, (), lookups.spend)
        state.approved |= approved
        for name in sorted(needed.posting):
            if not (state.by_name(name) or state.by_authority(lookups.active(name)) or state.by_authority(lookups.owner(name))):
                raise errors.MissingPostingAuthority("Missing Posting Authority ${id}", id=name)
    else:
        state = SignState(keys, lookups.active, limits, (), lookups.spend)
        state.approved |= approved
        for authority in needed.other:
            if not state.by_authority(authority):
                raise errors.MissingOtherAuthority("Missing Authority")
        for name in sorted(needed.active):
            if not (state.by_name(name) or state.by_authority(lookups.owner(name))):
                raise errors.MissingActiveAuthority("Missing Active Authority ${id}", id=name)
        for name in sorted(needed.owner):
            if not state.by_authority(lookups.owner(name)):
                raise errors.MissingOwnerAuthority("Missing Owner Authority ${id}", id=name)
    if state.has_unused:
        raise errors.IrrelevantSignature("Unnecessary signature(s) detected")


def one_key_is_enough(needed: Needed, key: bytes, lookups: Lookups, limits: Limits) -> bool:
    """Return whether only one account must sign, and `key` alone satisfies its authority. This fast path covers nearly all cases."""
    if needed.owner or needed.other or len(needed.posting) + len(needed.active) != 1:
        return False
    (name,) = needed.posting or needed.active
    if name == COIN_TEMP_ACCOUNT:
        return False
    authority = lookups.posting(name) if needed.posting else lookups.active(name)
    for member, weight in authority.key_auths[: limits.members or None]:
        if member == key:
            return weight >= authority.weight_threshold
    return False


def required_signatures(
    needed: Needed, signed: Iterable[bytes], available: Iterable[bytes], lookups: Lookups, limits: Limits = LIMITS
) -> set[bytes]:
    """Return the available keys that must sign. Only the required roles are tried, no higher ones. Missing keys are not reported."""
    available = frozenset(available)
    if needed.posting:
        # Unlike in `verify`, `needed.other` is allowed here and ignored.
        errors.require(not needed.owner, condition="!required_owner.size()")
        errors.require(not needed.active, condition="!required_active.size()")
        state = SignState(signed, lookups.posting, limits, available, lookups.spend)
        for name in sorted(needed.posting):
            state.by_name(name)
    else:
        state = SignState(signed, lookups.active, limits, available, lookups.spend)
        for authority in needed.other:
            state.by_authority(authority)
        for name in sorted(needed.owner):
            state.by_authority(lookups.owner(name))
        for name in sorted(needed.active):
            state.by_name(name)
    return {key for key, used in state.used.items() if used} & available
