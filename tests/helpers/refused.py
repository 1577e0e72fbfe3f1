"""Shared helpers of the tests of stateless refusals: tables of field changes with the expected text, and a function that applies a row.

A row changes fields of a valid operation; see tests/state/operations/test_*_refusals.py.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from state.protocol.authority import Authority
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.errors import Refused
from state.protocol.operation import Operation
from tests.helpers.operations import CODECS, KIND, names_of, sample
from tests.helpers.wire import TESTNET

Change = dict[str, Any]
Rows = list[tuple[Change, str]]

SMT = 1353083859  # liquid, 3 decimals
SMT_VESTING = SMT ^ 32
BAD_AUTHORITY = Authority(1, (("No", 1),), ())
BAD_MEMBER = "is_valid_account_name( item.first ): "
ODD = "\udcff"  # a byte that is not UTF-8
NAME = "is_valid_account_name( name ): Account name Bad is invalid"
METADATA: Rows = [
    ({"json_metadata": ODD}, "fc::is_utf8(json_metadata): JSON Metadata not formatted in UTF8"),
    ({"json_metadata": "{} "}, "fc::json::is_valid(json_metadata): JSON Metadata not valid JSON"),
]
NULL_BASE, NULL_QUOTE = "base.amount > share_type(0): ", "quote.amount > share_type(0): "
GENESIS = TESTNET.constants.COIN_GENESIS_TIME


def smt_symbol(digits: int, precision: int) -> int:
    """Return the symbol of a token from the data digits of its NAI. Even digits give the liquid symbol."""
    return digits << 5 | 16 | precision


LIQUID, LIQUID_3, VESTING = smt_symbol(42283870, 0), smt_symbol(42283870, 3), smt_symbol(42283871, 0)
NOT_UTF8 = "caf\udce9"


def invalid(name: str) -> str:
    """Return the refusal text of an invalid account name."""
    return f"Account name {name} is invalid"


BAD_JSON = "JSON Metadata not valid JSON"


def full_refusal(operation: Operation, codecs: ChainCodecs = CODECS) -> str:
    """Return the condition and text of an operation's refusal, in product spelling, without the class name."""
    with pytest.raises(Refused) as caught:
        operation.validate(codecs)
    return caught.value.message().removeprefix("Assert Exception:")


def rows(module: ModuleType, names: dict[str, str], refusals: dict[str, Rows]) -> list[Any]:
    """Return all rows of a module's operations: name, changed fields, text. Each operation must have an entry in `refusals`.

    `names` are the fields that hold account names; `?` marks those that can be empty.
    """
    found = []
    for operation in names_of(module):
        assert {operation} <= names.keys() & refusals.keys(), f"{operation}: enter it in NAMES and REFUSALS of its file"
        fields = names[operation].split()
        made = [({field.rstrip("?"): "Bad"}, NAME) for field in fields]
        made += [({field: ""}, NAME.replace("Bad ", " ")) for field in fields if not field.endswith("?")]
        made += refusals[operation]
        found += [pytest.param(operation, changes, text, id=f"{operation}-{i}") for i, (changes, text) in enumerate(made)]
    return found


def refusal_tests(
    module: ModuleType, names: dict[str, str], refusals: dict[str, Rows], accepted: list[tuple[str, Change]]
) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return two tests of a module's operations: its rows are refused, and accepted values survive encoding and decoding."""

    @pytest.mark.parametrize(("name", "changes", "text"), rows(module, names, refusals))
    def test_refusal(name: str, changes: Change, text: str) -> None:
        assert full_refusal(replace(sample(name), **changes)) == text

    @pytest.mark.parametrize(("name", "changes"), accepted)
    def test_accepted(name: str, changes: Change) -> None:
        operation = replace(sample(name), **changes)
        operation.validate(CODECS)
        packed = CODECS.packer(KIND)(operation)
        assert CODECS.unpack(KIND, packed, exact=True) == operation

    return test_refusal, test_accepted


def table_ids(table: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return test ids for a table whose rows begin with an operation and a change."""
    return [f"{row[0].NAME}-{'+'.join(row[1])}" for row in table]
