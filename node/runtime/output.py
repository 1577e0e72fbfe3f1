"""Prints lines, pairs and tables for people, and JSON for programs. On a terminal it uses rich, elsewhere it prints aligned text.

The values come from a chain and are untrusted: control characters are escaped, and markup is not interpreted.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from node.runtime.errors import on_one_line

GAP = "  "
RIGHT = ">"
WHOLE = "="


def write_json(value: Any) -> None:
    """Print a value as ASCII-only JSON, which any program can read."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def write_pairs(pairs: Iterable[tuple[str, object]], title: str = "") -> None:
    """Print pairs of a name and a value, one per line. If a value has several lines, all but the first are indented."""
    shown = [(name, clean_lines(str(value))) for name, value in pairs]
    if not sys.stdout.isatty():
        width = max((len(name) for name, _ in shown), default=0)
        plain_title(title)
        for name, lines in shown:
            for index, line in enumerate(lines):
                say_line(f"{name if index == 0 else '':<{width}}{GAP}{line}")
        return
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, lines in shown:
        grid.add_row(Text(name), Text("\n".join(lines)))
    print_rich(title, grid)


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "", empty: str = "none") -> None:
    """Print a table, or `empty` if there are no rows.

    The first character of a column's name can set its format: `>` aligns the column right, for numbers; `=` never wraps its values, so that
    they can be copied.
    """
    names = [column.removeprefix(RIGHT).removeprefix(WHOLE) for column in columns]
    shown = [[on_one_line(str(cell)) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        plain_title(title)
        plain_table(columns, names, shown, empty)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for column, name in zip(columns, names, strict=True):
        justify: Literal["right", "left"] = "right" if column.startswith(RIGHT) else "left"
        table.add_column(Text(name), justify=justify, overflow="fold", no_wrap=column.startswith(WHOLE))
    for row in shown:
        table.add_row(*map(Text, row))
    print_rich(title, table if shown else Text(empty, style="dim"))


def say(text: str) -> None:
    """Print a string as one line on stdout, with control characters escaped."""
    say_line(on_one_line(text))


def clean_lines(text: str) -> list[str]:
    """Return the lines of a string, with control characters escaped."""
    return [on_one_line(line.expandtabs(4)) for line in text.splitlines()] or [""]


def say_line(line: str) -> None:
    """Print a line that contains no control characters. Characters that stdout's encoding lacks are escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(line.rstrip().encode(encoding, "backslashreplace").decode(encoding) + "\n")


def plain_title(title: str) -> None:
    """Print the title of a plain table."""
    if title:
        say_line(on_one_line(title))


def plain_table(columns: Sequence[str], names: list[str], rows: list[list[str]], empty: str) -> None:
    """Print a table as aligned text, without truncation."""
    if not rows:
        say_line(empty)
        return
    widths = [max(len(cell) for cell in cells) for cells in zip(names, *rows, strict=True)]
    for row in [names, *rows]:
        cells = [
            cell.rjust(width) if column.startswith(RIGHT) else cell.ljust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        ]
        say_line(GAP.join(cells))


def print_rich(title: str, shown: Any) -> None:
    """Print a rich renderable at the terminal's width. Rich respects NO_COLOR and TERM by itself."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    if title:
        console.print(Text(on_one_line(title), style="bold cyan"))
    console.print(shown)
