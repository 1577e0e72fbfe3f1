"""Refusals that have no explanation of their own: the operation, the rule's own words, and its values."""

import re

from rpc.explain.case import Case, Explanation
from state.protocol.errors import PLACEHOLDER, fill

RULE_MAX = 60  # characters


def any_refusal(case: Case) -> Explanation:
    """Return what can be said of any refusal."""
    error = case.error
    said = fill(error.text, error.values) or error.condition or error.what
    return case.explained(
        slug(error.text or error.condition or error.NAME), said, "Change what the rule names, and send it again.", **error.values
    )


def slug(text: str) -> str:
    """Return a text as a name: its words in lower case, without what is filled in."""
    return "_".join(re.findall(r"[a-z0-9]+", PLACEHOLDER.sub("", text).lower()))[:RULE_MAX].strip("_")
