"""Authority checks, tested with the 43 worked cases: which keys satisfy operations, and which keys must sign."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from state.protocol.authority import Authority, key_authority
from state.protocol.authorization.fewest_keys import fewest_keys
from state.protocol.authorization.signatures_check import (
    LIMITS,
    MEMBERS_OF_AUTHORITY,
    MEMBERS_OF_UNIT,
    Limits,
    Lookup,
    Lookups,
    SignState,
    one_key_is_enough,
    required_signatures,
    verify,
)
from state.protocol.errors import (
    AuthorityError,
    ChainError,
    DuplicateSignature,
    MissingActiveAuthority,
    MissingOtherAuthority,
    MissingOwnerAuthority,
    MissingPostingAuthority,
    Refused,
    UnknownKey,
)
from state.protocol.keys.keys import public_key_from_text, public_key_text
from state.protocol.operation import Needed
from state.protocol.work import Spend, TooMuchWork, Work, spend_nothing
from tests.helpers.wire import ANY, VECTOR_CODECS, vectors

PREFIX = "STM"
KEY = b"\2" + bytes(32)
OK = "OK"


def needed_by(given: dict[str, Any]) -> Needed:
    """Return the authorities that the operations of a case need."""
    read = VECTOR_CODECS.parser(ANY)
    return Needed.by(tuple(read(operation) for operation in given["ops"]))


def lookups_of(given: dict[str, Any]) -> Lookups:
    """Return functions that look up the authorities of the accounts in a case."""
    read = VECTOR_CODECS.parser(Authority)

    def by(role: str) -> Callable[[str], Authority]:
        def find(name: str) -> Authority:
            if name not in given["accounts"]:
                raise UnknownKey
            found: Authority = read(given["accounts"][name][role])
            return found

        return find

    return Lookups(active=by("active"), owner=by("owner"), posting=by("posting"))


def limits_of(given: dict[str, Any]) -> Limits:
    """Return the limits of a case, or the default limits."""
    return Limits(LIMITS.depth, given.get("membership", LIMITS.members), given.get("account_limit", LIMITS.accounts))


def keys_of(texts: list[str]) -> list[bytes]:
    """Parse public keys from their texts."""
    return [public_key_from_text(text, PREFIX) for text in texts]


def minimal_signatures(
    needed: Needed, signed: Iterable[bytes], available: Iterable[bytes], lookups: Lookups, limits: Limits = LIMITS
) -> set[bytes]:
    """Return the signing keys without unneeded ones. Keys are tried in ascending order, as in wire-format.md §6.3."""
    keys = required_signatures(needed, signed, available, lookups, limits)
    for key in sorted(keys):
        try:
            verify(needed, keys - {key}, lookups, limits)
        except (MissingActiveAuthority, MissingOwnerAuthority, MissingPostingAuthority, MissingOtherAuthority):
            continue
        keys = keys - {key}
    return keys


def outcome(given: dict[str, Any]) -> str | list[str]:
    """Return the outcome of a case: the name of the error, or the selected keys as texts in ascending order."""
    needed, lookups, limits = needed_by(given), lookups_of(given), limits_of(given)
    if given["mode"] == "verify":
        try:
            verify(needed, keys_of(given["keys"]), lookups, limits)
        except ChainError as error:
            return error.NAME
        return OK
    select = required_signatures if given["mode"] == "required" else minimal_signatures
    return [public_key_text(key, PREFIX) for key in sorted(select(needed, (), keys_of(given["available"]), lookups, limits))]


@pytest.mark.parametrize("example", vectors("authority"))
def test_cases(example: Any) -> None:
    assert outcome(example["input"]) == example["expect"]["result"]


@pytest.mark.parametrize("example", [p for p in vectors("authority") if p.values[0]["input"].get("keys")])
def test_the_same_key_twice(example: Any) -> None:
    given = example["input"]
    keys = keys_of(given["keys"])
    with pytest.raises(DuplicateSignature):
        verify(needed_by(given), [*keys, keys[0]], lookups_of(given), limits_of(given))


def everywhere(lookup: Lookup, spend: Spend = spend_nothing) -> Lookups:
    return Lookups(lookup, lookup, lookup, spend)


def test_members_that_are_looked_at_are_counted() -> None:
    spent: list[int] = []
    accounts = Authority(2, tuple((f"a{i}", 1) for i in range(30)))
    keys = Authority(1, (), tuple((bytes([2]) + i.to_bytes(32, "big"), 1) for i in range(60)))
    lookups = everywhere(lambda name: keys, lambda units, kind: spent.append(units))
    for _ in range(2):
        with pytest.raises(MissingOtherAuthority):
            verify(Needed(set(), set(), set(), [accounts]), (), lookups)
    members = (MEMBERS_OF_AUTHORITY + 30) + 30 * (MEMBERS_OF_AUTHORITY + LIMITS.members)
    assert sum(spent) == 2 * (members // MEMBERS_OF_UNIT)


def test_a_limit_of_work_ends_the_search() -> None:
    looked_up: list[str] = []
    everybody = Authority(1000, tuple((f"a{i}", 1) for i in range(40)))
    work = Work()

    def find(name: str) -> Authority:
        looked_up.append(name)
        return everybody

    lookups = everywhere(find, work.spend)
    with pytest.raises(TooMuchWork):
        work.run(5, "a call", verify, Needed(set(), {"a0"}, set(), []), (), lookups)
    assert len(looked_up) <= 6
    with pytest.raises(TooMuchWork):
        work.run(5, "a call", fewest_keys, Needed(set(), {"a0"}, set(), []), (), lookups)


@pytest.mark.parametrize("role", ["owner", "active", "other"])
def test_authorities_that_can_be_combined_with_posting(role: str) -> None:
    needed = Needed({"alice"}, set(), set(), [])
    if role == "other":
        needed.other.append(key_authority(bytes(33)))
        assert required_signatures(needed, (), [KEY], everywhere(lambda name: key_authority(KEY))) == {KEY}
    else:
        getattr(needed, role).add("bob")
        with pytest.raises(Refused, match=f"!required_{role}.size"):
            required_signatures(needed, (), [KEY], everywhere(lambda name: key_authority(KEY)))
    with pytest.raises(Refused, match=f"required_{role}.size\\(\\) == 0"):
        verify(needed, (), everywhere(lambda name: Authority()))


def test_a_threshold_of_zero_is_always_satisfied() -> None:
    nobody = everywhere(lambda name: Authority())
    verify(Needed(set(), {"alice"}, set(), []), (), nobody)
    verify(Needed(set(), set(), set(), [Authority()]), (), nobody)


def test_the_temporary_account_needs_no_key() -> None:
    missing = everywhere(lambda name: key_authority(bytes(33)))
    verify(Needed({"temp"}, set(), set(), []), (), missing)
    with pytest.raises(MissingOtherAuthority, match="missing required other authority:Missing Authority"):
        verify(Needed(set(), set(), set(), [key_authority(bytes(33))]), (), missing)


def test_the_last_member_within_the_limit_counts() -> None:
    """The 40th member of an authority counts, the 41st doesn't (wire-format.md §6.1)."""
    keys = tuple(bytes([2]) + n.to_bytes(32, "big") for n in range(41))
    wide = Authority(1, (), tuple((key, 1) for key in keys))
    lookups = everywhere(lambda name: wide)
    needed = Needed(set(), {"alice"}, set(), [])
    verify(needed, [keys[39]], lookups)
    with pytest.raises(AuthorityError):
        verify(needed, [keys[40]], lookups)
    verify(needed, [keys[40]], lookups, replace(LIMITS, members=0))
    accounts = {f"member{n:02}": Authority(1, (), ((key, 1),)) for n, key in enumerate(keys)}
    lookups = everywhere((accounts | {"alice": Authority(1, tuple((name, 1) for name in accounts), ())}).__getitem__)
    verify(needed, [keys[39]], lookups)
    with pytest.raises(AuthorityError):
        verify(needed, [keys[40]], lookups)


def test_the_short_check_agrees_with_the_full_one() -> None:
    """For random authorities of up to four keys and two accounts, a single key that satisfies the short check also satisfies the full
    check, with no unused keys.
    """
    random = Random(22)
    keys = [bytes([2]) + n.to_bytes(32, "big") for n in range(4)]
    enough = others = 0
    for _ in range(3000):
        members = sorted((key, random.randrange(4)) for key in random.sample(keys, random.randrange(5)))
        accounts = sorted((name, random.randrange(3)) for name in random.sample(["bob", "temp"], random.randrange(3)))
        authority = Authority(random.randrange(5), tuple(accounts), tuple(members))
        lookups = Lookups(*[lambda name, found=authority: found] * 3)
        limits, name = Limits(members=random.randrange(4)), random.choice(["alice", "alice", "temp"])
        needed = Needed({name}, set(), set(), []) if random.random() < 0.5 else Needed(set(), {name}, set(), [])
        walk = SignState((keys[0],), lookups.active, limits)
        if one_key_is_enough(needed, keys[0], lookups, limits):
            assert walk.by_name(name)
            assert not walk.has_unused
            enough += 1
        else:
            others += 1
    assert min(enough, others) > 300
