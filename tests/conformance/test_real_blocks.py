"""The wire format with real data: 2,000 blocks of the public chain, and the block logs of all recorded cases."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

import state.operations  # noqa: F401 - fills the registry
from node.specs.builder import load_spec
from state.protocol.keys.keys import public_key_text
from state.protocol.keys.signatures import Canonical, recover
from state.protocol.operation import SMT_TAGS
from state.protocol.transaction import SignedBlock, Wire, frame, frames, merkle_root
from state.protocol.values.convert import JSON_NUMBER_MAX
from state.protocol.values.symbols import SYMBOL_UNKNOWN
from tests.conftest import CASES, MAINNET, case_names, read_json_lines

PUBLIC = Wire(load_spec("steem-mainnet"))
TESTNET = Wire(load_spec("steem-testnet"))
BESIDE_THE_BLOCK = ("block_id", "signing_key", "transaction_ids")
PARTS = sorted(path.name for path in MAINNET.glob("*.jsonl.gz"))


def plain(value: Any) -> Any:
    """Undo the integer rule of wire-format.md §1.14: large integers compare by their digits, as numbers or as strings."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if type(value) is str and value.isdigit() and int(value) > JSON_NUMBER_MAX and value[0] != "0":
        return int(value)
    return value


@pytest.mark.parametrize("part", PARTS)
def test_blocks_of_the_public_chain(part: str) -> None:
    for recorded in read_json_lines(MAINNET / part):
        block = PUBLIC.block_from_json(recorded)
        assert block.id.hex() == recorded["block_id"]
        assert merkle_root(block.transactions) == block.transaction_merkle_root
        assert [trx.id.hex() for trx in block.transactions] == recorded["transaction_ids"]
        packed = PUBLIC.pack_block(block)
        unpacked, end = PUBLIC.unpack_block(packed)
        assert (end, block.size, unpacked.size) == (len(packed),) * 3
        shown = PUBLIC.block_to_json(unpacked)
        assert plain(shown) == plain({key: value for key, value in recorded.items() if key not in BESIDE_THE_BLOCK})
        condensed = PUBLIC.block_from_json(PUBLIC.block_to_json(block, True), True)
        assert PUBLIC.pack_block(condensed) == packed


@pytest.mark.parametrize("part", PARTS)
def test_keys_of_the_public_chain(part: str) -> None:
    """The signatures of such old blocks follow the first canonical rule, which is stricter than the later one."""
    for recorded in read_json_lines(MAINNET / part):
        block = PUBLIC.block_from_json(recorded)
        keys = {recover(block.witness_signature, block.digest, rule) for rule in (Canonical.fc_canonical, Canonical.bip_0062)}
        assert [public_key_text(key, PUBLIC.spec.key_prefix) for key in keys] == [recorded["signing_key"]]
        for trx in block.transactions:
            assert len(PUBLIC.signers(trx, Canonical.fc_canonical)) == len(trx.signatures)


def block_log(case: str) -> bytes:
    """Return the block log of a case."""
    path = CASES / case / "block_log"
    return path.read_bytes() if path.exists() else gzip.decompress((CASES / case / "block_log.gz").read_bytes())


def has_condenser_form(block: SignedBlock) -> bool:
    """Whether the block can be parsed from condenser JSON, which has no format for token operations and token amounts."""
    if any(operation.TAG in SMT_TAGS for trx in block.transactions for operation in trx.operations):
        return False
    return f" {SYMBOL_UNKNOWN}" not in json.dumps(TESTNET.block_to_json(block, True))


@pytest.mark.parametrize("case", case_names())
def test_recorded_block_logs(case: str) -> None:
    log, again = block_log(case), bytearray()
    last = bytes(20)
    for number, (start, end) in enumerate(frames(log), 1):
        block, stop = TESTNET.unpack_block(log, start)
        assert (stop, block.number, block.previous) == (end, number, last)
        assert merkle_root(block.transactions) == block.transaction_merkle_root
        packed = TESTNET.pack_block(block)
        again += frame(packed, len(again))
        assert TESTNET.pack_block(TESTNET.block_from_json(TESTNET.block_to_json(block))) == packed
        if has_condenser_form(block):
            assert TESTNET.pack_block(TESTNET.block_from_json(TESTNET.block_to_json(block, True), True)) == packed
        last = block.id
    assert bytes(again) == log
