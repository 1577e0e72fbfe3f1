"""One hash over all consensus tables. Equal states have equal digests, whatever was done and undone on the way to them."""

from hashlib import sha256

from msgspec import json

from state.store import Row
from state.tables import State


def state_digest(state: State) -> str:
    """Return 64 hex digits over every row of every consensus table, in the order of ids, and over each table's next id.

    The next ids belong to the state: rows that compare equal are ordered by id, so rules can see which ids will be given out.
    """
    total = sha256()
    for name, table in state.tables():
        total.update(f"{name} {table.next_id}\n".encode())
        for row in table:
            total.update(row_bytes(row))
            total.update(b"\n")
    return total.hexdigest()


def row_bytes(row: Row) -> bytes:
    """Return the fields of a row as bytes that differ when a field does."""
    try:
        return json.encode(row)
    except UnicodeEncodeError:
        # Texts hold bytes that are not UTF-8 as surrogates, which JSON can't encode.
        return repr(row).encode()
