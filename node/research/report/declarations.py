"""The types with which the charts of a report are declared, and queries that several charts share."""

from typing import Literal

from msgspec import Struct

Kind = Literal["line", "area", "steps-line", "steps", "bars", "candles"]


class Series(Struct, frozen=True):
    """A series of a chart: its label, its column (for candles the first of four), its kind and its axis."""

    label: str
    columns: tuple[str, ...]
    kind: Kind = "line"
    scale: Literal["y", "right"] = "y"


class Chart(Struct, frozen=True, kw_only=True):
    """A section of a report. `needs` are the views that its query reads. The first column of `query` is the x axis.

    In the query, `{at}` is replaced by the last block, `{width}` by the number of blocks per period, and `{fund}` by the column of the
    vesting fund. `titles` are the column headings. Without `series`, the section is only a table. `is_by_block` means that the first column
    contains block numbers, so a column with their times is added. `is_by_day` means that it contains dates. `is_filled` adds rows of zeros
    for periods without a row. `is_spread` pivots the table: each value of the second column becomes a column, filled with values of the
    third. `step` is the width of a bar. `heading` is the heading of the part of the report that begins with this section.
    """

    key: str
    title: str
    text: str
    needs: tuple[str, ...]
    query: str
    titles: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()
    is_by_block: bool = False
    is_by_day: bool = False
    is_filled: bool = False
    is_spread: bool = False
    x_label: str = "Block"
    step: int = 1
    unit: str = ""
    heading: str = ""


# Actions of accounts, with the first required signer.
ACTS = """
    SELECT block, time, voter AS account FROM vote
    UNION ALL SELECT block, time, author FROM comment
    UNION ALL SELECT block, time, "from" FROM transfer
    UNION ALL SELECT block, time, owner FROM limit_order_create
"""
TRADES = """
    SELECT block, time, row_number() OVER (ORDER BY block, trx, op, virtual_op) AS place,
           CASE WHEN current_pays_symbol = chain.coin THEN current_pays ELSE open_pays END AS coin_paid,
           CASE WHEN current_pays_symbol = chain.coin THEN open_pays ELSE current_pays END AS sbd_paid
    FROM fill_order JOIN chain ON current_pays_symbol IN (chain.coin, chain.sbd) AND open_pays_symbol IN (chain.coin, chain.sbd)
    WHERE block <= {at}
"""
