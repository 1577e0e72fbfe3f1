"""Targets for transactions and blocks, in binary and in both JSON formats."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

import state.operations  # noqa: F401 - fills the registry
from node.specs.builder import load_spec
from state.protocol.errors import ChainError
from state.protocol.operation import Needed
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire, leaf_of, merkle_root
from tests.fuzz.target import Run

FORMS = (False, True)  # is_legacy: appbase and condenser format


def refused_or(work: Any, *arguments: Any) -> Any:
    """Return the result of `work`, or None if it raises a refusal."""
    try:
        return work(*arguments)
    except ChainError:
        return None


def check_json_round_trip(value: Any, show: Callable[[Any, bool], Any], read: Callable[[Any, bool], Any]) -> None:
    """Check that a value's JSON is either refused or parsed, and that the parsed value has the same JSON again.

    As in the reference, JSON doesn't represent every value exactly: three symbol numbers share their text with COIN, SBD and VESTS,
    enumerations are truncated to 32 bits, and the condenser format changes some operations and negative amounts.
    """
    for legacy in FORMS:
        once = refused_or(read, show(value, legacy), legacy)
        if once is None:
            continue
        shown = show(once, legacy)
        twice = refused_or(read, shown, legacy)
        assert legacy or twice is None or show(twice, legacy) == shown, shown


def same_transaction(wire: Wire, trx: SignedTransaction) -> None:
    """Check that a transaction survives each of its formats, and that validating its operations raises only refusals."""
    packed = wire.pack_transaction(trx)
    assert len(packed) == trx.size
    again = wire.unpack_transaction(packed)
    assert (again.id, again.size, leaf_of(again)) == (trx.id, trx.size, leaf_of(trx))
    assert wire.pack_transaction(again) == packed
    check_json_round_trip(trx, wire.transaction_to_json, wire.transaction_from_json)
    for operation in trx.operations:
        refused_or(operation.validate, wire.codecs)
        operation.impacted()
    refused_or(Needed.by, trx.operations)


def transactions() -> Run:
    """Return a target that unpacks a transaction."""
    return partial(transaction_bytes, new_wire())


def transactions_json() -> Run:
    """Return a target that parses a transaction in the condenser's or the NAI JSON format."""
    return partial(transaction_json, new_wire())


def blocks() -> Run:
    """Return a target that unpacks a block."""
    return partial(block_bytes, new_wire())


def blocks_json() -> Run:
    """Return a target that parses a block in the condenser's or the NAI JSON format."""
    return partial(block_json, new_wire())


def transaction_bytes(wire: Wire, data: bytes) -> None:
    """Unpack and check a transaction."""
    trx = refused_or(wire.unpack_transaction, data)
    if trx is not None:
        same_transaction(wire, trx)


def transaction_json(wire: Wire, data: bytes) -> None:
    """Parse and check a transaction in the condenser's or the NAI JSON format."""
    value = decoded(data)
    for legacy in FORMS if value is not None else ():
        trx = refused_or(wire.transaction_from_json, value, legacy)
        if trx is not None:
            packed = wire.pack_transaction(trx)
            again = refused_or(wire.unpack_transaction, packed)
            assert again is None or wire.pack_transaction(again) == packed


def block_bytes(wire: Wire, data: bytes) -> None:
    """Unpack and check a block."""
    found = refused_or(wire.unpack_block, data)
    if found is not None:
        block, end = found
        assert end <= len(data)
        same_block(wire, block)


def block_json(wire: Wire, data: bytes) -> None:
    """Parse and check a block in the condenser's or the NAI JSON format."""
    value = decoded(data)
    for legacy in FORMS if value is not None else ():
        block = refused_or(wire.block_from_json, value, legacy)
        if block is not None:
            assert len(wire.pack_block(block)) == block.size


def same_block(wire: Wire, block: SignedBlock) -> None:
    """Check that a block survives each of its formats."""
    packed = wire.pack_block(block)
    assert len(packed) == block.size
    again, end = wire.unpack_block(packed)
    assert (again.id, again.digest, end) == (block.id, block.digest, len(packed))
    merkle_root(block.transactions)
    check_json_round_trip(block, wire.block_to_json, wire.block_from_json)


def decoded(data: bytes) -> Any:
    """Return the decoded JSON value, or None if it is invalid."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def new_wire() -> Wire:
    """Return the wire format of the recorded chains, with all operations."""
    return Wire(load_spec("steem-testnet"))
