"""Selection of a minimal set of the available keys that satisfies an authority check."""

import random

import pytest

from state.protocol.authority import Authority
from state.protocol.authorization.fewest_keys import fewest_keys
from state.protocol.authorization.signatures_check import Lookup, Lookups, verify
from state.protocol.errors import ChainError, UnknownKey
from state.protocol.operation import Needed

KEYS = [bytes([2, number]).ljust(33, b"\0") for number in range(8)]
NAMES = ("a", "b", "c", "d")
Roles = dict[str, dict[str, Authority]]


def lookups(accounts: Roles) -> Lookups:
    """Return functions that look up the authorities of these accounts."""

    def of(role: str) -> Lookup:
        def find(name: str) -> Authority:
            if name not in accounts:
                raise UnknownKey
            return accounts[name][role]

        return find

    return Lookups(of("active"), of("owner"), of("posting"))


def random_authority(chance: random.Random) -> Authority:
    keys = sorted(chance.sample(KEYS, chance.randint(0, 3)))
    names = sorted(chance.sample(NAMES, chance.choice((0, 0, 1, 2))))
    weigh = lambda member: (member, chance.randint(1, 3))  # noqa: E731
    return Authority(chance.randint(1, 4), tuple(map(weigh, names)), tuple(map(weigh, keys)))


def accepted(needed: Needed, keys: list[bytes], found: Lookups) -> bool:
    try:
        verify(needed, keys, found)
    except ChainError:
        return False
    return True


def test_chosen_keys_are_accepted() -> None:
    """If any set of the available keys is accepted, the chosen set is accepted, and no subset of it is."""
    for seed in range(200):
        chance = random.Random(seed)
        accounts = {name: {role: random_authority(chance) for role in ("active", "owner", "posting")} for name in NAMES}
        names = set(chance.sample(NAMES, chance.randint(1, 2)))
        needed = Needed(names, set(), set(), []) if chance.random() < 0.5 else Needed(set(), names, set(chance.sample(NAMES, 1)), [])
        available = chance.sample(KEYS, chance.randint(0, len(KEYS)))
        found = lookups(accounts)
        chosen = fewest_keys(needed, available, found)
        assert set(chosen) <= set(available), seed
        subsets = [[key for at, key in enumerate(available) if bits >> at & 1] for bits in range(1 << len(available))]
        if any(accepted(needed, subset, found) for subset in subsets):
            assert accepted(needed, chosen, found), seed
            assert not any(accepted(needed, [key for key in chosen if key != left], found) for left in chosen), seed


def test_the_lowest_role_signs() -> None:
    owner, active, posting = (Authority(1, (), ((key, 1),)) for key in KEYS[:3])
    found = lookups({"a": {"owner": owner, "active": active, "posting": posting}})
    needed = Needed({"a"}, set(), set(), [])
    assert fewest_keys(needed, KEYS, found) == [KEYS[2]]
    assert fewest_keys(needed, KEYS[:2], found) in ([KEYS[0]], [KEYS[1]])
    assert fewest_keys(Needed(set(), {"a"}, set(), []), KEYS[:1], found) == [KEYS[0]]


def test_insufficient_keys_sign_too() -> None:
    """Even keys that don't suffice are used to sign, because the chain's refusal then names the authority that is still missing."""
    both = Authority(2, (), ((KEYS[0], 1), (KEYS[1], 1)))
    found = lookups({"a": {"owner": both, "active": both, "posting": both}})
    assert fewest_keys(Needed(set(), {"a"}, set(), []), KEYS[:1], found) == [KEYS[0]]


def test_an_unknown_account_is_refused() -> None:
    with pytest.raises(UnknownKey):
        fewest_keys(Needed(set(), {"z"}, set(), []), KEYS, lookups({}))
