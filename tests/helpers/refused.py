"""Tables of stateless refusals: each row changes fields of an accepted operation, and has the text of its refusal; see
tests/state/operations/test_*_refusals.py.
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
    """The symbol of a token by its NAI's data digits: even ones are liquid."""
    return digits << 5 | 16 | precision


LIQUID, LIQUID_3, VESTING = smt_symbol(42283870, 0), smt_symbol(42283870, 3), smt_symbol(42283871, 0)
NOT_UTF8 = "caf\udce9"


def invalid(name: str) -> str:
    """The refusal of an account name."""
    return f"Account name {name} is invalid"


BAD_JSON = "JSON Metadata not valid JSON"


def full_refusal(operation: Operation, codecs: ChainCodecs = CODECS) -> str:
    """The condition and the text with which an operation is refused, in product spelling, without the name of its class."""
    with pytest.raises(Refused) as caught:
        operation.validate(codecs)
    return caught.value.message().removeprefix("Assert Exception:")


def rows(module: ModuleType, names: dict[str, str], refusals: dict[str, Rows]) -> list[Any]:
    """All rows of a module's operations: name, changes of the sample, and text. Each operation must have entries. `names` are the fields
    with an account's name; those marked `?` can be empty.
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
    """Return the tests of a module's operations: their rows are refused, and accepted values keep their bytes."""

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
    """Names of the rows of a table that begins with an operation and a change."""
    return [f"{row[0].NAME}-{'+'.join(row[1])}" for row in table]
