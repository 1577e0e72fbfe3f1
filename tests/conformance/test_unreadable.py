"""Transactions that can't be parsed: every recorded refusal of this kind, with its exact text.

The reference refuses these transactions while it converts the request, before it checks signatures. A failed assertion then has the error
code of a failed call. Every other error has the code of a server error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import state.operations  # noqa: F401 - fills the registry
from node.specs.builder import load_spec
from state.protocol.errors import BadCast, ChainError
from state.protocol.transaction import Wire
from tests.conftest import CASES, case_names, read_json_lines

SPEC = load_spec("steem-testnet")
WIRE = Wire(SPEC)
CALL_FAILED = -32003
# Errors that only parsing raises, unless an operation contains JSON that is parsed later.
ONLY_READING = ("Bad Cast:", "bad lexical cast:", "Month ", "Day of ", "Year ", "basic_string", "unspecified:Invalid hex")
HOLDS_JSON = "custom_json_operation"


def broadcasts(case: str) -> Iterator[dict[str, Any]]:
    """Yield the recorded broadcasts of a case."""
    return read_json_lines(CASES / case / "broadcasts.jsonl.gz")


def read(transaction: Any, legacy: bool = False) -> ChainError | None:
    """Return the error of parsing a JSON transaction, or None."""
    try:
        WIRE.transaction_from_json(transaction, legacy)
    except ChainError as error:
        return error
    return None


def is_about_reading(event: dict[str, Any]) -> bool:
    """Whether only parsing the transaction can have caused the recorded refusal."""
    if event["ok"]:
        return False
    if event["error"]["code"] == CALL_FAILED:
        return True
    operations = event["trx"].get("operations") or [{}]
    return event["error"]["message"].startswith(ONLY_READING) and all(o.get("type") != HOLDS_JSON for o in operations)


@pytest.mark.parametrize("case", case_names())
def test_recorded_refusals(case: str) -> None:
    for event in broadcasts(case):
        error = read(event["trx"])
        assert (error is not None) or not is_about_reading(event), event
        if error is not None:
            assert not event["ok"], (event["trx"], error)
            assert error.message(SPEC.spell) == event["error"]["message"]
            data = event["error"]["data"]
            assert (error.CODE, error.values) == (data["code"], data["stack"][0]["data"])
            assert data["stack"][0]["format"].startswith(SPEC.spell(error.format))


def test_recorded_refusals_of_condenser_json() -> None:
    queries = [query for case in case_names() for query in read_json_lines(CASES / case / "queries.jsonl.gz")]
    for query in queries:
        if query["method"] == "condenser_api.broadcast_transaction":
            error, recorded = read(query["params"][0], legacy=True), query.get("error")
            assert (error is not None) or recorded is None or recorded["code"] != CALL_FAILED, query
            if error is not None:
                assert error.message(SPEC.spell) == recorded["message"]


# ------------------------------------------------------------------ not recorded, from the reference's source


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("transfer", "Assert Exception:itr != to_tag.end(): Invalid object name: transfer"),
        ("2", "Assert Exception:itr != to_tag.end(): Invalid object name: 2"),
        (None, "Assert Exception:itr != to_tag.end(): Invalid object name: "),
        (2.0, "Assert Exception:itr != to_tag.end(): Invalid object name: 2.00000000000000000"),
        ([], "Bad Cast:Invalid cast from array_type to string"),
        ({}, "Bad Cast:Invalid cast from object_type to string"),
        (99, "Assert Exception:w < count() && w >= 0: "),
        (-1, "Assert Exception:w < count() && w >= 0: "),
        (2**64 - 1, "Assert Exception:w < count() && w >= 0: "),
    ],
)
def test_unknown_operation_types(name: Any, text: str) -> None:
    error = read({"operations": [{"type": name, "value": {}}]})
    assert error is not None
    assert error.message(SPEC.spell) == text


@pytest.mark.parametrize("number", [False, True, 0, 1])
def test_operation_by_number(number: Any) -> None:
    trx = WIRE.transaction_from_json({"operations": [{"type": number, "value": {}}]})
    assert [operation.TAG for operation in trx.operations] == [number]


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([3, 2], "Assert Exception:tmp > last: Items should be unique and sorted"),
        ([3, 3, "x"], "Assert Exception:tmp > last: Items should be unique and sorted"),
        ([1, "x", 0], "Parse Error:Couldn't parse int64_t"),
        ([1, []], "Bad Cast:Invalid cast from array_type to int64"),
        (None, "Bad Cast:Invalid cast from null_type to Array"),
    ],
)
def test_proposal_numbers_are_checked_in_order(ids: Any, text: str) -> None:
    error = read({"operations": [{"type": "update_proposal_votes_operation", "value": {"proposal_ids": ids}}]})
    assert error is not None
    assert error.message(SPEC.spell) == text


@pytest.mark.parametrize("legacy", [False, True])
def test_block_transactions_must_be_an_array(legacy: bool) -> None:
    for given, kind in (("x", "string"), (None, "null"), ({}, "object"), (True, "bool")):
        with pytest.raises(BadCast, match=f"Invalid cast from {kind}_type to Array"):
            WIRE.block_from_json({"transactions": given}, legacy)
