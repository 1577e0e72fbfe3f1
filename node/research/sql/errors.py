"""Texts of errors in queries. A query that reads a view that the export doesn't have gets the option that exports its rows."""

import re
from typing import Any

import duckdb

from node.research.sql.views import ALL_ROWS
from node.runtime.errors import NodeError

MISSING = re.compile(r"Table with name (\w+) does not exist")
NOT_FOUND = re.compile(r'Cannot access file "(.*?\.parquet)')


def error_lines(connection: Any, error: duckdb.Error) -> list[str]:
    """Return the lines of an error in a query. The last ones quote the query and mark the place."""
    text = str(error)
    if (found := MISSING.search(text)) and (instead := text_for(connection, found[1])):
        return [instead]
    if (found := NOT_FOUND.search(text)) and found[1] in connection.execute("SELECT current_setting('allowed_paths')").fetchone()[0]:
        return ["a running export has replaced files of this view. Enter .refresh, or outside of the prompt repeat the query."]
    return [line.replace("\t", "    ") for line in text.splitlines() if line.strip()]


def text_for(connection: Any, name: str) -> str | None:
    """Return the error for a view that an export of the same chain could have, or None if none has this name."""
    # These modules take 0.1 s to import.
    from node.research.columns.columns import operations_of_chain
    from node.research.columns.tables import plugins_for
    from node.research.sql.compatibility import STEEMSQL
    from node.specs.builder import load_spec

    theirs = {view.lower(): source for view, (source, _) in STEEMSQL.items()} | {"txtransfers": "transfer"}
    source = theirs.get(name.lower(), name)
    exported = "SELECT 1 FROM duckdb_views() WHERE schema_name = 'main' AND lower(view_name) = lower(?)"
    try:
        ((chain,),) = connection.execute("SELECT name FROM chain").fetchall()
        if connection.execute(exported, [source]).fetchall():
            return None if source == name else f"{name} is a view of the schema steemsql. Write steemsql.{name}."
        spec = load_spec(chain)
        if source in operations_of_chain(spec):
            return (
                f"the export has no operations of the kind {source}. Export the blocks again with --only ...,{source}, or without --only."
            )
        table = source.removesuffix(ALL_ROWS)
        plugins_for(spec, {table})
    except (duckdb.Error, NodeError):  # the user's own view `chain`, another chain spec, or an unknown table
        return None
    return f"the export has no table {table}. Export the blocks again with --tables {table}, or --tables {table}@1d for {table}{ALL_ROWS}."
