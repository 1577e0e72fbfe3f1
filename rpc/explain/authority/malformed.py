"""Explains signatures from which no key can be recovered."""

from collections.abc import Callable

from rpc.explain.case import Explanation, RefusalCase
from rpc.explain.general import any_refusal
from state.chain.transactions import canonical_rule
from state.protocol.errors import ChainError
from state.protocol.keys.signatures import CANONICAL_CONDITION, HEADER_MAX, HEADER_MIN, RECOVER_CONDITION, recover

NO_KEY = "unable to reconstruct public key from signature"


def bad_signature(case: RefusalCase) -> Explanation:
    """Explain the first signature from which no key can be recovered."""
    found = first_bad(case)
    if found is None:
        return any_refusal(case)
    index, signature = found
    values = {"signature_index": index, "signature": signature.hex()}
    if case.error.text == NO_KEY:
        why = f"signatures[{index}] begins with the byte {signature[0]}. A signature has 65 bytes, and the first one is {HEADER_MIN} to "
        why += f"{HEADER_MAX}: 31 plus the recovery id."
        return case.explained("malformed_signature", why, "Send 65 bytes (header, r, s) as 130 hex digits.", **values)
    if case.error.condition == CANONICAL_CONDITION:
        why = f"signatures[{index}] is valid but not canonical: it must have the lower of the two possible values of s."
        return case.explained("signature_not_canonical", why, "Repeat signing until the signature is canonical, as libraries do.", **values)
    why = f"signatures[{index}] is not a valid signature: it corresponds to no point of the curve."
    return case.explained("signature_not_recoverable", why, "Compare it with the signer's output: it was changed after signing.", **values)


def first_bad(case: RefusalCase) -> tuple[int, bytes] | None:
    """Return the index and bytes of the first invalid signature. Return None if all are valid or the budget runs out before it is found."""
    rule, digest = canonical_rule(case.state), case.wire.signature_digest(case.transaction)
    for index, signature in enumerate(case.transaction.signatures):
        if not case.budget.take():
            break
        try:
            recover(signature, digest, rule)
        except ChainError:
            return index, signature
    return None


BY_TEXT: dict[str, Callable[[RefusalCase], Explanation]] = {NO_KEY: bad_signature}
BY_CONDITION: dict[str, Callable[[RefusalCase], Explanation]] = {CANONICAL_CONDITION: bad_signature, RECOVER_CONDITION: bad_signature}
