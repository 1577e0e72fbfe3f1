"""Encoding of records: field paths, constants, optional fields, and nested records."""

from typing import Annotated, Any, ClassVar

import pytest
from msgspec import Struct

from rpc.declare.record_encoder import blank, record_codecs
from rpc.declare.record_fields import Amount, Big, CoinAmount, ConstantField, FieldPath, OptionalFieldPath, Whole
from rpc.records.bridge.kinds import SbdText
from state.protocol.codec.code_generator import member_of, object_dumper
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.kinds import AccountName, Int, Kind, Many, as_it_is
from state.protocol.values.asset import COIN, SBD, VESTS
from state.protocol.values.integers import UINT32_MAX
from tests.helpers.wire import TESTNET


class Row(Struct):
    name: str
    balance: int = 0
    votes: tuple[Any, ...] = ()


class View(Struct):
    row: Row
    note: str | None = None


class Vote(Struct):
    voter: Annotated[str, FieldPath("name", AccountName)]
    weight: Annotated[int, ConstantField(100)]


class Totals(Struct):
    ROOT: ClassVar[str] = "row"

    balance: CoinAmount


class Shown(Struct):
    ROOT: ClassVar[str] = "row"

    name: AccountName
    balance: Big
    totals: Annotated[Totals, FieldPath("", Totals)]
    votes: Annotated[list[Any], Many(Vote)]
    nothing: Annotated[list[Any], ConstantField([])]
    note: Annotated[str | None, OptionalFieldPath("note", AccountName)]


CODECS = record_codecs(TESTNET)
VIEW = View(Row("alice", 1500, (Row("bob"), Row("carol"))))


def test_fields_are_found_and_nested_records_are_records() -> None:
    dump = CODECS.dumper(Shown)
    assert dump is not None
    votes = [{"voter": "bob", "weight": 100}, {"voter": "carol", "weight": 100}]
    amount = {"amount": "1500", "precision": 3, "nai": "@@000000021"}
    assert dump(VIEW) == {"name": "alice", "balance": 1500, "totals": {"balance": amount}, "votes": votes, "nothing": []}
    VIEW.note = "eve"
    assert dump(VIEW)["note"] == "eve"
    VIEW.note = None


def test_a_blank_record_has_no_optional_fields() -> None:
    assert blank(Shown, CODECS, True) == {"name": "", "balance": 0, "totals": {"balance": "0.000 TESTS"}, "votes": [], "nothing": []}


def test_the_plain_codec_of_a_chain_ignores_record_marks() -> None:
    dump = ChainCodecs(TESTNET).dumper(Vote)
    assert dump is not None
    assert dump(Vote(voter="bob", weight=7)) == {"voter": "bob", "weight": 7}


def test_record_codecs_are_cached() -> None:
    # Not compared with CODECS: a process that has seen many chains since then has dropped those of this chain.
    assert record_codecs(TESTNET) is record_codecs(TESTNET)
    assert CODECS.dumper(Shown) is CODECS.dumper(Shown)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("value", [0, 1, 1234567, UINT32_MAX, UINT32_MAX + 1, -1, -1234567, -(1 << 40)])
def test_generated_code_encodes_numbers_like_their_kinds(value: int, legacy: bool) -> None:
    codecs = record_codecs(TESTNET)
    for kind in (Amount(COIN), Amount(SBD), Amount(VESTS), Whole(), Whole(always=True), Int(64, signed=True), SbdText()):
        member = member_of(codecs, "value", "v", kind, legacy)
        assert object_dumper("Numbers", [member])(value) == {"value": (kind.dumper(codecs, legacy) or as_it_is)(value)}


def test_kinds_with_an_own_dumper_have_their_own_expression() -> None:
    kinds = [Kind]
    for kind in kinds:
        kinds += kind.__subclasses__()
        if kind.dump_source is not Kind.dump_source and "dumper" in vars(kind):
            assert "dump_source" in vars(kind), kind
