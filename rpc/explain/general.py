"""Explains refusals without a specific explanation: the operation, the rule's text, its condition in English, and the values."""

import json
import re
from collections.abc import Iterator

from rpc.explain.case import Explanation, RefusalCase
from rpc.explain.values import fields_of_operation, in_words
from state.operations.custom import CustomJson
from state.protocol import constants
from state.protocol.errors import PLACEHOLDER, BadCast, EndOfFile, OutOfRange, ParseError, fill
from state.protocol.operation import Operation

RULE_MAX = 60  # characters
READING = (BadCast, ParseError, EndOfFile, OutOfRange)


def any_refusal(case: RefusalCase) -> Explanation:
    """Explain a refusal that has no specific explanation."""
    error = case.error
    text = fill(case.spec.spell(error.text), {name: case.shown(value) for name, value in error.values.items()}).strip().rstrip(".:")
    condition = in_words(case.spec.spell(error.condition))
    condition = condition and ", ".join([condition, *named_values(case)])
    reason = f"{text} ({condition})" if text and condition else text or condition or case.spec.spell(error.condition or error.what)
    operation = case.operation
    values = {name: value for name, value in error.values.items() if name != "what"}
    rule = slug(error.text or error.condition or error.NAME)
    if operation is None:
        why, advice = f"{reason[:1].upper()}{reason[1:]}.", "Correct the named value, then sign and send it again."
    else:
        why = f"Operation {error.operation} ({case.name_of(operation)}) is refused: {reason}."
        advice = f"Change the fields of {case.name_of(operation)} to satisfy this condition, then sign and send it again."
        values["fields"] = fields_of_operation(case)
    if "has_hardfork(" in error.condition:
        advice = f"This chain is at hardfork {case.state.hardfork}, which doesn't allow this. Use an operation of this hardfork."
    elif type(error) in READING and operation is not None:
        rule, why, advice = unreadable_json(case, operation, text)
    return case.explained(rule, why, advice, **values | {"condition": error.condition})


def named_values(case: RefusalCase) -> Iterator[str]:
    """Yield a clause "name is value" for each integer field and each constant in the condition."""
    fields = fields_of_operation(case)
    for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", case.error.condition)):
        value = fields.get(word, getattr(constants, word, None))
        if isinstance(value, int) and not isinstance(value, bool):
            yield f"{case.spec.spell(word)} is {value}"


def unreadable_json(case: RefusalCase, operation: Operation, text: str) -> tuple[str, str, str]:
    """Return the rule name, reason and advice for a field with invalid JSON, or with JSON that a plugin can't interpret."""
    reason, place = text.split("\n")[0], f"operation {case.error.operation} ({case.name_of(operation)})"
    if isinstance(operation, CustomJson) and is_json(operation.json):
        why = f"The JSON in {place} doesn't have the format of the id {operation.id!r}: {reason}."
        return "unreadable_custom_json", why, f"Write it as the applications of {operation.id!r} do: usually [name, {{...}}]."
    return "invalid_json", f"A JSON text in {place} can't be read: {reason}.", "Write it with a JSON library, with nothing after its end."


def is_json(text: str) -> bool:
    """Whether a string is valid JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def slug(text: str) -> str:
    """Turn a refusal's message into a rule name: its lower-case words without placeholders, joined by underscores."""
    name = ""
    for word in re.findall(r"[a-z0-9]+", PLACEHOLDER.sub("", text).lower()):
        if len(name) + len(word) >= RULE_MAX:
            break
        name = f"{name}_{word}" if name else word
    return name
