"""Operations as Arrow columns: the names, types and values of the columns."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import state.operations
from node.research.columns.column_buffer import KEYS, operation_schema
from node.research.columns.columns import ArrowSchemas, members, operations_of_chain
from node.specs.builder import load_spec
from state.operations.authorities import AccountUpdate
from state.operations.content import Beneficiary, Comment, CommentOptions, CommentPayoutBeneficiaries
from state.operations.mining import Pow
from state.operations.transfers import Transfer
from state.operations.witnesses import FeedPublish
from state.protocol.authority import key_authority
from state.protocol.codec.kinds import Key, String
from state.protocol.keys.keys import NULL_KEY, public_key_text
from state.protocol.operation import OPERATIONS, Operation
from state.protocol.transaction import Wire
from state.protocol.values.asset import COIN, SBD, Asset, Price

assert state.operations

SPEC = load_spec("steem-testnet")
SHAPES = ArrowSchemas(SPEC)
# Fields that become JSON columns: each value has one of several types, most of which have no fields yet.
OPEN = {"extensions", "work", "initial_generation_policy", "setup_parameters", "runtime_parameters"}


def row(operation: Operation, *, is_flat: bool = False) -> dict[str, Any]:
    """Convert an operation to columns, and return its values by column name."""
    columns = ArrowSchemas(SPEC, is_flat=is_flat).of(type(operation))
    found: dict[str, Any] = pa.RecordBatch.from_arrays(columns.arrays([operation]), schema=columns.schema).to_pylist()[0]
    return found


@pytest.mark.parametrize("chain", ["steem-testnet", "steem-mainnet", "dev"])
@pytest.mark.parametrize("is_flat", [False, True])
def test_every_operation_has_columns_of_its_own(chain: str, is_flat: bool) -> None:
    spec = load_spec(chain)
    schemas, codecs = ArrowSchemas(spec, is_flat=is_flat), Wire(spec).codecs
    classes = operations_of_chain(spec)
    assert len(classes) == len(OPERATIONS) - (0 if spec.smt else 7)
    for cls in classes.values():
        columns = schemas.of(cls)
        names = operation_schema(spec.spell(cls.NAME), columns).names
        assert len(names) == len(set(names))
        assert names[: len(KEYS)] == KEYS.names
        assert [len(array) for array in columns.arrays([codecs.default(cls)] * 2)] == [2] * (len(names) - len(KEYS))


def test_only_fields_of_open_types_are_json() -> None:
    for cls in operations_of_chain(SPEC).values():
        names = [field.name for field in SHAPES.of(cls).schema if field.type == pa.string()]
        texts = {name for name, _, kind in members(cls) if isinstance(getattr(kind, "element", kind), (String, Key))}
        codecs = Wire(SPEC).codecs
        found = row(codecs.default(cls))
        json = {name for name in names if name not in texts and str(found[name])[:1] in ("[", "{")}
        assert json <= OPEN, cls.__name__


def test_amounts_are_numbers_with_their_symbols() -> None:
    found = row(Transfer(from_="alice", to="bob", amount=Asset(1, SBD), memo="a\0b"))
    assert found == {"from": "alice", "to": "bob", "amount": 1, "amount_symbol": "TBD", "memo": "a\0b"}
    token = Asset(-5, 100_000_000 << 5 >> 5 << 5 | 0x10 | 3)
    assert row(Transfer(amount=token))["amount_symbol"].startswith("@@")
    price = row(FeedPublish(publisher="w", exchange_rate=Price(Asset(1, SBD), Asset(2, COIN))))
    assert price == {
        "publisher": "w",
        "exchange_rate_base": 1,
        "exchange_rate_base_symbol": "TBD",
        "exchange_rate_quote": 2,
        "exchange_rate_quote_symbol": "TESTS",
    }


def test_authorities_are_structs_or_null() -> None:
    found = row(AccountUpdate(account="alice", owner=key_authority(NULL_KEY)))
    key = public_key_text(NULL_KEY, SPEC.key_prefix)
    assert found["owner"] == {"weight_threshold": 1, "account_auths": [], "key_auths": [(key, 1)]}
    assert found["active"] is None
    flat = row(AccountUpdate(account="alice", owner=key_authority(NULL_KEY)), is_flat=True)
    assert flat["owner"] == f'{{"weight_threshold":1,"account_auths":[],"key_auths":[["{key}",1]]}}'
    assert flat["active"] is None


def test_invalid_utf8_becomes_the_replacement_character() -> None:
    assert row(Comment(body="a\udc80b", title="ä"))["body"] == "a�b"
    assert row(Comment(body="a\udc80b", title="ä"))["title"] == "ä"


def test_beneficiaries_have_their_own_column() -> None:
    found = row(CommentOptions(author="alice", extensions=(CommentPayoutBeneficiaries((Beneficiary("bob", 100),)),)))
    assert found["beneficiaries"] == [{"account": "bob", "weight": 100}]
    assert found["extensions"].startswith('[{"type":"comment_payout_beneficiaries"')
    assert found["percent_steem_dollars"] == 10_000


def test_unsigned_64_bit_numbers_fit() -> None:
    assert row(Pow(nonce=(1 << 64) - 1))["nonce"] == Decimal((1 << 64) - 1)


def test_times_are_timestamps() -> None:
    from state.operations.market import LimitOrderCreate

    assert row(LimitOrderCreate(expiration=(1 << 32) - 1))["expiration"] == datetime(2106, 2, 7, 6, 28, 15, tzinfo=UTC)


def test_a_number_that_is_too_large_names_its_column() -> None:
    with pytest.raises(OverflowError) as caught:
        row(Transfer(amount=Asset(1 << 63, COIN)))
    assert "amount, int64" in str(caught.value.__notes__)
