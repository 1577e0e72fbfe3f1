"""Digest of the state: one hash over all consensus tables. Equal states have equal digests, regardless of their history."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any

from msgspec import json

from state.store import Table
from state.tables import State

# Rows per encoded portion.
ROWS_AT_ONCE = 1000
# Ids in a portion of a table that is larger. Portions can be encoded in several processes.
ROWS_PER_PORTION = 50_000
ENCODER = json.Encoder()

Compute = Callable[[Sequence[Iterator[bytes]]], Iterator[Iterator[bytes]]]
"""Yields for each iterator an iterator of the same bytes, which can be computed elsewhere. `iter` computes them here."""


def state_digest(state: State, compute: Compute = iter) -> str:
    """Return the SHA-256 (64 hex digits) of every row of every consensus table, in id order, and of each table's next id.

    The next ids belong to the state, because rows with equal sort keys are ordered by id.
    """
    total = sha256()
    for portion in compute([portion for name, table in state.tables() for portion in table_portions(name, table)]):
        for lines in portion:
            total.update(lines)
    return total.hexdigest()


def table_portions(name: str, table: Table[Any]) -> Iterator[Iterator[bytes]]:
    """Yield the portions of the digested bytes of a table. Each touches only some rows of a large table, and only when it is read."""
    yield iter([f"{name} {table.next_id}\n".encode()])
    if len(table) <= ROWS_PER_PORTION:
        yield table_bytes(table)
        return
    for begin in range(0, table.next_id, ROWS_PER_PORTION):
        yield table_bytes(table, begin, begin + ROWS_PER_PORTION)


def table_bytes(table: Table[Any], begin: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield a table's rows in portions, one line per row. Rows that differ in a field have different lines.

    With `begin` and `end`, yield only the rows with ids from `begin` to below `end`.
    """
    rows = table.scan() if end is None else table.rows_between(begin, end)
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
