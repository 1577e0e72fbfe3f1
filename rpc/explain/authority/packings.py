"""Incorrect serializations of a transaction that known clients produce and sign."""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rpc.explain.authority.texts import is_text
from rpc.explain.case import RefusalCase
from rpc.explain.fields import parts
from state.operations.escrow import EscrowDispute, EscrowRelease, EscrowTransfer
from state.protocol.authority import Authority
from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import AssetKind, Many, Pairs, pack_length
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import Asset
from state.protocol.values.text import encode

OPERATIONS_MAX = 50  # the maximum number of operations that are packed incorrectly; the rest are packed correctly
CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f]")
LETTERS = {"\x08": "b", "\x0c": "f"}
# For each escrow operation, the order in which the client library beem packs its fields. Fields that beem omits are missing here.
BEEM_ORDERS = {
    EscrowTransfer: (
        "from_", "to", "agent", "escrow_id", "sbd_amount", "coin_amount", "fee", "ratification_deadline", "escrow_expiration", "json_meta",
    ),
    EscrowDispute: ("from_", "to", "who", "escrow_id"),
    EscrowRelease: ("from_", "to", "who", "escrow_id", "sbd_amount", "coin_amount"),
}  # fmt: skip


class Packing(Struct, frozen=True):
    """A wrong serialization that a client may have signed: a clause that describes how it is wrong, and its digest."""

    clause: str
    digest: bytes


def other_packings(case: RefusalCase, trx: SignedTransaction) -> Iterator[Packing]:
    """Yield the wrong serializations of a transaction that a client may have signed, each with its digest."""
    chain_id = case.spec.chain_id

    def packed(clause: str, body: bytes) -> Packing:
        return Packing(clause, sha256(chain_id + body).digest())

    if trx.body.endswith(b"\0"):
        yield packed("the extensions of the transaction were missing", trx.body[:-1])
    yield packed("an empty list of signatures followed it", trx.body + b"\0")
    fields = [(path, data) for path, data, _ in parts(case.wire, trx) if not path.startswith("signatures")]
    for name in ("extensions", "beneficiaries"):
        remaining = [data for path, data in fields if not (path.endswith(f"].{name}") and data == b"\0")]
        yield packed(f"the empty {name} of an operation were missing", b"".join(remaining))
    yield packed("symbols were 4-byte numbers instead of letters", with_operations(case, trx, nai_symbols))
    yield packed("control characters in texts were packed as beem does", with_operations(case, trx, beem_texts))
    yield packed("the fields of an escrow were in beem's order", with_operations(case, trx, beem_order))
    yield packed("the lengths of texts were counted in characters instead of bytes", with_operations(case, trx, lengths_in_characters))
    yield packed("the members of a set or a map were not in ascending order", with_operations(case, trx, descending_sets))


def with_operations(case: RefusalCase, trx: SignedTransaction, pack: Any) -> bytes:
    """Return the transaction, packed with a function that packs operations incorrectly.

    `pack(case, operation)` returns the bytes of each field, keyed by name, in the order of packing.
    """
    bodies = []
    for index, operation in enumerate(trx.operations):
        own = {path: data for path, data, _ in parts(case.wire, replace(trx, operations=(operation,), signatures=()))}
        tag = own["operations[0]"]
        changed = pack(case, operation) if index < OPERATIONS_MAX else packed_fields(case, operation)
        bodies.append(tag + b"".join(changed.values()))
    head = case.wire.pack_body(replace(trx, operations=(), extensions=()))[:-2]
    tail = case.wire.pack_body(replace(trx, operations=()))[len(head) + 1 :]
    return head + pack_length(len(bodies)) + b"".join(bodies) + tail


def packed_fields(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Return the correctly packed bytes of each field."""
    return {field.name: case.wire.codecs.packer(field.kind)(getattr(operation, field.name)) for field in wire_fields(type(operation))}


def nai_symbols(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Pack an operation's fields, with asset symbols as 4-byte numbers."""
    changed = packed_fields(case, operation)
    for field in wire_fields(type(operation)):
        value = getattr(operation, field.name)
        if isinstance(field.kind, AssetKind) and isinstance(value, Asset):
            changed[field.name] = value.amount.to_bytes(8, "little", signed=True) + value.symbol.to_bytes(4, "little")
    return changed


def beem_texts(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Pack an operation's fields, with control characters replaced by letters and digits as in the client library beem."""
    return texts_packed(case, operation, lambda text: sized(encode(CONTROL.sub(letter, text))))


def letter(match: re.Match[str]) -> str:
    """Return beem's replacement for a control character."""
    return LETTERS.get(match[0], f"u{ord(match[0]):04x}")


def lengths_in_characters(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Pack an operation's fields, with string lengths counted in characters instead of bytes."""
    return texts_packed(case, operation, lambda text: pack_length(len(text)) + encode(text))


def texts_packed(case: RefusalCase, operation: Operation, pack: Any) -> dict[str, bytes]:
    """Pack an operation's fields. Strings are packed with `pack`."""
    changed = packed_fields(case, operation)
    for field in wire_fields(type(operation)):
        if is_text(field.kind):
            changed[field.name] = pack(getattr(operation, field.name))
    return changed


def sized(data: bytes) -> bytes:
    """Prefix bytes with their length in packed form."""
    return pack_length(len(data)) + data


def beem_order(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Pack the fields of an escrow operation in the order of the client library beem."""
    changed = packed_fields(case, operation)
    order = BEEM_ORDERS.get(type(operation))
    return changed if order is None else {name: changed[name] for name in order}


def descending_sets(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Pack an operation's fields, with all sets and maps in descending order, including those of authorities."""
    changed = packed_fields(case, operation)
    for field in wire_fields(type(operation)):
        value = getattr(operation, field.name)
        if isinstance(field.kind, (Many, Pairs)):
            changed[field.name] = case.wire.codecs.packer(field.kind)(value[::-1])
        elif isinstance(value, Authority):
            reversed_authority = replace(value, key_auths=value.key_auths[::-1], account_auths=value.account_auths[::-1])
            changed[field.name] = case.wire.codecs.packer(field.kind)(reversed_authority)
    return changed
