"""The wire format compared with its worked examples: primitives, symbols and assets, transactions, blocks, and a block log.

The last test checks that some test module uses every example of tests/vectors/wire.json.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from msgspec.structs import replace

import state.operations  # noqa: F401 - fills the registry
from node.specs.builder import load_spec
from state.protocol.codec.fields import kind_of_hint
from state.protocol.codec.kinds import (
    Bool,
    Data,
    Extensions,
    HardforkVersion,
    Int8,
    Int16,
    Int32,
    Int64,
    Many,
    Maybe,
    Symbol,
    Text,
    Time,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    UInt128,
    Version,
    pack_length,
    unpack_length,
)
from state.protocol.errors import BadCast, ChainError, OutOfRange, Refused
from state.protocol.keys.keys import public_key_text
from state.protocol.keys.signatures import Canonical, recover
from state.protocol.transaction import SignedTransaction, Wire, block_number, frame, frames, leaf_of, merkle_root
from state.protocol.values import asset as assets
from state.protocol.values.asset import Asset, Price
from tests.helpers.wire import TESTNET, TESTS, VECTOR_CODECS, VECTORS, vector, vectors

TYPES = {
    "int8": Int8,
    "int16": Int16,
    "int32": Int32,
    "int64": Int64,
    "uint16": UInt16,
    "uint32": UInt32,
    "uint64": UInt64,
    "uint128": UInt128,
    "string": Text,
    "bool": Bool,
    "optional<uint8>": UInt8 | None,
    "vector<uint16>": Annotated[tuple[int, ...], Many(kind_of_hint(UInt16))],
    "flat_set<int64>": Annotated[tuple[int, ...], Many(kind_of_hint(Int64), ascending=True)],
    "vector<char>": Data,
    "time_point_sec": Time,
    "extensions": Extensions,
}
# The vectors' chain, and the same chain as a test build, whose block headers can contain actions.
MAIN = replace(load_spec("testnet"), key_prefix="STM", build="main")
WIRE = Wire(MAIN)
TEST_WIRE = Wire(replace(MAIN, build="test"))
TESTNET_WIRE = Wire(TESTNET)


def example(group: str, prefix: str = "", *, without: str = "?") -> list[Any]:
    """Return the examples of a group whose ids start with `prefix`, as pytest parameters."""
    found = [p for p in vectors(group) if str(p.id).startswith(prefix) and not str(p.id).startswith(without)]
    assert found
    return found


# ------------------------------------------------------------------ primitives


@pytest.mark.parametrize("example", example("prim", "varint."))
def test_lengths(example: Any) -> None:
    number, packed = example["input"]["value"], bytes.fromhex(example["expect"]["hex"])
    assert pack_length(number) == packed
    assert unpack_length(packed + b"\xff", 0) == (number, len(packed))


def test_lengths_that_packing_does_not_give() -> None:
    assert unpack_length(bytes.fromhex("818000"), 0) == (1, 3)
    assert unpack_length(bytes.fromhex("ffffffffff01"), 0) == (0xFFFFFFFF, 5)
    assert unpack_length(bytes.fromhex("8080808070"), 0) == (0, 5)
    with pytest.raises(IndexError):
        unpack_length(b"\x80\x80", 0)


@pytest.mark.parametrize("example", [p for p in example("prim", without="varint.") if "type" in p.values[0]["input"]])
def test_primitives(example: Any) -> None:
    given, packed = example["input"], bytes.fromhex(example["expect"]["hex"])
    kind = kind_of_hint(TYPES[given["type"]])
    value = given["seconds"] if "seconds" in given else VECTOR_CODECS.parser(kind)(given["value"])
    assert value == example["expect"].get("seconds", value)
    assert VECTOR_CODECS.packer(kind)(value) == packed
    assert VECTOR_CODECS.unpack(kind, packed, exact=True) == value
    shown = (VECTOR_CODECS.dumper(kind) or (lambda plain: plain))(value)
    assert VECTOR_CODECS.parser(kind)(shown) == value
    assert shown == example["expect"].get("json", shown)


@pytest.mark.parametrize("example", example("prim", "version."))
def test_versions(example: Any) -> None:
    for kind, key in ((kind_of_hint(Version), "version_hex"), (kind_of_hint(HardforkVersion), "hardfork_version_hex")):
        packed = bytes.fromhex(example["expect"][key])
        assert VECTOR_CODECS.packer(kind)(VECTOR_CODECS.parser(kind)(example["input"]["json"])) == packed
        assert VECTOR_CODECS.packer(kind)(VECTOR_CODECS.unpack(kind, packed)) == packed


@pytest.mark.parametrize(
    ("hint", "data"), [(Bool, "02"), (UInt8 | None, "0201"), (Int16, "00"), (Text, "05aa"), (Data, "8080808008"), (UInt128, "00" * 15)]
)
def test_bad_primitives(hint: Any, data: str) -> None:
    with pytest.raises((OutOfRange, Refused)):
        VECTOR_CODECS.unpack(kind_of_hint(hint), bytes.fromhex(data))


def test_numbers_beyond_32_bits_are_shown_as_texts() -> None:
    for hint in (UInt64, Int64):
        dump = VECTOR_CODECS.dumper(kind_of_hint(hint))
        assert dump is not None
        assert (dump(0xFFFFFFFF), dump(1 << 32)) == (0xFFFFFFFF, "4294967296")
        assert dump(-(1 << 40)) == -(1 << 40)
    assert VECTOR_CODECS.parser(Maybe(kind_of_hint(UInt8)))(None) is None


# ------------------------------------------------------------------ symbols and assets


def wire_of(given: dict[str, Any]) -> Wire:
    """Return the wire format of the chain that an example is for."""
    return TESTNET_WIRE if given.get("network") == "testnet" else WIRE


@pytest.mark.parametrize("example", [p for p in example("asset") if "legacy" in (p.values[0]["input"] or {})])
def test_assets(example: Any) -> None:
    given, packed = example["input"], bytes.fromhex(example["expect"]["hex"])
    codecs = wire_of(given).codecs
    asset = codecs.unpack(Asset, packed, exact=True)
    assert asset.symbol == example["expect"].get("asset_num", asset.symbol)
    assert codecs.pack(asset) == packed
    assert (codecs.parser(Asset)(given["json"]), codecs.dump(asset)) == (asset, given["json"])
    text, _, only_out = given["legacy"].partition(" (")
    assert codecs.dump(asset, legacy=True) == text
    if not only_out:
        assert codecs.parser(Asset, True)(text) == asset
    with pytest.raises(BadCast):
        codecs.parser(Asset, True)(given["json"])


def test_a_negative_asset() -> None:
    packed = bytes.fromhex(vector("sbd.negative")["expect"]["hex"])
    assert WIRE.codecs.unpack(Asset, packed) == Asset(-100333, assets.SBD)
    assert WIRE.codecs.pack(Asset(-100333, assets.SBD)) == packed


def test_a_price() -> None:
    given, packed = vector("price")["input"]["json"], bytes.fromhex(vector("price")["expect"]["hex"])
    price = WIRE.codecs.unpack(Price, packed, exact=True)
    assert price == Price(Asset(1000), Asset(523, assets.SBD))
    assert (WIRE.codecs.pack(price), WIRE.codecs.dump(price), WIRE.codecs.parser(Price)(given)) == (packed, given, price)
    assert WIRE.codecs.dump(price, legacy=True) == {"base": "1.000 COIN", "quote": "0.523 SBD"}


@pytest.mark.parametrize("example", [p for p in example("asset", "nai.") if "data_digits" in p.values[0]["input"]])
def test_check_digits(example: Any) -> None:
    digits = example["input"]["data_digits"]
    assert assets.check_digit(digits) == example["expect"]["check_digit"]
    symbol = assets.symbol_from_digits(digits, {1: 3, 2: 3, 3: 6}.get(digits, 0))
    assert (assets.nai_text(symbol), assets.nai_digits(symbol)) == (example["expect"]["nai"], digits)


@pytest.mark.parametrize("example", example("asset", "nai.asset_num."))
def test_symbols(example: Any) -> None:
    kind, expect = kind_of_hint(Symbol), example["expect"]
    symbol = WIRE.codecs.parser(kind)(example["input"])
    assert (symbol, assets.is_vesting(symbol)) == (expect["asset_num"], expect["is_vesting"])
    assert (assets.paired(symbol), assets.nai_text(assets.paired(symbol))) == (expect["paired_asset_num"], expect["paired_nai"])
    assert WIRE.codecs.packer(kind)(symbol) == bytes.fromhex(expect["hex"])
    assert WIRE.codecs.unpack(kind, bytes.fromhex(expect["hex"]), exact=True) == symbol


@pytest.mark.parametrize("row", vector("asset.json.table")["expect"], ids=lambda row: json.dumps(row["json"]))
def test_json_of_assets(row: Any) -> None:
    if row["hex"] is None:
        with pytest.raises(ChainError):
            WIRE.codecs.parser(Asset)(row["json"])
    else:
        assert WIRE.codecs.pack(WIRE.codecs.parser(Asset)(row["json"])).hex() == row["hex"]


@pytest.mark.parametrize("row", vector("legacy_asset.parse")["expect"], ids=lambda row: row["text"])
def test_texts_of_assets_are_read(row: Any) -> None:
    if row["result"] is None:
        with pytest.raises(ChainError):
            WIRE.codecs.parser(Asset, True)(row["text"])
    else:
        asset = WIRE.codecs.parser(Asset, True)(row["text"])
        symbol = next(symbol for symbol, letters in WIRE.codecs.symbols.letters.items() if letters == row["result"]["symbol"])
        assert asset == Asset(int(row["result"]["amount"]), symbol)
        assert WIRE.codecs.dump(asset, legacy=True) == row["result"]["printed"]


@pytest.mark.parametrize("row", vector("legacy_asset.print")["expect"], ids=lambda row: row["text"])
def test_texts_of_assets_are_written(row: Any) -> None:
    assert WIRE.codecs.dump(Asset(int(row["amount"]), row["asset_num"]), legacy=True) == row["text"]


# ------------------------------------------------------------------ transactions


@pytest.mark.parametrize("example", [p for p in example("tx") if "json" in p.values[0]["input"]])
def test_transactions(example: Any) -> None:
    given, expect = example["input"]["json"], example["expect"]
    wire = Wire(replace(MAIN, chain_id=bytes.fromhex(expect["chain_id"])))
    for trx in (wire.transaction_from_json(given), wire.unpack_transaction(bytes.fromhex(expect["signed_hex"]))):
        assert (trx.body.hex(), trx.id.hex(), leaf_of(trx).hex()) == (expect["transaction_hex"], expect["id"], expect["merkle_digest"])
        assert (wire.pack_transaction(trx).hex(), trx.size) == (expect["signed_hex"], len(expect["signed_hex"]) // 2)
        assert wire.signature_digest(trx).hex() == expect["sig_digest"]
        assert wire.transaction_to_json(trx) == {"extensions": [], "signatures": []} | given
        assert wire.pack_transaction(wire.transaction_from_json(wire.transaction_to_json(trx, True), True)).hex() == expect["signed_hex"]
        if "signed_by" in expect:
            keys = wire.signers(trx, Canonical(example["input"]["canon"]))
            assert [public_key_text(key, "STM") for key in keys] == expect["signed_by"]


def test_a_reference_to_a_block() -> None:
    block_id, expect = bytes.fromhex(vector("taposref")["input"]["block_id"]), vector("taposref")["expect"]
    assert block_number(block_id) == expect["block_num"]
    assert block_number(block_id) & 0xFFFF == expect["ref_block_num"]
    assert int.from_bytes(block_id[4:8], "little") == expect["ref_block_prefix"]


def test_bytes_out_of_order_are_normalised() -> None:
    expect = vector("normalise")["expect"]
    trx = WIRE.unpack_transaction(bytes.fromhex(vector("normalise")["input"]["signed_hex"]))
    assert (WIRE.pack_transaction(trx).hex(), trx.id.hex()) == (expect["repacked_signed_hex"], expect["id"])
    assert (WIRE.transaction_to_json(trx), trx.size) == (expect["json"], len(expect["repacked_signed_hex"]) // 2)


# ------------------------------------------------------------------ blocks


@pytest.mark.parametrize("example", example("block", "block."))
def test_blocks(example: Any) -> None:
    expect = example["expect"]
    wire = TEST_WIRE if example["input"].get("network") == "testnet" else WIRE
    packed = bytes.fromhex(expect["block_hex"])
    for block in (wire.block_from_json(example["input"]["json"]), wire.unpack_block(packed)[0]):
        assert (wire.pack_block(block), block.size) == (packed, expect.get("size", len(packed)))
        assert (block.id.hex(), block.digest.hex()) == (expect["block_id"], expect["digest"])
        assert block.number == expect.get("block_num", block.number)
        assert wire.block_to_json(block) == example["input"]["json"]
        assert block.packed_header.hex().startswith(expect.get("header_hex", ""))
        assert block.packed_header.hex() == expect.get("signed_header_hex", block.packed_header.hex())
        assert merkle_root(block.transactions).hex() == expect.get("merkle_root", merkle_root(block.transactions).hex())
        if "signing_key" in expect:
            key = recover(block.witness_signature, block.digest, Canonical.bip_0062)
            assert public_key_text(key, "STM") == expect["signing_key"]
            assert [trx.id.hex() for trx in block.transactions] == expect["transaction_ids"]
            main = Wire(replace(MAIN, chain_id=bytes(32)))
            signers = [main.signers(trx, Canonical.fc_canonical) for trx in block.transactions]
            assert [[public_key_text(key, "STM") for key in keys] for keys in signers] == expect["transaction_signers"]


def test_condenser_form_of_a_header() -> None:
    block = WIRE.block_from_json(vector("block.extensions")["input"]["json"])
    shown = WIRE.block_to_json(block, legacy=True)
    assert shown["extensions"] == [[1, "0.23.1"], [2, {"hf_version": "0.23.0", "hf_time": "2020-05-20T14:00:00"}]]
    assert WIRE.block_from_json(shown, legacy=True).id == block.id


def test_actions_exist_in_the_test_build_only() -> None:
    with pytest.raises(Refused, match=r"w < count\(\) && w >= 0: "):
        WIRE.unpack_block(bytes.fromhex(vector("block.actions")["expect"]["block_hex"]))
    with pytest.raises(Refused, match="Invalid object name"):
        WIRE.block_from_json(vector("block.actions")["input"]["json"])


@pytest.mark.parametrize("example", example("block", "merkle."))
def test_merkle_roots(example: Any) -> None:
    digests = [bytes.fromhex(digest) for digest in example["input"]["merkle_digests"]]
    transactions = tuple(SignedTransaction(leaf=digest) for digest in digests)
    assert merkle_root(transactions).hex() == example["expect"]["merkle_root"]


# ------------------------------------------------------------------ block log


def test_a_block_log() -> None:
    expect = vector("three_blocks")["expect"]
    log = b""
    for name in vector("three_blocks")["input"]["blocks"]:
        log += frame(WIRE.pack_block(WIRE.block_from_json(vector(name)["input"]["json"])), len(log))
    assert log.hex() == expect["block_log_hex"]
    places = list(frames(log))
    assert [start for start, _ in places] == expect["positions"]
    assert b"".join(start.to_bytes(8, "little") for start, _ in places).hex() == expect["index_hex"]
    for number, (start, end) in enumerate(places, 1):
        block, stop = WIRE.unpack_block(log, start)
        assert (block.number, stop) == (number, end)


@pytest.mark.parametrize("log", [b"\0", bytes(7), bytes(8), b"\1" + bytes(8) + b"\1" + bytes(7), b"\0" * 9 + b"\xff" * 8])
def test_damaged_block_logs(log: bytes) -> None:
    with pytest.raises(Refused, match="damaged"):
        frames(log)


# ------------------------------------------------------------------ completeness

# Groups that a test module covers completely. Examples of other groups are read by name.
WHOLE = {
    "prim": __name__,
    "asset": __name__,
    "tx": __name__,
    "block": __name__,
    "authority": "tests.state.protocol.authorization.test_signatures_check",
    "key": "tests.state.protocol.keys.test_keys",
    "sig": "tests.state.protocol.keys.test_keys",
    "pow": "tests.state.protocol.test_pow",
}


def test_every_example_is_used() -> None:
    texts = {".".join(path.relative_to(TESTS.parent).with_suffix("").parts): path.read_text() for path in TESTS.rglob("test_*.py")}
    for example in VECTORS:
        if example["group"] in WHOLE:
            assert f'"{example["group"]}"' in texts[WHOLE[example["group"]]]
        elif example["group"] != "op":  # all of these are parameters of tests/state/operations/test_operations_forms.py
            assert any(f'"{example["id"]}"' in text for text in texts.values()), example["id"]
