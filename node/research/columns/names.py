"""Public names of a state's tables and of their fields, as used in exports, queries and scripts."""

from typing import Any

from state.chain.changes import tables_of
from state.plugins.registry import PLUGINS
from state.protocol.spec import ChainSpec
from state.store import Table
from state.tables import State

# Names for tables whose own names are ambiguous.
NAMES = {"market_history/buckets": "market_buckets"}
SUMMARIES = "account_summaries"  # a derived table, which a state doesn't have
HELPER = "/_"  # a plugin's helper, or a reference to another plugin's table


def table_name(name: str) -> str:
    """Return the public name of a table, given its name in `tables_of`. A plugin's table gets the plugin's name as prefix, for example
    `follow_follows`.
    """
    return NAMES.get(name, name.replace("/", "_"))


def names_of(state: State) -> dict[str, Table[Any]]:
    """Return the tables of a state, keyed by their public names."""
    return {table_name(name): table for name, table in tables_of(state) if HELPER not in name}


def plugin_of(name: str) -> str | None:
    """Return the plugin to which the table with a public name belongs, by the prefix of the name, or None."""
    own = next((own for own, public in NAMES.items() if public == name), name).replace("/", "_")
    return next((plugin for plugin in PLUGINS if own.startswith(f"{plugin}_")), None)


def field_name(spec: ChainSpec, name: str) -> str:
    """Return the public name of a field. It has the chain's spelling, for example `total_vesting_fund_steem`, and no trailing underscore
    (`from` for `from_`).
    """
    return spec.spell(name.rstrip("_"))
