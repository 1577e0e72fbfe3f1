"""Texts of errors in queries. A query that reads a view that the export doesn't have gets the option that exports its rows."""

import re
from typing import Any

import duckdb

from node.research.columns.columns import operations_of_chain
from node.research.columns.tables import plugins_for
from node.research.sql.familiar import STEEMSQL
from node.research.sql.views import ALL_ROWS
from node.runtime.errors import NodeError
from node.specs.builder import load_spec

MISSING = re.compile(r"Table with name (\w+) does not exist")


def error_lines(connection: Any, error: duckdb.Error) -> list[str]:
    """Return the lines of an error in a query. The last ones quote the query and mark the place."""
    text = str(error)
    if (found := MISSING.search(text)) and (instead := option_for(connection, found[1])):
        return [instead]
    return [line for line in text.splitlines() if line.strip()]


def option_for(connection: Any, name: str) -> str | None:
    """Return the error for a view that an export of the same chain could have, or None if none has this name."""
    name = STEEMSQL.get(name, (name,))[0]
    try:
        ((chain,),) = connection.execute("SELECT name FROM chain").fetchall()
        spec = load_spec(chain)
        if name in operations_of_chain(spec):
            return f"the export has no operations of the kind {name}. Export the blocks again with --only ...,{name}, or without --only."
        table = name.removesuffix(ALL_ROWS)
        plugins_for(spec, {table})
    except (duckdb.Error, NodeError):  # the user's own view `chain`, another chain spec, or an unknown table
        return None
    return f"the export has no table {table}. Export the blocks again with --tables {table}, or --tables {table}@1d for {table}{ALL_ROWS}."
