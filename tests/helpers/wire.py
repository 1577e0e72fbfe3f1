"""The worked examples of tests/vectors/wire.json and matching codecs, for the tests of operations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from node.specs.builder import load_spec
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.errors import ChainError, fill
from state.protocol.operation import Operation, OperationKind
from tests.conftest import ROOT

TESTS = ROOT / "tests"
VECTORS = json.loads((TESTS / "vectors" / "wire.json").read_text())["vectors"]
ANY = OperationKind()

TESTNET = load_spec("steem-testnet")
CODECS = ChainCodecs(TESTNET)
# The vectors use product spelling, the symbols and key prefix of a main chain, and enabled SMTs.
VECTOR_CODECS = ChainCodecs(replace(TESTNET, brand="coin", coin_symbol="COIN", debt_symbol="SBD", key_prefix="STM", smt=True))


def vectors(group: str, tags: set[int] | None = None) -> list[Any]:
    """Return the examples of a group, optionally only those with these tags, as pytest parameters."""
    return [pytest.param(v, id=v["id"]) for v in VECTORS if v["group"] == group and (tags is None or v["expect"]["which"] in tags)]


def vector(name: str) -> Any:
    """Return an example."""
    return next(v for v in VECTORS if v["id"] == name)


def refusal(operation: Operation, codecs: ChainCodecs = CODECS) -> str:
    """Return the text with which an operation is refused, or the violated condition if there is no text. Return "" if it is accepted."""
    try:
        operation.validate(codecs)
    except ChainError as error:
        return fill(error.text, error.values) or error.condition
    return ""


def invalid(name: str) -> str:
    """Return the refusal text of an invalid account name."""
    return f"Account name {name} is invalid"


def table_ids(table: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return test ids for a table whose rows begin with an operation and a change."""
    return [f"{row[0].NAME}-{'+'.join(row[1])}" for row in table]
