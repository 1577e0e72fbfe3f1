"""The condenser format of operations. Tests the cases in which it differs from the NAI format in more than the format of assets."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import state.operations  # noqa: F401 - fills the registry
from state.operations.content import Vote
from state.operations.transfers import Transfer
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.fields import kind_of_hint
from state.protocol.codec.kinds import Extensions, Void
from state.protocol.errors import BadCast, ChainError, ParseError, Refused
from state.protocol.operation import OPERATIONS, SMT_TAGS, VirtualOperation
from state.protocol.transaction import Wire
from state.protocol.values.asset import SBD, VESTS, Asset
from state.protocol.values.convert import to_text
from tests.helpers.wire import ANY, TESTNET, VECTOR_CODECS, vectors

READ = VECTOR_CODECS.parser(ANY, True)
SHOW = VECTOR_CODECS.dumper(ANY, True) or repr
SPELL = TESTNET.spell
EXTENSIONS = kind_of_hint(Extensions)

# wire-format.md §5: the operations whose assets are texts. Their full names begin with `legacy_`.
CONVERTED = (
    *("transfer", "transfer_to_vesting", "withdraw_vesting", "limit_order_create", "limit_order_create2", "feed_publish", "convert"),
    *("account_create", "account_create_with_delegation", "witness_update", "comment_options", "escrow_transfer", "escrow_release"),
    *("pow2", "transfer_to_savings", "transfer_from_savings", "claim_reward_balance", "delegate_vesting_shares", "claim_account"),
    "create_proposal",
)
VIRTUAL_SHARED = ("shutdown_witness", "hardfork", "comment_payout_update", "clear_null_account_balance")

WITH_LEGACY_FORM = [p for p in vectors("op") if p.values[0]["expect"]["which"] not in SMT_TAGS]
WITHOUT = [p for p in vectors("op") if p.values[0]["expect"]["which"] in SMT_TAGS]


def legacy_index(tag: int) -> int:
    """Return the number of an operation in the condenser's list of operations, which omits SMT operations."""
    return tag if tag < SMT_TAGS.start else tag - len(SMT_TAGS)


# ------------------------------------------------------------------ names


@pytest.mark.parametrize("example", WITH_LEGACY_FORM)
def test_three_names(example: Any) -> None:
    """An operation can be given by its short name, its index or its full name. One with its own condenser format can also be given by its
    `legacy_` name.
    """
    cls = OPERATIONS[example["expect"]["which"]]
    name, given = example["input"]["legacy"]
    converted = cls.NAME not in VIRTUAL_SHARED if issubclass(cls, VirtualOperation) else cls.NAME in CONVERTED
    own = f"legacy_{name}_operation" if converted else f"{name}_operation"
    wanted = READ([name, given])
    assert wanted == VECTOR_CODECS.parser(ANY)(example["input"]["json"])
    for first in (legacy_index(cls.TAG), own, f"{name}_operation"):
        assert READ([first, given]) == wanted
    if not converted:
        with pytest.raises(Refused, match="Invalid operation name"):
            READ([f"legacy_{name}_operation", given])


UNKNOWN = ["no_such", "Transfer", "", "2", -1, None, True, 2.0, "smt_create", "claim_reward_balance2", "smt_create_operation"]


@pytest.mark.parametrize("first", UNKNOWN)
def test_unknown_names(first: Any) -> None:
    with pytest.raises(Refused) as caught:
        READ([first, {}])
    assert caught.value.message() == f"Assert Exception:itr != to_full_tag.end(): Invalid operation name: {to_text(first)}"


@pytest.mark.parametrize("first", [len(OPERATIONS) - len(SMT_TAGS), len(OPERATIONS) - 1, 1 << 40])
def test_indices_beyond_the_list(first: int) -> None:
    with pytest.raises(Refused, match=r"w < count\(\) && w >= 0: "):
        READ([first, {}])


@pytest.mark.parametrize("first", [[], {}, [2]])
def test_names_of_a_wrong_kind(first: Any) -> None:
    with pytest.raises(BadCast, match="_type to string"):
        READ([first, {}])


@pytest.mark.parametrize("short", [[], ["transfer"], [2]])
def test_short_arrays_are_empty_votes(short: Any) -> None:
    assert READ(short) == Vote()


def test_members_beyond_the_limit_are_ignored() -> None:
    assert READ(["transfer", {"memo": "x"}, {"memo": "y"}]) == Transfer(memo="x")


@pytest.mark.parametrize(("value", "kind"), [({}, "object"), ("transfer", "string"), (None, "null"), (2, "uint64")])
def test_values_that_are_not_arrays(value: Any, kind: str) -> None:
    with pytest.raises(BadCast, match=f"Invalid cast from {kind}_type to Array"):
        READ(value)


# ------------------------------------------------------------------ operations without a form of their own


@pytest.mark.parametrize("example", WITHOUT)
def test_smt_operations_are_shown_as_empty_votes(example: Any) -> None:
    """The recorded replies contain SMT operations as empty votes (case smt_tokens), which can't be decoded again. rpc-api.md §4.2 describes
    a different form.
    """
    given = example["input"]["json"]
    operation = VECTOR_CODECS.parser(ANY)(given)
    assert SHOW(operation) == ["vote", {"voter": "", "author": "", "permlink": "", "weight": 0}]
    with pytest.raises(Refused) as caught:
        READ([operation.NAME, given["value"]])
    assert caught.value.message() == f"Assert Exception:itr != to_full_tag.end(): Invalid operation name: {operation.NAME}"


# ------------------------------------------------------------------ assets


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("1.000", Refused, "Assert Exception:space_pos != std::string::npos: "),
        ("", Refused, "Assert Exception:space_pos != std::string::npos: "),
        ("1.000\tTESTS", Refused, "Assert Exception:space_pos != std::string::npos: "),
        ("0.00 TESTS", Refused, "Assert Exception:decimals == 3: Incorrect decimal places"),
        ("1 TESTS", Refused, "Assert Exception:decimals == 3: Incorrect decimal places"),
        ("1.000 VESTS", Refused, "Assert Exception:decimals == 6: Incorrect decimal places"),
        ("1.000 STEEM", Refused, "Assert Exception:false: Cannot parse asset symbol"),
        ("1.000 tests", Refused, "Assert Exception:false: Cannot parse asset symbol"),
        ("1,000 TESTS", ParseError, "Parse Error:Couldn't parse int64_t"),
        ("1.0 0 TESTS", Refused, "Assert Exception:false: Cannot parse asset symbol"),
        ("- TESTS", ParseError, "Parse Error:Couldn't parse int64_t"),
        ("- .500 TBD", Refused, "Assert Exception:space_pos > dot_pos: "),
        ("1 TESTS.", Refused, "Assert Exception:space_pos > dot_pos: "),
        ("x TESTS", ParseError, "Parse Error:Couldn't parse int64_t"),
        ("x.000 TEST", Refused, "Assert Exception:false: Cannot parse asset symbol"),
        ("x.00 TESTS", Refused, "Assert Exception:decimals == 3: Incorrect decimal places"),
        ("1.000 ABCDEFGH", Refused, "Assert Exception:false: Cannot parse asset symbol"),
        ("1.000 ABCDEFGHI", Refused, "Assert Exception:shift < 64: Cannot parse asset symbol"),
        ("1.000 TESTSx", Refused, "Assert Exception:false: Cannot parse asset symbol"),
        ("1.00 TESTS x", Refused, "Assert Exception:decimals == 3: Incorrect decimal places"),
        ("1.000 \0TESTS", Refused, "Assert Exception:false: Cannot parse asset symbol"),
        ("1." + 259 * "0" + " TESTS", ParseError, "Parse Error:Couldn't parse int64_t"),
        ("1.00x TESTS", ParseError, "Parse Error:Couldn't parse int64_t"),
        ("1.-10 TBD", ParseError, "Parse Error:Couldn't parse int64_t"),
        ("9223372036854775.808 TESTS", ParseError, "Parse Error:Couldn't parse int64_t"),
        ("-9223372036854776.000 TESTS", ParseError, "Parse Error:Couldn't parse int64_t"),
        ([], BadCast, "Bad Cast:Invalid cast from array_type to string"),
        ({"amount": "1", "precision": 3, "nai": "@@000000021"}, BadCast, "Bad Cast:Invalid cast from object_type to string"),
    ],
)
def test_bad_texts(text: Any, error: type[ChainError], message: str) -> None:
    with pytest.raises(error) as caught:
        ChainCodecs(TESTNET).parser(Asset, True)(text)
    assert caught.value.message(SPELL) == message


@pytest.mark.parametrize(
    ("text", "asset"),
    [
        ("-0.500 TBD", Asset(500, SBD)),
        ("-.500 TBD", Asset(500, SBD)),
        ("+.500 TBD", Asset(500, SBD)),
        ("1.000 \n\r\tTBD", Asset(1000, SBD)),
        ("1.000 TBD \0 x", Asset(1000, SBD)),
        ("-1.500 TBD", Asset(-500, SBD)),
        (".5000000000000"[:7] + " VESTS", Asset(500000, VESTS)),
        ("\r\n 000000000000000000000000001.000 \t TESTS\v\f", Asset(1000)),
        ("-9223372036854775.000 TESTS", Asset(-9223372036854775000)),
    ],
)
def test_odd_texts(text: str, asset: Asset) -> None:
    assert ChainCodecs(TESTNET).parser(Asset, True)(text) == asset


def test_proofs_of_work_keep_objects() -> None:
    fee = {"account_creation_fee": "0.001 COIN"}
    with pytest.raises(Refused, match="Asset has to be treated as object"):
        READ(["pow", {"props": fee}])
    assert READ(["pow2", {"props": fee}]).props.account_creation_fee.amount == 1


# ------------------------------------------------------------------ variants inside


def test_inner_variants_are_pairs() -> None:
    read, show = VECTOR_CODECS.parser(EXTENSIONS, True), VECTOR_CODECS.dumper(EXTENSIONS, True)
    assert show is not None
    assert (read([[0, {}]]), show((Void(),))) == ((Void(),), [[0, {}]])
    assert read([[], [0]]) == (Void(),)
    assert read([{"type": "void_t", "value": {}}]) == (Void(),)
    with pytest.raises(ParseError, match="Couldn't parse uint64_t"):
        read([["void_t", {}]])
    for given, kind in (("void_t", "string"), (None, "null"), (0, "uint64")):
        with pytest.raises(BadCast, match=f"Invalid cast from {kind}_type to Array"):
            read([given])
    with pytest.raises(Refused, match=r"w < count\(\) && w >= 0: "):
        read([[1, {}]])


def test_a_short_pair_is_an_empty_first_member() -> None:
    given = {"author": "alice", "permlink": "x", "extensions": [[1]]}
    options = READ(["comment_options", given])
    assert VECTOR_CODECS.pack(options).endswith(bytes.fromhex("010000"))


# ------------------------------------------------------------------ transactions


def test_extensions_of_transactions_are_kept() -> None:
    """The condenser format keeps the extensions of a transaction. The reference drops them, which changes the transaction's id."""
    wire = Wire(replace(TESTNET, smt=True))
    given = {"expiration": "2020-01-01T00:00:00", "operations": [["vote", {}]], "extensions": [[0, {}]], "signatures": []}
    trx = wire.transaction_from_json(given, True)
    assert trx.extensions == (Void(),)
    assert wire.transaction_from_json(wire.transaction_to_json(trx, True), True).id == trx.id
    assert wire.transaction_to_json(trx, True)["extensions"] == [[0, {}]]
