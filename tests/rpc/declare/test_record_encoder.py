"""Encoding of records: field paths, constants, optional fields, and nested records."""

from typing import Annotated, Any, ClassVar

from msgspec import Struct

from rpc.declare.record_encoder import blank, record_codecs
from rpc.declare.record_fields import Big, CoinAmount, ConstantField, FieldPath, OptionalFieldPath
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.kinds import AccountName, Many
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
