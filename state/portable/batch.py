"""Batches of portable rows as bytes: MessagePack, compressed."""

import zlib
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, MsgspecError, Struct, UnsetType, msgpack

from state.portable.declarations import PORTABLE, Batch, PortableRow
from state.protocol.values.integers import INT64_MIN, UINT128_MAX
from state.store.columns import from_msgpack_ext, to_msgpack_ext

BATCH_SIZE_MAX = 4 << 20  # bytes
UNPACKED_SIZE_MAX = 32 << 20
LEVEL = 1  # of compression


def pack_batch(batch: Batch) -> bytes:
    """Encode a batch. Raises ValueError if it's larger than `unpack_batch` accepts."""
    try:
        data = msgpack.encode(batch)
    except (UnicodeEncodeError, OverflowError):
        data = msgpack.encode({name: [{column: to_msgpack_ext(row[column]) for column in row} for row in batch[name]] for name in batch})
    packed = zlib.compress(data, LEVEL)
    if len(data) > UNPACKED_SIZE_MAX or len(packed) > BATCH_SIZE_MAX:
        raise ValueError(f"a batch of {len(data)} bytes, compressed {len(packed)}, is too large")
    return packed


def unpack_batch(data: bytes) -> Batch:
    """Decode a batch and check it by the declarations. Raises ValueError if it is too large, or anything in it is invalid."""
    if len(data) > BATCH_SIZE_MAX:
        raise ValueError(f"a batch of {len(data)} bytes, more than the maximum of {BATCH_SIZE_MAX}")
    try:
        reader = zlib.decompressobj()
        plain = reader.decompress(data, UNPACKED_SIZE_MAX)
        if not reader.eof or reader.unused_data:
            raise ValueError("it is incomplete or too large")
        tables = msgpack.Decoder(dict[str, list[Any]], ext_hook=from_msgpack_ext).decode(plain)
        return {name: _rows(name, rows) for name, rows in tables.items()}
    except (zlib.error, MsgspecError, RecursionError, OverflowError, ValueError) as error:
        raise ValueError(f"invalid batch of rows: {error}") from None


def _rows(name: str, rows: list[Any]) -> list[PortableRow]:
    kind = _row_type(name)
    found = []
    for row in msgspec.convert(rows, type=list[kind]):  # type: ignore[valid-type]  # the class is made here
        values = {field: value for field in kind.__struct_fields__ if (value := getattr(row, field)) is not UNSET}
        for value in values.values():
            _check_integers(value)
        found.append(values)
    return found


@cache
def _row_type(name: str) -> Any:
    """Return a Struct class for the rows of a table, in which all columns but those of the key can be left out."""
    portable = PORTABLE.get(name)
    if portable is None:
        raise ValueError(f"unknown table {name!r}")
    fields: list[Any] = [("id", int | UnsetType, UNSET)]
    for column, kind in (portable.columns | portable.marks).items():
        fields.append((column, kind) if column in portable.key else (column, kind | UnsetType, UNSET))
    return msgspec.defstruct(name.replace("/", "_"), fields, kw_only=True, forbid_unknown_fields=True)


def _check_integers(value: Any) -> None:
    """Raise ValueError if an integer has more than 128 bits, or a negative one more than 64."""
    if isinstance(value, int):
        if not INT64_MIN <= value <= UINT128_MAX:
            raise ValueError(f"the integer {value} is too large")
    elif isinstance(value, (tuple, list)):
        for part in value:
            _check_integers(part)
    elif isinstance(value, Struct):
        for field in value.__struct_fields__:
            _check_integers(getattr(value, field))
