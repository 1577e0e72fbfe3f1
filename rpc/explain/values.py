"""Values for explanations: the fields of the refused operation, and English translations of the reference's conditions."""

import re
from typing import Any

from rpc.explain.case import RefusalCase
from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import Seconds, as_it_is
from state.protocol.values.text import time_text

CONDITION_MAX = 300  # characters; longer conditions are not translated
OWNERS = re.compile(r"\b(?:_db|db\(\)|o|op|this|value)\s*(?:\.|->)\s*")
PLACES = re.compile(r"\{(\w+)\}")
# Patterns for the reference's conditions, each with its translation. The first matching pattern applies.
FORMS: tuple[tuple[str, str], ...] = (
    (r"(\S+)\.(?:size|length)\(\) > 0", r"{0} must not be empty"),
    (r"(\S+)\.empty\(\) == false", r"{0} must not be empty"),
    (r"!(\S+)\.empty\(\)", r"{0} must not be empty"),
    (r"(\S+)\.(?:size|length)\(\) (<=|<|>=|>|==) (\S+)", r"the length of {0} must be {1} {2}"),
    (r"(\S+)\.amount > (?:share_type\()?0\)?", r"the amount of {0} must be greater than zero"),
    (r"!?has_hardfork\( (\S+) \)", r"it depends on the hardfork {0}"),
    (r"is_asset_type\( (\S+), (\S+)_SYMBOL \)", r"{0} must be in {1}"),
    (r"is_valid_account_name\( (\S+) \)", r"{0} must be a valid account name"),
    (r"fc::is_utf8\( ?(\S+?) ?\)", r"{0} must be text in UTF-8"),
    (r"fc::json::is_valid\( ?(\S+?) ?\)", r"{0} must be JSON"),
    (r"([^<>=!&|]+) (<=|<|>=|>|==|!=) ([^<>=!&|]+)", r"{0} must be {1} {2}"),
    (r"([\w.]+)", r"{0} must be true"),
    (r"!([\w.]+)", r"{0} must be false"),
)
SIGNS = {"<=": "at most", "<": "less than", ">=": "at least", ">": "greater than", "==": "equal to", "!=": "other than"}


def fields_of_operation(case: RefusalCase) -> dict[str, Any]:
    """Return the fields of the refused operation by JSON name, with amounts as strings. Without an operation, return an empty dict."""
    operation = case.operation
    if operation is None:
        return {}
    found = {}
    for field in wire_fields(type(operation)):
        value = getattr(operation, field.name)
        dump = case.wire.codecs.dumper(field.kind, True) or as_it_is
        shown = None if value is None else time_text(value) if isinstance(field.kind, Seconds) else dump(value)
        found[case.spec.spell(field.json)] = case.shown(shown)
    return found


def filled(text: str, values: dict[str, Any]) -> str:
    """Replace each `{name}` in a sentence with its value. The elements of a list are joined by commas."""

    def value(match: re.Match[str]) -> str:
        found = values.get(match[1], "")
        return ", ".join(str(one) for one in found) if isinstance(found, list) else str(found)

    return PLACES.sub(value, text)


def in_words(condition: str) -> str:
    """Translate a condition of the reference into English. Return "" if it matches none of FORMS."""
    bare = OWNERS.sub("", condition.strip())
    if not bare or bare == "false" or len(bare) > CONDITION_MAX:
        return ""
    for form, words in FORMS:
        match = re.fullmatch(form, bare)
        if match is not None:
            return words.format(*[SIGNS.get(part, part.strip()) for part in match.groups()])
    return ""
