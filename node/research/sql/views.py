"""Views of an export: one for each kind of operation, for the blocks and for each table, even without rows.

| view | rows |
|---|---|
| `transfer`, `vote`, ... | the operations of this kind |
| `operations` | all operations: `kind` and the common columns |
| `blocks` | the blocks |
| `accounts`, ... | the rows of a table after the last block for which they were exported |
| `accounts_at`, ... | the rows after every block for which they were exported, with its number as `at_block` |
| `chain` | one row: name, id, names of the symbols, first and last block |
| `vesting_prices` | prices of VESTS: `coin` for `vests` after `at_block` |
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from node.research.export.manifest import Manifest
from node.research.sql.types import DUCKDB, Dialect, sql_type

OPERATIONS, TABLES = "operations/kind=", "tables/table="
SHARED = ("block", "trx", "op", "virtual_op", "time", "trx_id")
FOLDER_AT, AT = "at", "at_block"
ALL_ROWS = "_at"
PRICE_TABLE = "global_properties"


class Source(Struct, frozen=True):
    """What a view is made of: its columns with their types in the manifest, and its files, relative to the export's folder."""

    name: str
    columns: dict[str, str]
    paths: tuple[str, ...]
    has_at: bool = False


def sources(manifest: Manifest) -> Iterator[Source]:
    """Yield the sources of all views that read files."""
    paths: dict[str, list[str]] = {folder: [] for folder in manifest.schema}
    for each in manifest.ranges:
        for chunk in each.chunks:
            paths[chunk.dataset].append(chunk.path)
    for folder, columns in manifest.schema.items():
        name = folder.removeprefix(OPERATIONS).removeprefix(TABLES)
        if not folder.startswith(TABLES):
            yield Source(name, columns, tuple(paths[folder]))
            continue
        by_block = sorted(paths[folder], key=block_of)
        newest = [path for path in by_block if block_of(path) == block_of(by_block[-1])]
        yield Source(name, columns, tuple(newest))
        yield Source(name + ALL_ROWS, columns, tuple(by_block), has_at=True)


def block_of(path: str) -> int:
    """Return the number of the block whose state a chunk of a table contains. It is part of the chunk's path."""
    return int(path.rsplit("/", 2)[1].removeprefix(f"{FOLDER_AT}="))


def view(source: Source, folder: Path) -> str:
    """Return the DuckDB statement that creates the view of a source."""
    if not source.paths:
        return f"CREATE VIEW {quoted(source.name)} AS {without_rows(source, DUCKDB)}"
    files = ", ".join(text(str(folder / path)) for path in source.paths)
    options = f"hive_partitioning = true, hive_types = {{'{FOLDER_AT}': BIGINT}}" if source.has_at else "hive_partitioning = false"
    return f"CREATE VIEW {quoted(source.name)} AS SELECT {columns_of(source)} FROM read_parquet([{files}], {options})"


def columns_of(source: Source) -> str:
    """Return the select list of a view that reads files. The number in the folder name `at=...` becomes a column."""
    return ", ".join([*([f"{quoted(FOLDER_AT)} AS {AT}"] if source.has_at else []), *map(quoted, source.columns)])


def without_rows(source: Source, dialect: Dialect) -> str:
    """Return a query that has the columns of a source but no rows."""
    typed = {**({AT: "int64"} if source.has_at else {}), **source.columns}
    columns = ", ".join(f"CAST(NULL AS {sql_type(of, dialect)}) AS {quoted(name)}" for name, of in typed.items())
    return f"SELECT {columns} WHERE false"


def derived(manifest: Manifest, found: list[Source]) -> Iterator[tuple[str, str]]:
    """Yield the names and queries of the views that are built on other views. The queries use SQL that DuckDB and Spark understand."""
    chain, ranges = manifest.chain, manifest.ranges
    first, last = (ranges[0].first, ranges[-1].last) if ranges else (0, 0)
    facts = {
        "name": text(chain.name),
        "chain_id": text(chain.chain_id),
        **{symbol.lower(): text(letters) for symbol, letters in chain.symbols.items()},
        "first_block": f"CAST({first} AS BIGINT)",
        "last_block": f"CAST({last} AS BIGINT)",
    }
    yield "chain", f"SELECT {', '.join(f'{value} AS {name}' for name, value in facts.items())}"
    by_name = {source.name: source for source in found}
    kinds = [name for name, source in by_name.items() if source.paths and "virtual_op" in source.columns]
    shared = ", ".join(SHARED)
    if kinds:
        yield "operations", " UNION ALL ".join(f"SELECT {text(kind)} AS kind, {shared} FROM {quoted(kind)}" for kind in kinds)
    yield "vesting_prices", vesting_prices(by_name)


def vesting_prices(by_name: dict[str, Source]) -> str:
    """Return the query for the prices of VESTS. It reads exported global properties or, without them, payouts of power-downs."""
    if properties := by_name.get(PRICE_TABLE):
        funds = [name for name in properties.columns if name.startswith("total_vesting_fund_") and not name.endswith("_symbol")]
        coin = funds[0] if funds else "total_vesting_fund"  # which the view doesn't have either
        return f"SELECT {AT}, {coin} AS coin, total_vesting_shares AS vests FROM {PRICE_TABLE}{ALL_ROWS} WHERE total_vesting_shares > 0"
    if "fill_vesting_withdraw" in by_name:
        return (
            f"SELECT block AS {AT}, max(deposited) AS coin, max_by(withdrawn, deposited) AS vests FROM fill_vesting_withdraw"
            " WHERE deposited > 0 AND deposited_symbol = (SELECT coin FROM chain) GROUP BY block"
        )
    return f"SELECT CAST(NULL AS BIGINT) AS {AT}, CAST(NULL AS BIGINT) AS coin, CAST(NULL AS BIGINT) AS vests WHERE false"


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return a string as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"
