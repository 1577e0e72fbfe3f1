"""Explains why a transaction can't be parsed: names the field, the given value, and the form that the field accepts."""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import singledispatch
from typing import Any

from msgspec import Struct

from rpc.explain.case import Explanation, OutputLimit, RefusalCase, shortened
from rpc.explain.general import any_refusal
from state.protocol.codec.fields import BUILT_IN, kind_of, shown_fields, wire_fields
from state.protocol.codec.kinds import AssetKind, Bounded, Flag, Hash, Int, Key, Many, Pairs, Seconds, String
from state.protocol.errors import ChainError
from state.protocol.operation import OPERATIONS, Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, SBD, VESTS, decimals

GIVEN_MEMBERS_MAX = 100  # the maximum number of members of the given value that an explanation contains
OPERATIONS_MAX = 1000  # the maximum number of operations or list elements to check
NAME_MAX = 64  # characters; for a longer name, no similar names are searched
DEPTH_MAX = 4  # the maximum depth of nested values
NAIS = ("@@000000021", "@@000000013", "@@000000037")


class ParseFailure(Struct, frozen=True):
    """A value that can't be parsed: its path, the given value, the rule's name, and the accepted form."""

    path: str
    given: Any
    rule: str
    takes: str


def unreadable(case: RefusalCase) -> Explanation:
    """Explain why a transaction can't be parsed. The explanation describes its first invalid value."""
    found = next(faults(case, case.given), None)
    if found is None:
        return any_refusal(case)
    value = case.shown(found.given, room=OutputLimit(GIVEN_MEMBERS_MAX))
    why = f"{found.path} can't be read: {shortened(repr(value))} was given, and this chain takes {found.takes}."
    return case.explained(found.rule, why, f"Send {found.path} as {found.takes}.", field=found.path, given=value, takes=found.takes)


def faults(case: RefusalCase, given: Any) -> Iterator[ParseFailure]:
    """Yield the parse failures of a transaction that is given as JSON."""
    if not isinstance(given, dict):
        yield ParseFailure(
            "trx", given, "no_transaction", f"an object with {', '.join(field.json for field in wire_fields(SignedTransaction))}"
        )
        return
    for field in shown_fields(SignedTransaction, case.is_legacy):
        if field.json not in given:
            continue
        value = given[field.json]
        if field.json == "operations":
            yield from faults_of_operations(case, value)
        else:
            yield from faults_of(case, field.json, field.kind, value)


def faults_of_operations(case: RefusalCase, given: Any) -> Iterator[ParseFailure]:
    """Yield the parse failures of a transaction's operations, which are given as JSON."""
    form = '["transfer", {...}]' if case.is_legacy else '{"type": "transfer_operation", "value": {...}}'
    takes = f"operations as {form}"
    if not isinstance(given, list):
        yield ParseFailure("operations", given, "no_list", f"a list of {takes}")
        return
    classes = {name: cls for cls in OPERATIONS.values() for name in names_of(case, cls)}
    for index, operation in enumerate(given[:OPERATIONS_MAX]):
        path = f"operations[{index}]"
        if isinstance(operation, list) and len(operation) >= 2 and case.is_legacy:
            name, body = operation[0], operation[1]
        elif isinstance(operation, dict) and not case.is_legacy and "type" in operation:
            name, body = operation["type"], operation.get("value")
        else:
            yield ParseFailure(path, operation, "wrong_form_of_operation", takes)
            continue
        cls = class_of(classes, name)
        if cls is None:
            yield ParseFailure(f"{path} (its name)", name, "unknown_operation", known_names(case, name))
        elif not isinstance(body, dict):
            yield ParseFailure(f"{path} (its fields)", body, "no_object", "an object with the fields of the operation")
        elif not is_read(case, cls, body):
            yield from faults_of_fields(case, f"{path}.", cls, body)


def is_read(case: RefusalCase, kind: Any, value: Any) -> bool:
    """Whether a value can be parsed as this kind. Parsing a complete operation is faster than parsing each field separately."""
    try:
        case.wire.codecs.parser(kind, case.is_legacy)(value)
    except ChainError:
        return False
    return True


def class_of(classes: dict[str, type[Operation]], name: Any) -> type[Operation] | None:
    """Return the class of the operation with this name or number."""
    if type(name) is int:
        return OPERATIONS.get(name)
    return classes.get(name) if isinstance(name, str) else None


def names_of(case: RefusalCase, cls: type[Operation]) -> tuple[str, ...]:
    """Return the names by which the transaction's JSON form can name an operation."""
    full = case.spec.spell(f"{cls.NAME}_operation")
    return (case.spec.spell(cls.NAME), full) if case.is_legacy else (full,)


def known_names(case: RefusalCase, name: Any) -> str:
    """Describe the accepted operation names: those similar to `name`, or an example if none is similar."""
    known = [names_of(case, cls)[0] for cls in OPERATIONS.values() if not cls.VIRTUAL]
    close = get_close_matches(name, known, 3) if isinstance(name, str) and len(name) <= NAME_MAX else []
    return f"the name of an operation, for example {' or '.join(close or known[2:3])}"


def faults_of_fields(case: RefusalCase, before: str, cls: type, given: dict[str, Any], depth: int = 0) -> Iterator[ParseFailure]:
    """Yield the parse failures of an object's fields. `before` is the path's prefix."""
    for field in shown_fields(cls, case.is_legacy):
        name = case.spec.spell(field.json)
        if name in given:
            yield from faults_of(case, before + name, field.kind, given[name], depth)


def faults_of(case: RefusalCase, path: str, kind: Any, value: Any, depth: int = 0) -> Iterator[ParseFailure]:
    """Yield the parse failure of a value. For a container, yield that of its first invalid member instead, down to DEPTH_MAX levels."""
    codecs = case.wire.codecs
    try:
        codecs.parser(kind, case.is_legacy)(value)
    except ChainError as error:
        is_class = isinstance(kind, type) and kind not in BUILT_IN
        inner: list[ParseFailure] = []
        if is_class and isinstance(value, dict) and depth < DEPTH_MAX:
            inner = list(faults_of_fields(case, f"{path}.", kind, value, depth + 1))
        elif isinstance(kind, Many) and isinstance(value, list) and depth < DEPTH_MAX:
            members = enumerate(value[:OPERATIONS_MAX])
            inner = [found for i, one in members for found in faults_of(case, f"{path}[{i}]", kind.element, one, depth + 1)][:1]
        elif isinstance(kind, Pairs) and isinstance(value, list) and depth < DEPTH_MAX:
            keys = [(i, pair[0]) for i, pair in enumerate(value[:OPERATIONS_MAX]) if isinstance(pair, list) and pair]
            inner = [found for i, one in keys for found in faults_of(case, f"{path}[{i}][0]", kind.key, one, depth + 1)][:1]
        if inner:
            yield inner[0]
        else:
            yield ParseFailure(path, value, rule_of(kind_of(kind), case, value, error), accepted(kind_of(kind), case))


@singledispatch
def accepted(kind: object, case: RefusalCase) -> str:
    """Describe the JSON form that a field of this kind accepts."""
    return "another form, see docs/api/operations.md"


accepted.register(type, lambda kind, case: "an object")
accepted.register(Key, lambda kind, case: f"a public key that begins with {case.spec.key_prefix}")
accepted.register(Seconds, lambda kind, case: 'a time in UTC, for example "2026-01-31T12:00:00"')
accepted.register(Flag, lambda kind, case: "true or false")
accepted.register(Int, lambda kind, case: f"a whole number of {kind.bits} bits{'' if kind.signed else ', not negative'}")
accepted.register(Hash, lambda kind, case: f"{2 * kind.size} hex digits")
accepted.register(Bounded, lambda kind, case: f"a text of at most {kind.size} bytes")
accepted.register(String, lambda kind, case: "a text")
accepted.register(Many, lambda kind, case: "a list in ascending order, each member once" if kind.strict else "a list")
accepted.register(Pairs, lambda kind, case: "a list of pairs")


@accepted.register
def _amount(kind: AssetKind, case: RefusalCase) -> str:
    """Describe the JSON form of amounts, with the chain's symbols."""
    spec = case.spec
    if case.is_legacy and not kind.nai_only:
        return (
            f'an amount with its decimal places: "1.000 {spec.coin_symbol}", "1.000 {spec.debt_symbol}" or "1.000000 {spec.vests_symbol}"'
        )
    symbols = zip((spec.coin_symbol, spec.debt_symbol, spec.vests_symbol), NAIS, (COIN, SBD, VESTS), strict=True)
    named = ", ".join(f"{name} is {nai} with precision {decimals(symbol)}" for name, nai, symbol in symbols)
    return f'an amount in the smallest unit: {{"amount": "1000", "precision": 3, "nai": "{NAIS[0]}"}}, not negative; {named}'


@singledispatch
def rule_of(kind: object, case: RefusalCase, value: Any, error: ChainError) -> str:
    """Return the stable name of the rule that an invalid value violates."""
    return "unreadable_field"


rule_of.register(
    Key,
    lambda kind, case, value, error: (
        "damaged_key" if isinstance(value, str) and value.startswith(case.spec.key_prefix) else "wrong_key_prefix"
    ),
)
rule_of.register(Seconds, lambda kind, case, value, error: "unreadable_time")
rule_of.register(Int, lambda kind, case, value, error: "unreadable_number")
rule_of.register(Flag, lambda kind, case, value, error: "unreadable_number")
rule_of.register(Hash, lambda kind, case, value, error: "unreadable_signature")


@rule_of.register
def _rule_of_amount(kind: AssetKind, case: RefusalCase, value: Any, error: ChainError) -> str:
    is_text = case.is_legacy and not kind.nai_only
    if isinstance(value, str) != is_text:
        return "wrong_form_of_amount"
    if isinstance(value, str):
        spec, symbol = case.spec, value.split(" ")[-1]
        if symbol not in (spec.coin_symbol, spec.debt_symbol, spec.vests_symbol):
            return "unknown_symbol"
        return "wrong_decimal_places" if error.text == "Incorrect decimal places" else "unreadable_amount"
    is_negative = isinstance(value, dict) and str(value.get("amount", "")).startswith("-")
    return "negative_amount" if is_negative else "unreadable_amount"
