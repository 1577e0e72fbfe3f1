"""The names of the tables of a state, and of the fields of their rows, for exports, questions and scripts. It knows no Arrow."""

from typing import Any

from state.chain.changes import tables_of
from state.protocol.spec import ChainSpec
from state.store import Table
from state.tables import State

# Names for tables whose own would say too little.
NAMES = {"market_history/buckets": "market_buckets"}
HELPER = "/_"  # a plugin's own helper, or the table of another one


def table_name(name: str) -> str:
    """Return the name of a table by the one that `tables_of` gives it: that of a plugin in front, as `follow_follows`."""
    return NAMES.get(name, name.replace("/", "_"))


def names_of(state: State) -> dict[str, Table[Any]]:
    """Return the tables of a state by their names."""
    return {table_name(name): table for name, table in tables_of(state) if HELPER not in name}


def field_name(spec: ChainSpec, name: str) -> str:
    """Return the name of a field of a row as the chain's clients know it: `total_vesting_fund_steem`, and `from`."""
    return spec.spell(name.rstrip("_"))
