"""Digest of the state: one hash over all consensus tables. Equal states have equal digests, regardless of their history."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Any

from msgspec import json

from state.store import Table
from state.tables import State

# Rows per encoded portion.
ROWS_AT_ONCE = 1000
ENCODER = json.Encoder()


def state_digest(state: State) -> str:
    """Return the SHA-256 (64 hex digits) of every row of every consensus table, in id order, and of each table's next id.

    The next ids belong to the state, because rows with equal sort keys are ordered by id.
    """
    total = sha256()
    for name, table in state.tables():
        total.update(f"{name} {table.next_id}\n".encode())
        for lines in table_bytes(table):
            total.update(lines)
    return total.hexdigest()


def table_bytes(table: Table[Any]) -> Iterator[bytes]:
    """Yield a table's rows in portions, one line per row. Rows that differ in a field have different lines."""
    rows = table.scan()
    while portion := list(islice(rows, ROWS_AT_ONCE)):
        try:
            yield ENCODER.encode_lines(portion)
        except UnicodeEncodeError:
            yield b"".join([_line(row) for row in portion])


def _line(row: Any) -> bytes:
    try:
        return json.encode(row) + b"\n"
    except UnicodeEncodeError:
        # Bytes that are not UTF-8 are surrogates in strings, which JSON can't encode.
        return repr(row).encode() + b"\n"
