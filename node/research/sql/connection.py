"""Opens an export in a sandboxed DuckDB, which can only read the export's files and can't write any file."""

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

MEMORY = "50%"  # of the machine's memory
SETTING = re.compile(r"\d+(\.\d+)?\s*(%|[KMGT]i?B)", re.IGNORECASE)
# Statements that only affect the memory of the session. DuckDB rewrites PIVOT to MULTI.
ALLOWED = {
    "SELECT", "CREATE", "CREATE_FUNC", "DROP", "INSERT", "UPDATE", "DELETE", "ALTER", "TRANSACTION", "ANALYZE", "PRAGMA", "MULTI",
}  # fmt: skip
EXPLAIN = re.compile(r"\s*explain\s*(analyze\b|\([^)]*\))?", re.IGNORECASE)


def open_export(
    folder: Path, *, memory: str = MEMORY, threads: int | None = None, temporary: Path | None = None, is_compatible: bool = True
) -> Any:
    """Return a connection to an in-memory DuckDB that has the views and macros of an export. Raises NodeError.

    If a query needs more than `memory`, DuckDB spills data to the folder `temporary`. Without that folder, the query fails. Without
    `is_compatible`, the schemas `steemsql` and `hive` are missing, and the export opens in half of the time.
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
        if is_compatible:
            from node.research.sql.compatibility import compatible_schemas

            for statement in compatible_schemas(manifest, found):
                connection.execute(statement)
        connection.execute("COMMIT")
    except duckdb.Error as error:
        connection.close()
        # An export that runs at the same time has replaced the files of its last range.
        if read_manifest(folder) != manifest:
            return open_export(folder, memory=memory, threads=threads, temporary=temporary, is_compatible=is_compatible)
        raise NodeError(f"{folder} doesn't match its {NAME}: {first_line(error)}. Run its export again.") from None
    close_in(connection, [str(folder / path) for source in found for path in source.paths])
    return connection


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an export. Raises NodeError if SQL can't read the export."""
    manifest = load(folder, SystemDisk())
    if manifest is None:
        raise NodeError(f"{folder} has no {NAME}. Give the folder of an export, made by bin/coind export.")
    if manifest.format != FORMAT:
        raise NodeError(f"{folder} was exported in format {manifest.format}, but this version reads {FORMAT}. Export it again.")
    if manifest.options.format != "parquet":
        raise NodeError(f"{folder} has {manifest.options.format} files, but SQL needs Parquet. Export it without --format.")
    return manifest


def require_inside(folder: Path, found: Iterable[Source]) -> None:
    """Raise NodeError if one of the files is a symbolic link to a path outside of the export's folder, or not an ordinary file."""
    for path in {path for source in found for path in source.paths}:
        try:
            is_inside = (folder / path).resolve().is_relative_to(folder)
            is_special = (folder / path).exists() and not (folder / path).is_file()
        except (OSError, RuntimeError) as error:  # RuntimeError: a cycle of links
            raise NodeError(f"{folder / path}: {error}") from None
        if is_special:  # For example a pipe, from which a read would wait.
            raise NodeError(f"{folder / path} is not an ordinary file. Export it again.")
        if not is_inside:
            raise NodeError(f"{folder / path} is a link to {(folder / path).resolve()}, outside of the export. Replace it with the file.")


def close_in(connection: Any, paths: list[str]) -> None:
    """Restrict a connection to reading these files, and lock its configuration."""
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    connection.execute(f"SET allowed_paths = [{listed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def statements(connection: Any, text: str) -> list[Any]:
    """Parse the SQL statements in a string. Raises duckdb.Error for invalid syntax, and NodeError for a statement that isn't allowed."""
    found = connection.extract_statements(text)
    for statement in found:
        require_harmless(connection, statement)
    return list(found)


def require_harmless(connection: Any, statement: Any) -> None:
    """Raise NodeError for a statement that could write a file."""
    try:
        kind = statement.type.name
    except ValueError:  # DuckDB's Python package names no kind for some statements, for example UPDATE EXTENSIONS.
        kind = "This statement"
    if kind == "EXPLAIN":
        inner = connection.extract_statements(statement.query[EXPLAIN.match(statement.query).end() :])  # type: ignore[union-attr]
        if all(each.type.name == "SELECT" for each in inner):
            return
    if kind not in ALLOWED:
        raise NodeError(f"{kind} is not allowed, since the export is read-only. To save results, use --csv or --json.")


def limit_of(memory: str) -> str:
    """Return a memory limit in DuckDB's syntax if it is valid. Raises NodeError."""
    if not SETTING.fullmatch(memory.strip()):
        raise NodeError(f"--memory {memory!r} is not an amount of memory. Expected, for example, 4GB, 500MB or 50%.")
    return memory.strip()


def first_line(error: Exception) -> str:
    """Return the message of a DuckDB error without the lines that quote the query."""
    return str(error).partition("\n")[0]
