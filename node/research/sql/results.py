"""Prints query results: as a table on a terminal, as aligned text elsewhere, or as CSV or JSON."""

import csv
import json
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal

from pyarrow import MonthDayNano

from node.runtime.output import WHOLE, say, write_table

Form = Literal["table", "csv", "json"]
BATCH_ROWS = 2048
ROWS_MAX = 1000
NUMBERS = ("int", "uint", "decimal", "double", "float")


def write_answer(reader: Any, form: Form, rows_max: int = ROWS_MAX) -> None:
    """Print the rows of an Arrow reader. A table has at most `rows_max` rows (0: all). If there are more, a last line says so."""
    names = list(reader.schema.names)
    rows = rows_of(reader)
    if form == "json":
        write_json_rows(names, rows)
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([cell(value) for value in row] for row in rows)
    else:
        write_rows(reader.schema, rows, rows_max)


def rows_of(reader: Any) -> Iterator[Any]:
    """Yield the rows of an Arrow reader as tuples."""
    for batch in reader:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def write_rows(schema: Any, rows: Iterator[Any], rows_max: int) -> None:
    """Print up to `rows_max` rows as a table (0: all)."""
    columns = [f"{'>' if str(field.type).startswith(NUMBERS) else WHOLE}{field.name}" for field in schema]
    shown: list[list[str]] = []
    for row in rows:
        if rows_max and len(shown) == rows_max:
            write_table(columns, shown)
            say(f"the first {rows_max:,} rows (all rows: --rows 0, --csv or --json)")
            return
        shown.append([cell(value) for value in row])
    write_table(columns, shown, empty="no rows")


def write_json_rows(names: list[str], rows: Iterator[Any]) -> None:
    """Print rows as a JSON array of objects, with one object per line. Decimals become strings."""
    separator = "[\n"
    for row in rows:
        sys.stdout.write(separator + json.dumps(dict(zip(names, map(plain, row), strict=True))))
        separator = ",\n"
    sys.stdout.write("[]\n" if separator == "[\n" else "\n]\n")


def cell(value: Any) -> str:
    """Format a value as text. A null is empty; lists, maps and structs are JSON."""
    value = plain(value)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Convert a value for JSON. Times, intervals, and decimals with a fraction, become strings."""
    match value:
        case MonthDayNano():
            return interval_text(value)
        case Decimal():
            return int(value) if value.as_tuple().exponent == 0 else f"{value:f}"
        case datetime():
            return (value.astimezone(UTC) if value.tzinfo else value).strftime("%Y-%m-%dT%H:%M:%S")
        case date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case list() | tuple():
            return [plain(each) for each in value]
        case dict():
            return {str(name): plain(each) for name, each in value.items()}
    return value


def interval_text(value: MonthDayNano) -> str:
    """Format an INTERVAL as DuckDB does, for example `1 month 2 days 00:00:33`."""
    years, months = divmod(abs(value.months), 12)
    sign = -1 if value.months < 0 else 1
    counts = ((sign * years, "year"), (sign * months, "month"), (value.days, "day"))
    parts = [f"{count} {unit}{'' if abs(count) == 1 else 's'}" for count, unit in counts if count]
    seconds, rest = divmod(abs(value.nanoseconds) // 1000, 1_000_000)
    if value.nanoseconds or not parts:
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        parts.append(("-" if value.nanoseconds < 0 else "") + clock + (f".{rest:06}".rstrip("0") if rest else ""))
    return " ".join(parts)
