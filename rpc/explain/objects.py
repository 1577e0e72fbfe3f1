"""Explains the refusal `unknown key` by naming the object that wasn't found."""

from rpc.explain.case import Explanation, RefusalCase
from state.protocol.errors import UnknownKey

# The type of object that each index contains, keyed by the fields of the index.
KINDS: dict[tuple[str, ...], str] = {
    ("seller", "orderid"): "order",
    ("from_", "escrow_id"): "escrow",
    ("from_", "request_id"): "savings request",
    ("name",): "account",
    ("author", "permlink"): "post",
    ("symbol",): "token",
}
ADVICE = {
    "account": "Check the spelling of the name, and that the account exists on this chain. Names have lower-case letters.",
    "witness": "Only accounts that have sent witness_update are witnesses (condenser_api.get_witness_by_account).",
    "post": "Check author and permlink, without an @. The post must exist on this chain, and not be deleted.",
    "order": "The order may have been filled, cancelled, or have expired (condenser_api.get_open_orders).",
    "escrow": "The escrow may have ended (condenser_api.get_escrow).",
    "savings request": "The request may have been paid or cancelled (condenser_api.get_savings_withdraw_from).",
    "authority": "The account exists without an authority, so no one can sign for it.",
    "metadata": "The account was created at genesis without metadata, and the rules don't add any.",
}
ON_A_FORK = {
    "account": "Check the spelling. This chain has only some accounts of its source. Add more: coind fork FILE --add --accounts {}",
    "post": "Check author and permlink. This chain has only some posts of its source. Add more: coind fork FILE --add --posts @{}",
}
OTHERWISE = "Check the names and numbers in the operation."


def unknown_object(case: RefusalCase) -> Explanation:
    """Explain which object wasn't found: its type and its key."""
    error = case.error
    assert isinstance(error, UnknownKey)
    kind = error.kind or KINDS.get(error.fields, "")
    key = [part for part in error.key if isinstance(part, (str, int))]
    if kind == "authority" and case.state.accounts.by_name.get(str(error.key[0])) is None:
        kind = "account"
    where = f" that operation {error.operation} ({case.name_of(case.operation)}) names" if case.operation is not None else ""
    named = "/".join(str(part) for part in key) or "without a name"
    if kind:
        why = f"There is no {kind} {named!r} on this chain{where}." if key else f"There is no such {kind} on this chain{where}."
    else:
        why = f"There is no object with {', '.join(error.fields) or 'the key'} {named}{where}."
    rule = f"unknown_{kind.replace(' ', '_')}" if kind else "unknown_object"
    advice = ADVICE.get(kind, OTHERWISE)
    if case.state.spec.is_partial and kind in ON_A_FORK and key:
        advice = ON_A_FORK[kind].format(named)
    return case.explained(rule, why, advice, kind=kind or None, key=key)
