"""Explains refusals without a specific explanation: the operation, the rule's text, its condition in words, and the values."""

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
    """Return the generic explanation of a refusal."""
    error = case.error
    said = fill(case.spec.spell(error.text), {name: case.shown(value) for name, value in error.values.items()}).strip().rstrip(".:")
    asked = in_words(case.spec.spell(error.condition))
    asked = asked and ", ".join([asked, *facts_of(case)])
    reason = f"{said} ({asked})" if said and asked else said or asked or case.spec.spell(error.condition or error.what)
    operation = case.operation
    values = {name: value for name, value in error.values.items() if name != "what"}
    rule = slug(error.text or error.condition or error.NAME)
    if operation is None:
        why, advice = f"{reason[:1].upper()}{reason[1:]}.", "Change what the sentence names, and sign and send it again."
    else:
        why = f"Operation {error.operation} ({case.name_of(operation)}) is refused: {reason}."
        advice = f"Change the fields of {case.name_of(operation)} so that this holds, and sign and send it again."
        values["fields"] = fields_of_operation(case)
    if "has_hardfork(" in error.condition:
        advice = f"This chain is at hardfork {case.state.hardfork}, where that can't be done. Use an operation of this hardfork."
    elif type(error) in READING and operation is not None:
        rule, why, advice = unreadable_json(case, operation, said)
    return case.explained(rule, why, advice, **values | {"condition": error.condition})


def facts_of(case: RefusalCase) -> Iterator[str]:
    """Yield clauses with the values of the integer fields and constants that a condition names."""
    fields = fields_of_operation(case)
    for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", case.error.condition)):
        value = fields.get(word, getattr(constants, word, None))
        if isinstance(value, int) and not isinstance(value, bool):
            yield f"{case.spec.spell(word)} is {value}"


def unreadable_json(case: RefusalCase, operation: Operation, said: str) -> tuple[str, str, str]:
    """Return rule, reason and advice for a field with invalid JSON, or with JSON that its plugin doesn't accept."""
    reason, place = said.split("\n")[0], f"operation {case.error.operation} ({case.name_of(operation)})"
    if isinstance(operation, CustomJson) and is_json(operation.json):
        why = f"The JSON in {place} is not what the id {operation.id!r} asks for: {reason}."
        return "unreadable_custom_json", why, f"Write it as the applications of {operation.id!r} do: usually [name, {{...}}]."
    return "invalid_json", f"A JSON text in {place} can't be read: {reason}.", "Write it with a JSON library, with nothing after its end."


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def slug(text: str) -> str:
    """Turn a text into a rule name: its lower-case words without placeholders, joined by underscores."""
    name = ""
    for word in re.findall(r"[a-z0-9]+", PLACEHOLDER.sub("", text).lower()):
        if len(name) + len(word) >= RULE_MAX:
            break
        name = f"{name}_{word}" if name else word
    return name
