"""Rows of a table after many blocks of a chain, computed in one pass, for scripts and notebooks."""

import importlib
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from node.research.errors import DataError, MissingLibrary, NotThere, as_data_errors
from node.research.library.blocks import chosen_chain
from node.research.library.cursor import DataCursor
from node.research.library.views import extra, frame_of
from node.runtime.suggestions import alternatives
from state.protocol.spec import ChainSpec

AT, TIME = "at_block", "time"


class Series:
    """The rows of a table after many blocks, as returned by `series`. The columns `at_block` and `time` contain the block of a row."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def arrow(self) -> Any:
        """Return the rows as an Arrow table, ordered by block and id."""
        return self._table

    def frame(self) -> Any:
        """Return the rows as a pandas DataFrame, with nullable integers as Int64. Needs pandas. Raises MissingLibrary."""
        return frame_of(self._table)

    def polars(self) -> Any:
        """Return the rows as a polars DataFrame. Needs polars, which is not in the extra `data`. Raises MissingLibrary."""
        try:
            return importlib.import_module("polars").from_arrow(self._table)
        except ModuleNotFoundError:
            raise MissingLibrary("a polars DataFrame needs polars. Install it with: pip install polars") from None

    def __repr__(self) -> str:
        return f"<series, {self._table.num_rows} rows, columns {', '.join(self._table.column_names)}>"


def series(
    path: str | Path,
    table: str = "account_summaries",
    every: int | str | None = "1d",
    chain: str | Path | ChainSpec | None = None,
    *,
    accounts: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    first: int = 1,
    last: int | None = None,
    is_checked: bool = False,
) -> Series:
    """Return the rows of a table after many blocks up to `last`, computed in one pass over the blocks.

    `every` is a time ("1d", "6h", "30min") or a number of blocks. The rows are those after the first block at or after each multiple of
    that time, or after each multiple of that number. If `every` is None, they are those after the last block. Earlier blocks than `first`
    are applied without reading rows. `table` is the name of a table of an export. `accounts` chooses the rows of some accounts, `columns`
    some columns. `path`, `chain` and `is_checked` are as in `chain_at`. Needs pyarrow. Raises the errors of `chain_at`, NotThere for an
    unknown column, and MissingLibrary.
    """
    arrow = extra("pyarrow", "a series")
    from node.research.columns.columns import INT64, MILLISECONDS
    from node.research.columns.columns import TIME as TIMESTAMP
    from node.research.columns.schedule import is_due, period
    from node.research.columns.tables import plugins_for, rows_of

    blocks, seconds = (every, 0) if isinstance(every, int) else (0, (period(every) or 0) if isinstance(every, str) else 0)
    if blocks <= 0 and not seconds and every is not None:
        raise DataError(f'every={every!r} is not an interval. Expected a number of blocks, or a time such as "1d", "6h" or "30min".')
    spec = chosen_chain(Path(path), chain)
    with as_data_errors():
        plugins = plugins_for(spec, {table})
    latest = last if every is None else first - 1
    cursor = DataCursor(Path(path), spec, plugins, latest=latest, is_checked=is_checked, has_all=False)
    props = cursor.chain.state.props
    chosen = None if accounts is None else {accounts} if isinstance(accounts, str) else set(accounts)
    rows = rows_of(cursor.chain.state, table, accounts=chosen)
    names = list(rows.schema.names if columns is None else columns)
    if unknown := [name for name in names if name not in rows.schema.names]:
        raise NotThere(f"{table} has no column {unknown[0]}; {alternatives(unknown[0], rows.schema.names)}")
    places = [rows.schema.get_field_index(name) for name in names]
    schema = arrow.schema([(AT, INT64), (TIME, TIMESTAMP), *(rows.schema.field(place) for place in places)])

    def rows_at_head() -> Iterator[Any]:
        at = (arrow.scalar(props.head_block_number, INT64), arrow.scalar(props.time * MILLISECONDS, TIMESTAMP))
        for arrays in rows.arrays():
            shared = [arrow.repeat(value, len(arrays[0])) for value in at]
            yield arrow.RecordBatch.from_arrays([*shared, *(arrays[place] for place in places)], schema=schema)

    def batches() -> Iterator[Any]:
        cursor.lead_to(first - 1)
        for block in takewhile(lambda block: last is None or block.number <= last, cursor.blocks()):
            before = props.time if props.head_block_number else 0
            cursor.apply(block)
            if is_due(blocks, seconds, block.number, block.timestamp, before):
                yield from rows_at_head()
        if every is None:
            yield from rows_at_head()

    try:
        return Series(arrow.Table.from_batches(batches(), schema))
    finally:
        cursor.close()
