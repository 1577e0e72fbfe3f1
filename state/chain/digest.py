"""One hash over all consensus tables. Equal states have equal digests, whatever was done and undone on the way to them."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Any

from msgspec import json

from state.store import Table
from state.tables import State

# How many rows are encoded at once.
ROWS_AT_ONCE = 1000
ENCODER = json.Encoder()


def state_digest(state: State) -> str:
    """Return 64 hex digits over every row of every consensus table, in the order of ids, and over each table's next id.

    The next ids belong to the state: rows that compare equal are ordered by id, so rules can see which ids will be given out.
    """
    total = sha256()
    for name, table in state.tables():
        total.update(f"{name} {table.next_id}\n".encode())
        for lines in table_bytes(table):
            total.update(lines)
    return total.hexdigest()


def table_bytes(table: Table[Any]) -> Iterator[bytes]:
    """The rows of a table, a line for each, in portions: bytes that differ when a field does."""
    rows = iter(table)
    while portion := list(islice(rows, ROWS_AT_ONCE)):
        try:
            yield ENCODER.encode_lines(portion)
        except UnicodeEncodeError:
            yield b"".join([_line(row) for row in portion])


def _line(row: Any) -> bytes:
    try:
        return json.encode(row) + b"\n"
    except UnicodeEncodeError:
        # Texts hold bytes that are not UTF-8 as surrogates, which JSON can't encode.
        return repr(row).encode() + b"\n"
