"""Chooses who explains a refusal: by its class first, then by the text of the rule."""

from collections.abc import Callable

from rpc.explain.authority.missing import missing_authority, superfluous
from rpc.explain.case import Case, Explanation
from rpc.explain.general import any_refusal
from state.protocol.errors import (
    ChainError,
    DuplicateSignature,
    IrrelevantSignature,
    MissingActiveAuthority,
    MissingOtherAuthority,
    MissingOwnerAuthority,
    MissingPostingAuthority,
)

BY_CLASS: dict[type[ChainError], Callable[[Case], Explanation]] = {
    MissingActiveAuthority: missing_authority,
    MissingOwnerAuthority: missing_authority,
    MissingPostingAuthority: missing_authority,
    MissingOtherAuthority: missing_authority,
    IrrelevantSignature: superfluous,
    DuplicateSignature: superfluous,
}


def explain(case: Case) -> Explanation:
    """Return why a transaction is refused."""
    return BY_CLASS.get(type(case.error), any_refusal)(case)
