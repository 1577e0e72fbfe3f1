"""Explains missing authorities and superfluous signatures: who signed, which weights the signatures reach, and the likely cause."""

from contextlib import suppress
from itertools import islice
from typing import Any

from msgspec import Struct

from rpc.explain.authority.attempts import Attempt, attempts
from rpc.explain.authority.key_owners import KeyOwners, Place
from rpc.explain.authority.weights import REPLACED_BY, REQUIRED_MAX, SIGNATURES_MAX, required
from rpc.explain.case import Explanation, RefusalCase
from state.chain.transactions import authority_lookups, canonical_rule
from state.protocol.authorization.fewest_keys import suffice
from state.protocol.authorization.signatures_check import LIMITS
from state.protocol.errors import ChainError, DuplicateSignature, MissingActiveAuthority, MissingOtherAuthority, MissingOwnerAuthority
from state.protocol.keys.signatures import Canonical, recover
from state.protocol.operation import Needed
from state.protocol.transaction import SignedTransaction
from state.protocol.work import TooMuchWork

SEARCH_UNITS_MAX = 1000  # units of work to find signatures that can be removed
BYTES_FOR_A_TRY = 500  # packing and hashing them takes less time than a key recovery
RULES: dict[type[ChainError], str] = {
    MissingActiveAuthority: "missing_active_authority",
    MissingOwnerAuthority: "missing_owner_authority",
    MissingOtherAuthority: "missing_other_authority",
}
SIGN_AGAIN = "Sign with the right key, and send it again."


class Signer(Struct, frozen=True):
    """A key that signed the transaction, its signature, and the accounts and roles that use or used it."""

    key: bytes
    signature: bytes
    places: list[Place]
    former: list[Place]


class Cause(Struct, frozen=True):
    """Cause of a missing authority: a stable name (None if the cause is unknown), a sentence, and advice."""

    word: str | None
    said: str
    what_to_do: str


def missing_authority(case: RefusalCase) -> Explanation:
    """Explain a transaction whose signatures don't satisfy a required authority."""
    trx = case.transaction
    key_owners, signers, entries = facts_of(case, trx)
    # The refusal names the account whose own authority isn't satisfied. No authority of another role can replace it.
    name = case.error.values.get("id")
    lacking = next((one for one in entries if one["short_by"] and one["account"] == name), entries[0] if entries else None)
    cause = cause_of(case, trx, key_owners, signers, lacking)
    rule = RULES.get(type(case.error), "missing_posting_authority")
    why = f"{format_shortfall(lacking)} {cause.said}"
    return case.explained(
        rule, why, cause.what_to_do, signed_by=[signed_by(case, one) for one in signers], required=entries, cause=cause.word
    )


def superfluous(case: RefusalCase) -> Explanation:
    """Explain signatures that aren't needed, or a key that signed twice."""
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
    said = " and ".join(f"{case.key_text(one.key)}, {format_owners(one)}" for one in spare)
    accounts = ", ".join(f"{entry['account']} ({entry['role']})" for entry in entries)
    why = f"More keys have signed than are needed, and the chain refuses extra signatures. Needed: {accounts}. Not needed: {said}."
    found = find_mistake(case, trx, key_owners, next((one for one in spare if not one.places), None))
    advice = f"Leave out the signature of {', '.join(case.key_text(one.key) for one in spare)}."
    if found is not None:
        why, advice = f"{why} That signature doesn't match this transaction: {found.clause}.", found.what_to_do
    word = "irrelevant_signature" if found is None else found.cause
    values["irrelevant"] = [case.key_text(one.key) for one in spare]
    return case.explained("irrelevant_signature", why, advice, **values, cause=word)


def facts_of(case: RefusalCase, trx: SignedTransaction) -> tuple[KeyOwners, list[Signer], list[dict[str, Any]]]:
    """Return the finder of key owners, the signers, and the required authorities in JSON form with the weights that the keys reach."""
    key_owners = KeyOwners(case, trx)
    signers = signers_of(case, trx, key_owners)
    needed = required(case, Needed.by(trx.operations), frozenset(signer.key for signer in signers))
    return key_owners, signers, list(islice(needed, REQUIRED_MAX))


def signers_of(case: RefusalCase, trx: SignedTransaction, key_owners: KeyOwners) -> list[Signer]:
    """Return the signers of a transaction, with the owners of their keys."""
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
    """Return the JSON form of (account, role) pairs."""
    return [{"account": name, "role": role} for name, role in places]


def not_needed(case: RefusalCase, needed: Needed, signers: list[Signer], members: set[str]) -> list[Signer]:
    """Return signers whose signatures can be removed. Signers with a key in `members`, the keys of the authorities as text, are removed
    last.
    """
    lookups, kept = authority_lookups(case.state), list(signers)

    def search() -> None:
        for signer in sorted(signers, key=lambda one: case.key_text(one.key) in members):
            others = [one for one in kept if one is not signer]
            if suffice(needed, {one.key for one in others}, lookups, LIMITS):
                kept[:] = others

    with suppress(TooMuchWork):
        case.state.work.run(SEARCH_UNITS_MAX, "an explanation", search)
    return [one for one in signers if one not in kept] or signers[-1:]


def format_shortfall(entry: dict[str, Any] | None) -> str:
    """Format a sentence that names the required authority, its threshold and the weight reached."""
    if entry is None:
        return "A required authority is missing."
    named = f"the {entry['role']} authority of {entry['account']}" if entry["account"] else "an authority that the operation names"
    others = " or ".join(REPLACED_BY[entry["role"]])
    or_others = f" (or {others})" if others else ""
    weights = f"weight {entry['threshold']}, the signatures reach {entry['reached']}"
    return f"The transaction needs {named}{or_others}: {weights}, {entry['short_by']} too little."


def format_owners(signer: Signer) -> str:
    """Format a clause with the present or former owners of a signer's key."""
    if signer.places:
        return "the key of " + ", ".join(f"{name} ({role})" for name, role in signer.places[:3])
    if signer.former:
        return "a former key of " + ", ".join(f"{name} ({role})" for name, role in signer.former[:3])
    return "which belongs to no known account"


def cause_of(
    case: RefusalCase, trx: SignedTransaction, key_owners: KeyOwners, signers: list[Signer], lacking: dict[str, Any] | None
) -> Cause:
    """Return the most likely cause of a missing authority. `lacking` is that authority in JSON form, if it is known."""
    if not signers:
        return Cause("unsigned", "It has no signature.", f"Sign it with the key of {format_needed_key(lacking)}.")
    for signer in signers:
        if not signer.places and not signer.former:
            found = find_mistake(case, trx, key_owners, signer)
            if found is not None:
                return Cause(found.cause, f"{capitalized(found.clause)}.", found.what_to_do)
    for signer in signers:
        own = [place for place in signer.places if place[0] in key_owners.signers]
        if own and not (lacking and lacking["reached"]):
            name, role = own[0]
            said = f"It was signed with the {role} key of {name}, which doesn't satisfy this authority."
            return Cause("other_role_key", said, f"Sign it with the key of {format_needed_key(lacking)}.")
    for signer in signers:
        if signer.former:
            name, role = signer.former[0]
            said = f"It was signed with a former {role} key of {name}, which has been replaced."
            return Cause("replaced_key", said, f"Sign it with the current key of {format_needed_key(lacking)}.")
    if lacking and lacking["reached"]:
        to_do = f"Sign it with more keys: a weight of {lacking['short_by']} is missing from {format_needed_key(lacking)}."
        return Cause("too_little_weight", "Some of the signatures count, but their weight is too small.", to_do)
    others = [signer for signer in signers if signer.places]
    if others:
        name, role = others[0].places[0]
        said = f"It was signed with the {role} key of {name}, an account that is not part of this authority."
        return Cause("other_account", said, f"Sign it with the key of {format_needed_key(lacking)}.")
    return unknown_key(case, signers, lacking)


def unknown_key(case: RefusalCase, signers: list[Signer], lacking: dict[str, Any] | None) -> Cause:
    """Return the cause for signatures whose keys belong to no known account."""
    said = f"It was signed with {case.key_text(signers[0].key)}, which belongs to no known account: "
    said += "either the key is unknown, or the transaction was changed after signing, which results in another key."
    if case.budget.is_spent:
        said += " Not all causes could be checked: too many transactions were just refused, or this one is too large."
    spec = case.spec
    to_do = f"Compare the bytes that the client signs with condenser_api.get_transaction_hex. Check its chain id ({spec.chain_id.hex()}), "
    to_do += f"its symbols ({spec.coin_symbol}, {spec.debt_symbol}, {spec.vests_symbol}) and the key of {format_needed_key(lacking)}."
    return Cause(None, said, to_do)


def format_needed_key(lacking: dict[str, Any] | None) -> str:
    """Format the account and role whose key should sign."""
    if lacking is None or not lacking["account"]:
        return "the authority that the operation names"
    return f"{lacking['account']}, role {lacking['role']}"


def find_mistake(case: RefusalCase, trx: SignedTransaction, key_owners: KeyOwners, signer: Signer | None) -> Attempt | None:
    """Return the mistake whose digest yields an account's key from the signature, or None if there is none or the budget is spent."""
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


def capitalized(text: str) -> str:
    """Capitalize the first letter of a clause."""
    return text[:1].upper() + text[1:]
