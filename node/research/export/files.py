"""Writes the columns of one chunk to a Parquet, CSV or JSON lines file.

The bytes of the file depend only on the columns and on their division into row groups.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

Format = Literal["parquet", "csv", "jsonl"]

ZSTD_LEVEL = 3
# Limits of a row group, which is buffered in memory and later read as a unit.
GROUP_ROWS, GROUP_BYTES = 1 << 16, 8 << 20


class ChunkFile:
    """A file to which rows are added with `add` until `close`. `rows` is its number of rows."""

    def __init__(self, path: Path, schema: Any, form: Format, order: int) -> None:
        """Open a new file, whose rows will be sorted by the first `order` columns."""
        self.path, self.schema, self.rows = path, schema, 0
        self._waiting: list[Any] = []
        self._waiting_rows = self._waiting_bytes = 0
        self._write, self._close = WRITERS[form](path, schema, order)

    def add(self, arrays: list[Any]) -> None:
        """Add rows, given as columns. They are written once there are enough for a row group."""
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        self.rows += batch.num_rows
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += batch.nbytes
        if self._waiting_rows >= GROUP_ROWS or self._waiting_bytes >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._write(pa.Table.from_batches(self._waiting, self.schema))
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0

    def close(self) -> tuple[int, str]:
        """Write the remaining rows and sync the file. Return its size in bytes and its SHA-256 in hex."""
        self._flush()
        self._close()
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
            return os.fstat(file.fileno()).st_size, digest

    def abandon(self) -> None:
        """Close a file that is not needed, without writing the remaining rows."""
        self._close()


Write = Callable[[Any], None]
Close = Callable[[], None]


def parquet(path: Path, schema: Any, order: int) -> tuple[Write, Close]:
    """Return two functions for a Parquet file: one writes a table as a row group, the other closes the file."""
    writer = pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        sorting_columns=[pq.SortingColumn(column) for column in range(order)],
    )
    return lambda table: writer.write_table(table, row_group_size=max(table.num_rows, 1)), writer.close


def csv(path: Path, schema: Any, order: int) -> tuple[Write, Close]:
    """Return the functions that write and close a CSV file (RFC 4180) with a header line. A null is an empty field. Text is quoted if
    necessary.
    """
    writer = pyarrow.csv.CSVWriter(path, schema)
    return writer.write_table, writer.close


def jsonl(path: Path, schema: Any, order: int) -> tuple[Write, Close]:
    """Return the functions that write and close a file with one JSON object per line, without nulls. Times look like 2020-12-01T00:00:00Z,
    decimals are strings, and maps are objects.
    """
    file: BinaryIO = path.open("wb")
    encode = msgspec.json.Encoder(decimal_format="string").encode_lines

    def write(table: Any) -> None:
        for batch in table.to_batches(max_chunksize=1 << 12):
            rows = batch.to_pylist(maps_as_pydicts="strict")
            file.write(encode([{name: value for name, value in row.items() if value is not None} for row in rows]))

    return write, file.close


WRITERS: dict[str, Callable[[Path, Any, int], tuple[Write, Close]]] = {"parquet": parquet, "csv": csv, "jsonl": jsonl}
