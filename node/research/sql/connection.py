"""Opens an export in DuckDB, closed in: its files can be read and nothing else, and no file can be written."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from node.research.export.manifest import FORMAT, NAME, Manifest, load
from node.research.sql.macros import MACROS, macro
from node.research.sql.views import Source, derived, quoted, sources, view
from node.runtime.errors import NodeError
from node.storage.disk import SystemDisk

MEMORY = "50%"  # of what the machine has
SETTING = re.compile(r"\d+(\.\d+)?\s*(%|[KMGT]i?B)", re.IGNORECASE)
# Statements that stay in the memory of the session. MULTI is what PIVOT becomes.
ALLOWED = {
    "SELECT", "CREATE", "CREATE_FUNC", "DROP", "INSERT", "UPDATE", "DELETE", "ALTER", "TRANSACTION", "ANALYZE", "PRAGMA", "MULTI",
}  # fmt: skip
EXPLAIN = re.compile(r"\s*explain\s*(analyze\b|\([^)]*\))?", re.IGNORECASE)


def open_export(folder: Path, *, memory: str = MEMORY, threads: int | None = None, temporary: Path | None = None) -> Any:
    """Return a connection to a DuckDB in memory, with the views and macros of an export. Raises NodeError.

    What doesn't fit into `memory` goes into the folder `temporary`; without one, the query fails.
    """
    manifest = read_manifest(folder)
    found = list(sources(manifest))
    folder = folder.resolve()
    require_inside(folder, found)
    connection = duckdb.connect(":memory:", config={"threads": threads or os.cpu_count() or 1, "memory_limit": limit_of(memory)})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET temp_directory = '{'' if temporary is None else temporary}'")
    try:
        connection.execute("BEGIN")
        for source in found:
            connection.execute(view(source, folder))
        for name, query in derived(manifest, found):
            connection.execute(f"CREATE VIEW {quoted(name)} AS {query}")
        for each in MACROS:
            connection.execute(macro(each))
        connection.execute("COMMIT")
    except duckdb.Error as error:
        raise NodeError(f"{folder} can't be read as its {NAME} says: {first_line(error)}; run its export once more") from None
    close_in(connection, [str(folder / path) for source in found for path in source.paths])
    return connection


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an export that SQL can read. Raises NodeError."""
    manifest = load(folder, SystemDisk())
    if manifest is None:
        raise NodeError(f"{folder} has no {NAME}; name the folder of an export, which bin/coind export makes")
    if manifest.format != FORMAT:
        raise NodeError(f"{folder} was exported in format {manifest.format}, and this program reads {FORMAT}; export it again")
    if manifest.options.format != "parquet":
        raise NodeError(f"{folder} holds {manifest.options.format} files; questions need Parquet: export without --format")
    return manifest


def require_inside(folder: Path, found: Iterable[Source]) -> None:
    """Refuse files that are links to places outside of the export's folder."""
    for path in {path for source in found for path in source.paths}:
        try:
            is_inside = (folder / path).resolve().is_relative_to(folder)
        except (OSError, RuntimeError) as error:  # links in a circle
            raise NodeError(f"{folder / path}: {error}") from None
        if not is_inside:
            raise NodeError(f"{folder / path} is a link to {(folder / path).resolve()}, outside of the export; put the file itself there")


def close_in(connection: Any, paths: list[str]) -> None:
    """Let a connection read these files and no other, and keep it from changing that."""
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    connection.execute(f"SET allowed_paths = [{listed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def statements(connection: Any, text: str) -> list[Any]:
    """Return the statements of a text. Raises duckdb.Error for what can't be parsed, NodeError for what isn't done here."""
    found = connection.extract_statements(text)
    for statement in found:
        require_harmless(connection, statement)
    return list(found)


def require_harmless(connection: Any, statement: Any) -> None:
    """Refuse a statement that could write a file: an export is only read."""
    kind = statement.type.name
    if kind == "EXPLAIN":
        inner = connection.extract_statements(statement.query[EXPLAIN.match(statement.query).end() :])  # type: ignore[union-attr]
        if all(each.type.name == "SELECT" for each in inner):
            return
    if kind not in ALLOWED:
        raise NodeError(f"{kind} isn't done here: questions only read; for files of what they answer use --csv or --json")


def limit_of(memory: str) -> str:
    """Return a limit of memory as DuckDB takes it. Raises NodeError."""
    if not SETTING.fullmatch(memory.strip()):
        raise NodeError(f"--memory {memory!r} is no amount of memory; expected one like 4GB, 500MB or 50%")
    return memory.strip()


def first_line(error: Exception) -> str:
    """Return what an error of DuckDB says, without the query that it shows."""
    return str(error).partition("\n")[0]
