"""What operations of custom operations refuse without state, each by one change of an accepted operation."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from state.operations.custom import Custom, CustomBinary, CustomJson
from state.protocol.authority import Authority
from state.protocol.operation import Operation
from tests.helpers.refused import (
    BAD_JSON,
    NOT_UTF8,
    table_ids,
)
from tests.helpers.wire import refusal

CUSTOM = Custom(("alice",), 7, b"data")
JSON = CustomJson(("alice",), (), "id", "{}")
BINARY = CustomBinary(required_active_auths=("alice",), required_auths=(Authority(1, (("bob", 1),)),), id="id")

REFUSALS: list[tuple[Operation, dict[str, Any], str]] = [
    (CUSTOM, {"required_auths": ()}, "at least one account must be specified"),
    (JSON, {"required_auths": ()}, "at least one account must be specified"),
    (JSON, {"id": "x" * 33}, "Operation ID length exceeded. Max: 32 Current: 33"),
    (JSON, {"json": NOT_UTF8}, "JSON Metadata not formatted in UTF8"),
    (JSON, {"json": ""}, BAD_JSON),
    (JSON, {"json": "{} "}, BAD_JSON),
    (BINARY, {"required_active_auths": ()}, "at least one account must be specified"),
    (BINARY, {"id": "x" * 33}, "Operation ID length exceeded. Max: 32 Current: 33"),
    (BINARY, {"required_auths": (Authority(1, (("B", 1),)),)}, "is_valid_account_name( item.first )"),
]


@pytest.mark.parametrize(("operation", "change", "text"), REFUSALS, ids=table_ids(REFUSALS))
def test_refusal(operation: Operation, change: dict[str, Any], text: str) -> None:
    assert refusal(operation) == ""
    assert refusal(replace(operation, **change)) == text


ACCEPTED: list[tuple[Operation, dict[str, Any]]] = [
    (JSON, {"required_auths": (), "required_posting_auths": ("alice",), "json": "[,]"}),
    (BINARY, {"required_active_auths": (), "required_owner_auths": ("alice",), "required_auths": ()}),
]


@pytest.mark.parametrize(("operation", "change"), ACCEPTED, ids=table_ids(ACCEPTED))
def test_accepted(operation: Operation, change: dict[str, Any]) -> None:
    assert refusal(replace(operation, **change)) == ""
