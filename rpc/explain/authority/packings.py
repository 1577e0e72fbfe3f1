"""Wrong packings of a transaction that some clients produce."""

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

OPERATIONS_MAX = 50  # operations that are packed differently; the rest are packed normally
CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f]")
LETTERS = {"\x08": "b", "\x0c": "f"}
# The orders in which beem packs the fields of escrows; it leaves some out.
BEEM_ORDERS = {
    EscrowTransfer: (
        "from_", "to", "agent", "escrow_id", "sbd_amount", "coin_amount", "fee", "ratification_deadline", "escrow_expiration", "json_meta",
    ),
    EscrowDispute: ("from_", "to", "who", "escrow_id"),
    EscrowRelease: ("from_", "to", "who", "escrow_id", "sbd_amount", "coin_amount"),
}  # fmt: skip


class Packing(Struct, frozen=True):
    """A wrong packing: a clause that describes the difference, and the resulting digest."""

    clause: str
    digest: bytes


def other_packings(case: RefusalCase, trx: SignedTransaction) -> Iterator[Packing]:
    """Yield the digests of other packings."""
    chain_id = case.spec.chain_id

    def packed(clause: str, body: bytes) -> Packing:
        return Packing(clause, sha256(chain_id + body).digest())

    if trx.body.endswith(b"\0"):
        yield packed("the extensions of the transaction are missing", trx.body[:-1])
    yield packed("an empty list of signatures stood after it", trx.body + b"\0")
    fields = [(path, data) for path, data, _ in parts(case.wire, trx) if not path.startswith("signatures")]
    for what in ("extensions", "beneficiaries"):
        left = [data for path, data in fields if not (path.endswith(f"].{what}") and data == b"\0")]
        yield packed(f"the empty {what} of an operation are missing", b"".join(left))
    yield packed("symbols as numbers of four bytes instead of letters", with_operations(case, trx, nai_symbols))
    yield packed("control characters in texts as beem packs them", with_operations(case, trx, beem_texts))
    yield packed("the fields of an escrow in the order of beem", with_operations(case, trx, beem_order))
    yield packed("the lengths of texts in characters instead of bytes", with_operations(case, trx, lengths_in_characters))
    yield packed("the members of a set or a map not in ascending order", with_operations(case, trx, descending_sets))


def with_operations(case: RefusalCase, trx: SignedTransaction, pack: Any) -> bytes:
    """Return the body with each operation packed by `pack(case, operation)`, which returns bytes by field, in order."""
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
    """Return the bytes of each field as this chain packs it."""
    return {field.name: case.wire.codecs.packer(field.kind)(getattr(operation, field.name)) for field in wire_fields(type(operation))}


def nai_symbols(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Pack amounts with symbols as numbers of 4 bytes."""
    changed = packed_fields(case, operation)
    for field in wire_fields(type(operation)):
        value = getattr(operation, field.name)
        if isinstance(field.kind, AssetKind) and isinstance(value, Asset):
            changed[field.name] = value.amount.to_bytes(8, "little", signed=True) + value.symbol.to_bytes(4, "little")
    return changed


def beem_texts(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Pack control characters as beem does: as letters and digits."""
    return texts_packed(case, operation, lambda text: sized(encode(CONTROL.sub(letter, text))))


def letter(match: re.Match[str]) -> str:
    """Return beem's replacement for a control character."""
    return LETTERS.get(match[0], f"u{ord(match[0]):04x}")


def lengths_in_characters(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Pack texts with their length in characters instead of bytes."""
    return texts_packed(case, operation, lambda text: pack_length(len(text)) + encode(text))


def texts_packed(case: RefusalCase, operation: Operation, pack: Any) -> dict[str, bytes]:
    """Return the bytes of the fields, with texts packed by `pack`."""
    changed = packed_fields(case, operation)
    for field in wire_fields(type(operation)):
        if is_text(field.kind):
            changed[field.name] = pack(getattr(operation, field.name))
    return changed


def sized(data: bytes) -> bytes:
    """Prefix bytes with their length."""
    return pack_length(len(data)) + data


def beem_order(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Pack the fields of escrows in beem's order."""
    changed = packed_fields(case, operation)
    order = BEEM_ORDERS.get(type(operation))
    return changed if order is None else {name: changed[name] for name in order}


def descending_sets(case: RefusalCase, operation: Operation) -> dict[str, bytes]:
    """Pack sets and maps, including those of authorities, in descending order."""
    changed = packed_fields(case, operation)
    for field in wire_fields(type(operation)):
        value = getattr(operation, field.name)
        if isinstance(field.kind, (Many, Pairs)):
            changed[field.name] = case.wire.codecs.packer(field.kind)(value[::-1])
        elif isinstance(value, Authority):
            turned = replace(value, key_auths=value.key_auths[::-1], account_auths=value.account_auths[::-1])
            changed[field.name] = case.wire.codecs.packer(field.kind)(turned)
    return changed
