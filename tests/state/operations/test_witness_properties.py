"""The packed values of witness_set_properties: how they are read, and what short ones are refused with."""

import pytest

from state.operations.witness_properties import WitnessProperties
from state.operations.witnesses import NOBODY, WitnessSetProperties
from state.protocol.errors import OutOfRange
from state.protocol.keys.authority import key_authority
from state.protocol.operation import Needed
from state.protocol.values.asset import SBD, Asset, Price
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


def test_witness_properties_without_key_are_signed_by_nobody() -> None:
    assert Needed.by((WitnessSetProperties("alice"),)).other == [NOBODY]
    assert Needed.by((WitnessSetProperties("alice", (("key", b""),)),)).other == [key_authority(bytes(33))]
    with pytest.raises(OutOfRange, match="length 2 over by -1"):
        Needed.by((WitnessSetProperties("alice", (("key", b"\2\3"),)),))


SHORT = [
    ("maximum_block_size", "", "length 0 over by 1error unpacking uint32_terror unpacking uint32_t"),
    ("sbd_interest_rate", "", "length 0 over by 1error unpacking uint16_terror unpacking uint16_t"),
    ("account_subsidy_budget", "01", "length 1 over by 0error unpacking int32_terror unpacking int32_t"),
    ("url", "05aa", "length 2 over by 0error unpacking string"),
    ("url", "80", "length 1 over by 0error unpacking string"),
]


@pytest.mark.parametrize(("name", "data", "text"), SHORT)
def test_short_values(name: str, data: str, text: str) -> None:
    operation = WitnessSetProperties("alice", (("key", KEY), (name, bytes.fromhex(data))))
    with pytest.raises(OutOfRange) as caught:
        operation.validate(CODECS)
    assert caught.value.message() == f"Out of Range:read datastream of {text}"
