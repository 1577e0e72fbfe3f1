"""Blocks and headers by number, in both groups."""

from typing import Any

import pytest

from rpc.records.blocks import block_signer
from state.operations.transfers import Transfer
from state.protocol.keys.keys import NULL_KEY, public_key, public_key_text
from state.protocol.values.asset import COIN, Asset
from tests.helpers.api import INIT_SECRET, ApiChain


@pytest.fixture
def api() -> ApiChain:
    """Three blocks; the third brings a transfer."""
    api = ApiChain()
    api.start(2)
    api.account("alice")
    transfer = Transfer(from_="initminer", to="alice", amount=Asset(1500, COIN), memo="hello")
    api.chain.push_transaction(api.transaction(transfer, signers=(INIT_SECRET,)))
    api.generate()
    return api


def test_a_block_in_the_named_group(api: ApiChain) -> None:
    block = api.call("block_api.get_block", block_num=3)["block"]
    (trx,) = block["transactions"]
    amount = {"amount": "1500", "precision": 3, "nai": "@@000000021"}
    assert trx["operations"] == [
        {"type": "transfer_operation", "value": {"from": "initminer", "to": "alice", "amount": amount, "memo": "hello"}}
    ]
    assert "transaction_id" not in trx
    assert block["block_id"] == api.state.props.head_block_id.hex()
    assert block["signing_key"] == public_key_text(public_key(INIT_SECRET), "TST")


def test_a_block_in_the_condenser(api: ApiChain) -> None:
    block = api.call("condenser_api.get_block", 3)
    (trx,) = block["transactions"]
    assert trx["operations"] == [["transfer", {"from": "initminer", "to": "alice", "amount": "1.500 COIN", "memo": "hello"}]]
    assert (trx["block_num"], trx["transaction_num"]) == (3, 0)
    assert block["transaction_ids"] == [trx["transaction_id"]]
    named = api.call("block_api.get_block", block_num=3)["block"]
    assert {**block, "transactions": None} == {**named, "transactions": None}


def test_extensions_of_a_header(api: ApiChain) -> None:
    """The first block reports the version of its witness: by number in the condenser's blocks, by name everywhere else."""
    version = {"type": "version", "value": "0.24.0"}
    assert api.call("condenser_api.get_block", 1)["extensions"][0] == [1, "0.24.0"]
    assert api.call("condenser_api.get_block_header", 1)["extensions"][0] == version
    assert api.call("block_api.get_block", block_num=1)["block"]["extensions"][0] == version


def test_a_header_is_the_start_of_its_block(api: ApiChain) -> None:
    header = api.call("block_api.get_block_header", block_num=3)
    block = api.call("block_api.get_block", block_num=3)["block"]
    assert header == api.call("condenser_api.get_block_header", 3) == {name: block[name] for name in header}


@pytest.mark.parametrize("number", [0, 4, 2**32 - 1])
def test_an_unknown_block_number_gives_null(api: ApiChain, number: int) -> None:
    assert api.call("block_api.get_block", block_num=number) == {"block": None}
    assert api.call("block_api.get_block_header", block_num=number) is None
    assert api.call("condenser_api.get_block", number) is None
    assert api.call("condenser_api.get_block_header", number) is None


def test_the_number_can_be_omitted_or_a_text(api: ApiChain) -> None:
    assert api.call("block_api.get_block") == {"block": None}
    assert api.call("condenser_api.get_block", "3")["block_id"] == api.state.props.head_block_id.hex()
    assert api.call("condenser_api.get_block", 2**32 + 3)["block_id"] == api.state.props.head_block_id.hex()
    assert api.refused("condenser_api.get_block", []) == (-32000, "Bad Cast:Invalid cast from array_type to uint64")


def test_old_blocks_stay(api: ApiChain) -> None:
    before: dict[str, Any] = api.call("condenser_api.get_block", 3)
    api.generate(30)
    assert api.state.props.last_irreversible_block_num > 3
    assert api.call("condenser_api.get_block", 3) == before


def test_an_unsigned_block_shows_the_null_key() -> None:
    assert block_signer(bytes(65), bytes(32)) == NULL_KEY
