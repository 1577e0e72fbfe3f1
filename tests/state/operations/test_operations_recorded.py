"""Decoding and validation of recorded broadcasts: stateless refusals have the reference's texts, and all other broadcasts pass."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import state.operations  # noqa: F401 - fills the registry
from node.specs.builder import load_spec
from state.protocol.errors import ChainError
from state.protocol.transaction import Wire
from tests.conftest import CASES, case_names, read_json_lines

WIRE = Wire(load_spec("steem-testnet"))
# Source files of the reference in which a refusal is stateless. Some evaluators use the same functions.
STATIC = {
    "steem_operations.cpp", "steem_operations.hpp", "smt_operations.cpp", "sps_operations.cpp", "sps_operations.hpp", "base.hpp",
    "validation.hpp", "authority.cpp", "asset.cpp", "asset.hpp", "asset_symbol.hpp", "datastream.cpp", "json.cpp", "sstream.cpp",
    "string.cpp", "legacy_asset.hpp", "time.cpp", "hex.cpp", "types.cpp", "variant.cpp", "static_variant.hpp", "exception.cpp",
}  # fmt: skip
# A source file or function, and an operation whose evaluator or interpreter also uses it.
IN_EVALUATOR = {
    ("authority.cpp", "account_update"), ("authority.cpp", "account_update2"), ("validate_auth_size", "account_create"),
    ("validate_auth_size", "account_update"), ("validate_auth_size", "account_update2"), ("validate_auth_size", "request_account_recovery"),
    ("get", "pow2"), ("static_variant.hpp", "custom_json"), ("variant.cpp", "custom_json"),
}  # fmt: skip
# In the reference, key recovery fails at the same source line for a report, whose headers are checked without state, and for a
# transaction's signatures.
RECOVERY = ("elliptic_secp256k1.cpp", "report_over_production")


def recorded(case: str) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Yield the operation names of each recorded broadcast of a case, with the broadcast's event."""
    for event in read_json_lines(CASES / case / "broadcasts.jsonl.gz"):
        operations = event["trx"].get("operations") if isinstance(event["trx"], dict) else None
        if not isinstance(operations, list) or not operations:
            continue
        names = [operation.get("type") if isinstance(operation, dict) else None for operation in operations]
        if all(isinstance(name, str) for name in names):
            yield [str(name).removesuffix("_operation") for name in names], event


def outcome(transaction: Any) -> str:
    """Return the text with which decoding or validation refuses a transaction, or "" if it passes."""
    try:
        for operation in WIRE.transaction_from_json(transaction).operations:
            operation.validate(WIRE.codecs)
    except ChainError as error:
        return error.message(WIRE.spec.spell)
    return ""


def expected(names: list[str], event: dict[str, Any]) -> str | None:
    """Return the recorded text if decoding or validation caused the refusal, "" for any other outcome, and None if the cause is unknown."""
    if event["ok"]:
        return ""
    data = event["error"].get("data")
    if not isinstance(data, dict) or not data.get("stack"):
        return None
    place = data["stack"][0]["context"]
    if place["method"] == "check_string_depth":
        return None  # too many brackets in the request: refused before anything is read
    in_evaluator = any((place["file"], name) in IN_EVALUATOR or (place["method"], name) in IN_EVALUATOR for name in names)
    text: str = event["error"]["message"]
    is_static = place["file"] in STATIC or any((place["file"], name) == RECOVERY for name in names)
    return text if is_static and not in_evaluator else ""


@cache
def compared(case: str) -> list[tuple[tuple[str, ...], int, str, str]]:
    """Return the operation names, the step, and the expected and actual text of each broadcast whose expected text is known."""
    found = []
    for names, event in recorded(case):
        want = expected(names, event)
        if want is not None:
            found.append((tuple(names), event["step"], want, outcome(event["trx"])))
    return found


@pytest.mark.parametrize("case", case_names())
def test_recorded_outcomes(case: str) -> None:
    assert [row for row in compared(case) if row[2] != row[3]] == []
