"""Selects a minimal set of the available keys to sign a transaction. A chain refuses superfluous signatures as well as missing ones."""

from collections.abc import Iterable

from state.protocol.authority import Authority
from state.protocol.authorization.signatures_check import LIMITS, Limits, Lookup, Lookups, SignState, required_signatures, verify
from state.protocol.errors import ChainError, IrrelevantSignature
from state.protocol.operation import Needed
from state.protocol.work import TooMuchWork


def fewest_keys(needed: Needed, available: Iterable[bytes], lookups: Lookups, limits: Limits = LIMITS) -> list[bytes]:
    """Return a minimal set of keys that suffices, in the order of their bytes, preferably of the lowest role.

    If the available keys don't suffice, return the available keys that are required, so that the chain reports which authority is missing.
    Raises ChainError for roles that can't be mixed, and UnknownKey for an unknown account.
    """
    available = frozenset(available)
    chosen = required_signatures(needed, (), available, lookups, limits)
    if not suffice(needed, chosen, lookups, limits):
        higher = chosen | (keys_that_count(needed, lookups, limits) & available)
        if not suffice(needed, higher, lookups, limits):
            return sorted(chosen)
        chosen = higher
    for key in sorted(chosen):
        if suffice(needed, chosen - {key}, lookups, limits):
            chosen = chosen - {key}
    return sorted(chosen)


def suffice(needed: Needed, keys: set[bytes], lookups: Lookups, limits: Limits) -> bool:
    """Return whether the keys satisfy all required authorities; superfluous keys are allowed."""
    try:
        verify(needed, keys, lookups, limits)
    except IrrelevantSignature:
        return True
    except TooMuchWork:
        raise
    except ChainError:
        return False
    return True


def keys_that_count(needed: Needed, lookups: Lookups, limits: Limits) -> set[bytes]:
    """Return the keys of all authorities that a signature check can read, including higher roles (active and owner for posting)."""
    met: set[bytes] = set()

    active, owner, posting = (noting(lookup, met) for lookup in (lookups.active, lookups.owner, lookups.posting))
    # Without any signature, the check reads every authority.
    state = SignState((), posting if needed.posting else active, limits, (), lookups.spend)
    for name in sorted(needed.posting | needed.active):
        state.by_name(name)
        for higher in (active, owner) if needed.posting else (owner,):
            state.by_authority(higher(name))
    return met


def noting(lookup: Lookup, met: set[bytes]) -> Lookup:
    """Return a lookup that adds the keys of each authority that it finds to `met`."""

    def noted(name: str) -> Authority:
        authority = lookup(name)
        met.update(key for key, _ in authority.key_auths)
        return authority

    return noted
