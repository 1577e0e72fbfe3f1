"""Maps the fields of a transaction to the offsets of their bytes."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import as_it_is, pack_length
from state.protocol.operation import wire_tag
from state.protocol.transaction import SignedTransaction, Wire


class PackedField(Struct, frozen=True):
    """A packed field: its path (`operations[0].amount`), byte offset, bytes, and JSON value."""

    path: str
    offset: int
    data: bytes
    value: Any


def fields_of(wire: Wire, trx: SignedTransaction) -> list[PackedField]:
    """Return the fields of a transaction in byte order. Together they cover all bytes of the packed transaction."""
    found, offset = [], 0
    for path, data, value in parts(wire, trx):
        found.append(PackedField(path, offset, data, value))
        offset += len(data)
    return found


def parts(wire: Wire, trx: SignedTransaction) -> Iterator[tuple[str, bytes, Any]]:
    """Yield (path, bytes, JSON value) for each field, in byte order."""
    for field in wire_fields(SignedTransaction):
        values = getattr(trx, field.name)
        if field.name == "signatures":
            yield "signatures", pack_length(len(values)), len(values)
            yield from ((f"signatures[{i}]", value, value.hex()) for i, value in enumerate(values))
        elif field.name == "operations":
            yield "operations", pack_length(len(values)), len(values)
            for i, operation in enumerate(values):
                yield f"operations[{i}]", pack_length(wire_tag(operation.TAG, wire.spec.smt)), wire.spec.spell(operation.NAME)
                yield from members(wire, f"operations[{i}].", operation)
        else:
            yield member(wire, "", field, values)


def members(wire: Wire, before: str, value: Any) -> Iterator[tuple[str, bytes, Any]]:
    """Yield (path, bytes, JSON value) for each field of an operation. `before` is the path's prefix."""
    for field in wire_fields(type(value)):
        yield member(wire, before, field, getattr(value, field.name))


def member(wire: Wire, before: str, field: Any, value: Any) -> tuple[str, bytes, Any]:
    """Return (path, bytes, JSON value) of one field, with amounts as strings."""
    codecs = wire.codecs
    shown = None if value is None else (codecs.dumper(field.kind, True) or as_it_is)(value)
    return before + wire.spec.spell(field.json), codecs.packer(field.kind)(value), shown
