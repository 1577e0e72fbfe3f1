"""Chooses who explains a refusal: by its class first, then by the text of the rule."""

from rpc.explain.case import Case, Explanation
from rpc.explain.general import any_refusal


def explain(case: Case) -> Explanation:
    """Return why a transaction is refused."""
    return any_refusal(case)
