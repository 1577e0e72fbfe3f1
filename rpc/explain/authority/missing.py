"""Explains missing authorities and superfluous signatures: the facts, and the cause if an attempt finds it."""

from contextlib import suppress
from itertools import islice
from typing import Any

from msgspec import Struct

from rpc.explain.authority.attempts import Attempt, attempts
from rpc.explain.authority.key_owners import KeyOwners, Place
from rpc.explain.authority.weights import REQUIRED_MAX, SIGNATURES_MAX, STANDING_IN, required
from rpc.explain.case import Explanation, RefusalCase
from state.chain.transactions import authority_lookups, canonical_rule
from state.protocol.authorization.fewest_keys import suffice
from state.protocol.authorization.signatures_check import LIMITS
from state.protocol.errors import ChainError, DuplicateSignature, MissingActiveAuthority, MissingOtherAuthority, MissingOwnerAuthority
from state.protocol.keys.signatures import Canonical, recover
from state.protocol.operation import Needed
from state.protocol.transaction import SignedTransaction
from state.protocol.work import TooMuchWork

SEARCH_UNITS_MAX = 1000  # of work, to find signatures that can be left out
BYTES_FOR_A_TRY = 500  # packing and hashing this many bytes takes less time than a key recovery
RULES: dict[type[ChainError], str] = {
    MissingActiveAuthority: "missing_active_authority",
    MissingOwnerAuthority: "missing_owner_authority",
    MissingOtherAuthority: "missing_other_authority",
}
SIGN_AGAIN = "Sign with the right key, and send it again."


class Signer(Struct, frozen=True):
    """A key that signed, its signature, its owners and its former owners."""

    key: bytes
    signature: bytes
    places: list[Place]
    former: list[Place]


class Cause(Struct, frozen=True):
    """Cause of a missing authority: a stable word (None if unknown), a sentence, and advice."""

    word: str | None
    said: str
    what_to_do: str


def missing_authority(case: RefusalCase) -> Explanation:
    """Explain a transaction whose signatures don't reach an authority."""
    trx = case.transaction
    key_owners, signers, entries = facts_of(case, trx)
    # The refusal names the account whose authority no other one replaces.
    name = case.error.values.get("id")
    lacking = next((one for one in entries if one["short_by"] and one["account"] == name), entries[0] if entries else None)
    cause = cause_of(case, trx, key_owners, signers, lacking)
    rule = RULES.get(type(case.error), "missing_posting_authority")
    why = f"{lack(lacking)} {cause.said}"
    return case.explained(
        rule, why, cause.what_to_do, signed_by=[signed_by(case, one) for one in signers], required=entries, cause=cause.word
    )


def superfluous(case: RefusalCase) -> Explanation:
    """Explain superfluous signatures, and a key that signed twice."""
    trx = case.transaction
    key_owners, signers, entries = facts_of(case, trx)
    values: dict[str, Any] = {"signed_by": [signed_by(case, one) for one in signers], "required": entries}
    if isinstance(case.error, DuplicateSignature):
        keys = [signer.key for signer in signers]
        twice = sorted({case.key_text(key) for key in keys if keys.count(key) > 1})
        why = f"The key {', '.join(twice)} has signed more than once."
        values |= {"cause": "duplicate_signature", "duplicate": twice}
        return case.explained("duplicate_signature", why, "Sign once with each key.", **values)
    spare = not_needed(case, Needed.by(trx.operations), signers, {key["key"] for entry in entries for key in entry["keys"]})
    said = " and ".join(f"{case.key_text(one.key)}, {whose(one)}" for one in spare)
    accounts = ", ".join(f"{entry['account']} ({entry['role']})" for entry in entries)
    why = f"More keys have signed than are needed, and the chain refuses extra signatures. Needed: {accounts}. Not needed: {said}."
    found = tried(case, trx, key_owners, next((one for one in spare if not one.places), None))
    advice = f"Leave out the signature of {', '.join(case.key_text(one.key) for one in spare)}."
    if found is not None:
        why, advice = f"{why} That signature is not of this transaction: {found.clause}.", found.what_to_do
    word = "irrelevant_signature" if found is None else found.cause
    values["irrelevant"] = [case.key_text(one.key) for one in spare]
    return case.explained("irrelevant_signature", why, advice, **values, cause=word)


def facts_of(case: RefusalCase, trx: SignedTransaction) -> tuple[KeyOwners, list[Signer], list[dict[str, Any]]]:
    """Return the key owners, the signers, and the required authorities with the weights reached."""
    key_owners = KeyOwners(case, trx)
    signers = signers_of(case, trx, key_owners)
    needed = required(case, Needed.by(trx.operations), frozenset(signer.key for signer in signers))
    return key_owners, signers, list(islice(needed, REQUIRED_MAX))


def signers_of(case: RefusalCase, trx: SignedTransaction, key_owners: KeyOwners) -> list[Signer]:
    """Return the keys that signed, with their owners."""
    keys = case.wire.signers(trx, canonical_rule(case.state))[:SIGNATURES_MAX]
    pairs = zip(keys, trx.signatures, strict=False)
    found = []
    for key, signature in pairs:
        places = key_owners.of(key)
        found.append(Signer(key, signature, places, [] if places else key_owners.former(key)))
    return found


def signed_by(case: RefusalCase, signer: Signer) -> dict[str, Any]:
    """Return the JSON form of a signer."""
    shown: dict[str, Any] = {"key": case.key_text(signer.key), "belongs_to": members_of(signer.places)}
    return shown | {"belonged_to": members_of(signer.former)} if signer.former else shown


def members_of(places: list[Place]) -> list[dict[str, str]]:
    """Return the JSON form of accounts with their roles."""
    return [{"account": name, "role": role} for name, role in places]


def not_needed(case: RefusalCase, needed: Needed, signers: list[Signer], members: set[str]) -> list[Signer]:
    """Return keys that can be left out. Keys in `members`, the authorities' own keys, are tried last, so they are kept if possible."""
    lookups, kept = authority_lookups(case.state), list(signers)

    def search() -> None:
        for signer in sorted(signers, key=lambda one: case.key_text(one.key) in members):
            others = [one for one in kept if one is not signer]
            if suffice(needed, {one.key for one in others}, lookups, LIMITS):
                kept[:] = others

    with suppress(TooMuchWork):
        case.state.work.run(SEARCH_UNITS_MAX, "an explanation", search)
    return [one for one in signers if one not in kept] or signers[-1:]


def lack(entry: dict[str, Any] | None) -> str:
    """Describe the required authority and the weight reached."""
    if entry is None:
        return "The authority that is needed is missing."
    named = f"the {entry['role']} authority of {entry['account']}" if entry["account"] else "an authority that the operation names"
    others = " or ".join(STANDING_IN[entry["role"]])
    or_others = f" (or {others})" if others else ""
    weights = f"weight {entry['threshold']}, the signatures reach {entry['reached']}"
    return f"The transaction needs {named}{or_others}: {weights}, {entry['short_by']} too little."


def whose(signer: Signer) -> str:
    """Describe the owners of a key."""
    if signer.places:
        return "the key of " + ", ".join(f"{name} ({role})" for name, role in signer.places[:3])
    if signer.former:
        return "a former key of " + ", ".join(f"{name} ({role})" for name, role in signer.former[:3])
    return "which belongs to no account that is known here"


def cause_of(
    case: RefusalCase, trx: SignedTransaction, key_owners: KeyOwners, signers: list[Signer], lacking: dict[str, Any] | None
) -> Cause:
    """Return the cause of a missing authority."""
    if not signers:
        return Cause("unsigned", "It has no signature.", f"Sign it with the key of {wanted(lacking)}.")
    for signer in signers:
        if not signer.places and not signer.former:
            found = tried(case, trx, key_owners, signer)
            if found is not None:
                return Cause(found.cause, f"{upper(found.clause)}.", found.what_to_do)
    for signer in signers:
        own = [place for place in signer.places if place[0] in key_owners.signers]
        if own and not (lacking and lacking["reached"]):
            name, role = own[0]
            said = f"It was signed with the {role} key of {name}, which doesn't count for this."
            return Cause("other_role_key", said, f"Sign it with the key of {wanted(lacking)}.")
    for signer in signers:
        if signer.former:
            name, role = signer.former[0]
            said = f"It was signed with a key that was the {role} key of {name}, and has been replaced."
            return Cause("replaced_key", said, f"Sign it with the present key of {wanted(lacking)}.")
    if lacking and lacking["reached"]:
        to_do = f"Have more keys sign it: {lacking['short_by']} of weight is missing from {wanted(lacking)}."
        return Cause("too_little_weight", "Some of the signatures count, but not enough of them.", to_do)
    others = [signer for signer in signers if signer.places]
    if others:
        name, role = others[0].places[0]
        said = f"It was signed with the {role} key of {name}, an account that has no part in this authority."
        return Cause("other_account", said, f"Sign it with the key of {wanted(lacking)}.")
    return unknown_key(case, signers, lacking)


def unknown_key(case: RefusalCase, signers: list[Signer], lacking: dict[str, Any] | None) -> Cause:
    """Return the cause for a key of unknown origin."""
    said = f"It was signed with {case.key_text(signers[0].key)}, which belongs to no account that is known here: "
    said += "either that is an unknown key, or something was changed after signing, since a changed transaction leads to another key."
    if case.budget.is_spent:
        said += " Not everything could be tried: too many transactions were just refused, or this one is too large."
    spec = case.spec
    to_do = f"Compare the bytes that the client signs with condenser_api.get_transaction_hex. Check its chain id ({spec.chain_id.hex()}), "
    to_do += f"its symbols ({spec.coin_symbol}, {spec.debt_symbol}, {spec.vests_symbol}) and the key of {wanted(lacking)}."
    return Cause(None, said, to_do)


def wanted(lacking: dict[str, Any] | None) -> str:
    """Describe the key that is needed."""
    if lacking is None or not lacking["account"]:
        return "the authority that the operation names"
    return f"{lacking['account']}, role {lacking['role']}"


def tried(case: RefusalCase, trx: SignedTransaction, key_owners: KeyOwners, signer: Signer | None) -> Attempt | None:
    """Return the attempt that yields a known key from a signature; None if there is none, or the budget is spent."""
    if signer is None:
        return None
    cost = 1 + trx.size // BYTES_FOR_A_TRY
    for attempt in attempts(case, trx):
        if not case.budget.take(cost):
            return None
        try:
            key = recover(signer.signature, attempt.digest, Canonical.non_canonical)
        except ChainError:
            continue
        if key_owners.of(key) or key_owners.former(key):
            return attempt
    return None


def upper(text: str) -> str:
    """Capitalize the first letter of a clause."""
    return text[:1].upper() + text[1:]
