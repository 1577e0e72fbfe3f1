"""The packed values of witness_set_properties: decoding, and refusals of values that are too short."""

import pytest

from state.operations.witness_properties import WitnessProperties
from state.operations.witnesses import NOBODY, WitnessSetProperties
from state.protocol.authority import key_authority
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.errors import NotCanonical, OutOfRange, Refused
from state.protocol.operation import Needed
from state.protocol.values.asset import COIN, SBD, Asset, Price
from tests.helpers.operations import CODECS, KEY, sample


def test_witness_properties_are_read() -> None:
    operation = sample("witness_set_properties")
    assert isinstance(operation, WitnessSetProperties)
    assert operation.properties(CODECS) == WitnessProperties(
        account_creation_fee=Asset(3000),
        maximum_block_size=65536,
        sbd_interest_rate=0,
        new_signing_key=bytes.fromhex("032747c05d4aa44704a196493e1fa0c26137abfca64991a9b9faeb9204ee9897ef"),
        sbd_exchange_rate=Price(Asset(1000, SBD), Asset(3000)),
        url="https://example.com",
        account_subsidy_budget=797,
        account_subsidy_decay=347321,
    )
    assert WitnessSetProperties("alice", (("key", KEY), ("what", b"1"))).properties(CODECS) == WitnessProperties()


def test_witness_properties_without_key_need_no_signature() -> None:
    assert Needed.by((WitnessSetProperties("alice"),)).other == [NOBODY]
    assert Needed.by((WitnessSetProperties("alice", (("key", b""),)),)).other == [key_authority(bytes(33))]
    with pytest.raises(OutOfRange, match="length 2 over by -1"):
        Needed.by((WitnessSetProperties("alice", (("key", b"\2\3"),)),))


ASSET = "error unpacking coin::protocol::asset"
AMOUNT = "error unpacking int64_tError unpacking field amount"
SYMBOL = "Error unpacking field symbol"
BASE, QUOTE, PRICE = "Error unpacking field base", "Error unpacking field quote", 2 * "error unpacking coin::protocol::price"
ONE = "e803000000000000"
COIN_BYTES, SBD_BYTES, SMT_BYTES = "03434f494e000000", "0353424400000000", "d36ba650"
IN_SMT_SPACE = (
    "(nai_data_digits >= SMT_MIN_NAI) & (nai_data_digits <= SMT_MAX_NAI) & (nai_1bit == SMT_ASSET_NUM_CONTROL_MASK) & "
    "(nai_decimal_places <= COIN_ASSET_MAX_DECIMALS)"
)
SHORT = [
    ("maximum_block_size", "", "read datastream of length 0 over by 1error unpacking uint32_terror unpacking uint32_t"),
    ("sbd_interest_rate", "", "read datastream of length 0 over by 1error unpacking uint16_terror unpacking uint16_t"),
    ("account_subsidy_budget", "01", "read datastream of length 1 over by 0error unpacking int32_terror unpacking int32_t"),
    ("url", "05aa", "read datastream of length 2 over by 0error unpacking string"),
    ("url", "80", "get datastream of length 1 over by 1error unpacking string"),
    ("account_creation_fee", ONE[:-2], f"read datastream of length 7 over by -6{AMOUNT}{ASSET}{ASSET}"),
    ("account_creation_fee", ONE, f"read datastream of length 8 over by 1{SYMBOL}{ASSET}{ASSET}"),
    ("account_creation_fee", ONE + COIN_BYTES[:6], f"read datastream of length 11 over by -2{SYMBOL}{ASSET}{ASSET}"),
    ("account_creation_fee", ONE + COIN_BYTES[:8], f"read datastream of length 12 over by 1{SYMBOL}{ASSET}{ASSET}"),
    ("account_creation_fee", ONE + COIN_BYTES[:14], f"read datastream of length 15 over by -2{SYMBOL}{ASSET}{ASSET}"),
    ("sbd_exchange_rate", ONE + SBD_BYTES[:14], f"read datastream of length 15 over by -2{SYMBOL}{ASSET}{BASE}{PRICE}"),
    ("sbd_exchange_rate", ONE + SBD_BYTES, f"read datastream of length 16 over by 1{AMOUNT}{ASSET}{QUOTE}{PRICE}"),
    ("sbd_exchange_rate", ONE + SMT_BYTES + ONE[:-2], f"read datastream of length 19 over by -6{AMOUNT}{ASSET}{QUOTE}{PRICE}"),
    ("sbd_exchange_rate", ONE + SBD_BYTES + ONE + COIN_BYTES[:14], f"read datastream of length 31 over by -2{SYMBOL}{ASSET}{QUOTE}{PRICE}"),
]


@pytest.mark.parametrize(("name", "data", "text"), SHORT)
def test_short_values(name: str, data: str, text: str) -> None:
    operation = WitnessSetProperties("alice", (("key", KEY), (name, bytes.fromhex(data))))
    with pytest.raises(OutOfRange) as caught:
        operation.validate(CODECS)
    assert caught.value.message() == f"Out of Range:{text}"


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("account_creation_fee", ONE + COIN_BYTES[:-2] + "01", f"ser == COIN_SYMBOL_SER: invalid asset bits{SYMBOL}{ASSET}{ASSET}"),
        ("sbd_exchange_rate", ONE + SBD_BYTES[:-2] + "01", f"ser == SBD_SYMBOL_SER: invalid asset bits{SYMBOL}{ASSET}{BASE}{PRICE}"),
        ("account_creation_fee", ONE + "0d000000", f"{IN_SMT_SPACE}: Cannot determine space for asset 13{SYMBOL}{ASSET}{ASSET}"),
        ("account_creation_fee", ONE + SMT_BYTES, "account_creation_fee.symbol == COIN_SYMBOL: account_creation_fee must be in COIN"),
        ("url", "808080051f", "size.value < MAX_ARRAY_ALLOC_SIZE: error unpacking string"),
    ],
)
def test_impossible_values(name: str, data: str, text: str) -> None:
    with pytest.raises(Refused) as caught:
        WitnessSetProperties("alice", (("key", KEY), (name, bytes.fromhex(data)))).validate(CODECS)
    assert caught.value.message() == f"Assert Exception:{text}"


def test_a_fixed_symbol_by_its_number() -> None:
    """The reference accepts the number of a fixed symbol in place of its NAI, and packs it as eight bytes."""
    fee = bytes.fromhex(ONE) + COIN.to_bytes(4, "little")
    operation = WitnessSetProperties("alice", (("key", KEY), ("account_creation_fee", fee)))
    operation.validate(CODECS)
    assert operation.properties(CODECS).account_creation_fee == CODECS.unpack(Asset, fee) == Asset(1000)
    with pytest.raises(NotCanonical):
        ChainCodecs(CODECS.spec, canonical=True).unpack(Asset, fee)
