"""SQL queries on an export, for scripts and notebooks."""

from pathlib import Path
from typing import Any

from node.research.errors import as_data_errors
from node.research.library.views import extra


def open_export(folder: str | Path, *, memory: str = "50%", threads: int | None = None) -> Any:
    """Open the folder of an export in DuckDB. Return the connection, which has the views and macros of `coind sql`.

    `open_export(folder).sql(query)` is DuckDB's relation: `.df()` is a pandas DataFrame, `.to_arrow_table()` an Arrow table, `.fetchall()`
    a list of tuples (times then need the package pytz). `memory` and `threads` are as in `coind sql`. Needs duckdb and pyarrow. Raises
    DataError, and MissingLibrary.
    """
    for module in ("duckdb", "pyarrow"):
        extra(module, "a query in SQL")
    from node.research.sql import connection

    with as_data_errors():
        return connection.open_export(Path(folder), memory=memory, threads=threads)
