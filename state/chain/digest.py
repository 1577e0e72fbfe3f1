"""One hash over all consensus tables: the same for the same state, however it was reached."""

from hashlib import sha256

from msgspec import json

from state.store import Row
from state.tables import State


def state_digest(state: State) -> str:
    """64 hex digits over every row of every consensus table, in the order of their ids, and the ids that come next."""
    total = sha256()
    for name, table in state.tables():
        total.update(f"{name} {table.next_id}\n".encode())
        for row in table:
            total.update(row_bytes(row))
            total.update(b"\n")
    return total.hexdigest()


def row_bytes(row: Row) -> bytes:
    """The fields of a row in a form that differs when one of them does."""
    try:
        return json.encode(row)
    except UnicodeEncodeError:
        # Text that holds bytes which are no UTF-8.
        return repr(row).encode()
