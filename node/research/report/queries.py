"""Queries an export for the numbers of a report."""

from calendar import timegm
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from textwrap import dedent
from typing import Any

from msgspec import Struct

from node.research.export.manifest import Manifest
from node.research.report.charts import CHARTS
from node.research.report.declarations import Chart, Series
from node.runtime.errors import NodeError

PERIODS_MAX = 120
WIDTHS = [digit * 10**zeros for zeros in range(9) for digit in (1, 2, 5)]  # blocks
TIME = "Time (UTC)"
KINDS_SHOWN_MIN = 3
KINDS_SHOWN_MAX = 7  # plus one series for the others, since there are eight colours
REST = "others"
FUND = "total_vesting_fund_"

Row = tuple[Any, ...]


class Span(Struct, frozen=True):
    """The blocks that a report covers: the first and the last with their times in seconds since 1970, and the number of blocks per
    period.
    """

    first: int
    last: int
    begin: int
    end: int
    width: int


class ChartData(Struct, frozen=True):
    """A chart with its numbers. `missing` names the data that the chart needs and the export lacks. `query` is the query that was run.
    `times` are the times of the blocks in the first column, in seconds since 1970; None for blocks that the export lacks.
    """

    chart: Chart
    titles: tuple[str, ...] = ()
    rows: list[Row] = []
    series: tuple[Series, ...] = ()
    missing: str = ""
    query: str = ""
    times: list[int | None] = []


def span_of(connection: Any, at: int | None) -> Span:
    """Return the range of blocks that a report covers, up to block `at` or the last. Raises NodeError if the export doesn't contain it."""
    query = "SELECT min(block), max(block), CAST(min(epoch(time)) AS BIGINT), CAST(max(epoch(time)) AS BIGINT) FROM blocks"
    first, last, _, _ = connection.execute(query).fetchone()
    if first is None:
        raise NodeError("the export has no blocks. Export without --only, or include blocks in it.")
    if at is not None and not first <= at <= last:
        raise NodeError(f"--at {at}: expected a block from {first} to {last}")
    first, last, begin, end = connection.execute(f"{query} WHERE block <= {last if at is None else at}").fetchone()
    width = next(width for width in WIDTHS if (last - first) // width < PERIODS_MAX)
    return Span(first, last, begin, end, width)


def facts_of(connection: Any, span: Span) -> list[tuple[str, str]]:
    """Return the summary at the top of a report, as pairs of name and text."""
    blocks, transactions, operations = connection.execute(
        f"SELECT count(*), sum(transactions), sum(operations) FROM blocks WHERE block <= {span.last}"
    ).fetchone()
    chain, chain_id = connection.execute("SELECT name, chain_id FROM chain").fetchone()
    return [
        ("Chain", chain),
        ("Chain id", chain_id),
        ("Blocks", f"{span.first:,} to {span.last:,}: {blocks:,}"),
        ("Time", f"{time_text(span.begin)} to {time_text(span.end)} UTC"),
        ("Transactions", f"{transactions:,}"),
        ("Operations", f"{operations:,}"),
    ]


def time_text(seconds: int) -> str:
    """Format a time, given in seconds since 1970, as text."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def answers(connection: Any, manifest: Manifest, span: Span) -> list[ChartData]:
    """Run the queries of all charts of a report, and return the charts with their numbers."""
    views = {name for (name,) in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()}
    fund = next((name for name in manifest.schema.get("tables/table=global_properties", {}) if is_fund(name)), "")
    return [_answered(connection, each, views, span, fund) for each in CHARTS]


def is_fund(name: str) -> bool:
    """Whether a column contains the vesting fund. The column's name includes the chain's brand."""
    return name.startswith(FUND) and not name.endswith("_symbol")


def _answered(connection: Any, chart: Chart, views: set[str], span: Span, fund: str) -> ChartData:
    absent = [view for view in chart.needs if view not in views]
    if absent:
        return ChartData(chart, missing=", ".join(name.removesuffix("_at") for name in absent))
    query = dedent(chart.query).strip().format(at=span.last, width=span.width, fund=fund)
    # Through Arrow, since DuckDB's own conversion of times with a zone needs another library.
    found = connection.sql(query).to_arrow_table()
    rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    titles, series = chart.titles, chart.series
    if chart.is_spread:
        kinds, rows = spread(rows)
        titles, series = (*titles, *kinds), tuple(Series(kind, (kind,)) for kind in kinds)
    if chart.is_filled and rows:
        rows = filled(rows, span, len(titles))
    times: list[int | None] = []
    if chart.is_by_block:
        times = times_of(connection, [row[0] for row in rows])
        texts = (None if seconds is None else time_text(seconds) for seconds in times)
        titles, rows = (titles[0], TIME, *titles[1:]), [(row[0], text, *row[1:]) for row, text in zip(rows, texts, strict=True)]
    return ChartData(chart, titles, rows, series, query=query, times=times)


def filled(rows: list[Row], span: Span, columns: int) -> list[Row]:
    """Return one row for each period, with zeros for periods that have no row."""
    known = {row[0]: row for row in rows}
    first = (span.first - 1) // span.width * span.width + 1
    return [known.get(period, (period, *(0,) * (columns - 1))) for period in range(first, span.last + 1, span.width)]


def times_of(connection: Any, blocks: list[int]) -> list[int | None]:
    """Return the times of blocks in seconds since 1970. The time of an unknown block is None."""
    numbers = ", ".join(map(str, blocks)) or "0"
    found = connection.execute(f"SELECT block, CAST(epoch(time) AS BIGINT) FROM blocks WHERE block IN ({numbers})").fetchall()
    times = dict(found)
    return [times.get(block) for block in blocks]


def spread(rows: list[Row]) -> tuple[list[str], list[Row]]:
    """Pivot rows of (block, name, count) to one row per block. Return the titles of the new columns and the rows. The columns are the most
    frequent names (`shown_count`), and one column for all other names.
    """
    sums = Counter[str]()
    for _, name, count in rows:
        sums[name] += count
    most = [name for name, _ in sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))]
    shown = most[: shown_count([sums[name] for name in most])]
    titles = shown if len(shown) == len(most) else [*shown, REST]
    by_block: dict[int, Counter[str]] = {}
    for block, name, count in rows:
        by_block.setdefault(block, Counter())[name if name in shown else REST] += count
    return titles, [(block, *(counts[title] for title in titles)) for block, counts in by_block.items()]


def shown_count(counts: list[int]) -> int:
    """Return the number of columns for counts in descending order: the fewest of which each exceeds the sum of all other counts, or
    KINDS_SHOWN_MAX. All counts get a column if only one would be left over.
    """
    if len(counts) <= KINDS_SHOWN_MAX + 1:
        return len(counts)
    fitting = (shown for shown in range(KINDS_SHOWN_MIN, KINDS_SHOWN_MAX) if sum(counts[shown:]) < counts[shown - 1])
    return next(fitting, KINDS_SHOWN_MAX)


def number(value: Any) -> float | int | None:
    """Convert a value to a number for a chart, dates to seconds since 1970. Return None if it has no value."""
    if isinstance(value, date):
        return timegm(value.timetuple())
    return float(value) if isinstance(value, Decimal) else value if isinstance(value, int | float) else None
