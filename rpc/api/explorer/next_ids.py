"""The ids of new rows, which a complete copy of the chain needs: the ids of rows that have been removed since aren't used again."""

from typing import TypedDict

from rpc.declare.arguments import UInt32
from rpc.declare.method import method
from state.tables import State


class NextId(TypedDict):
    """A table, and the record id of its next new row."""

    table: str
    next_id: UInt32


@method("explorer_api.get_next_ids")
def get_next_ids(state: State, /) -> list[NextId]:
    """Return the record id that the next new row of each table gets. The id of a new proposal is its record id."""
    return [{"table": name, "next_id": table.next_id} for name, table in state.tables()]
