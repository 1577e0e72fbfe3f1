"""Generates the tables on handwritten pages. A table is between the markers `<!-- generated: NAME -->` and `<!-- end -->`."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bin.docs.commands import command_table
from bin.docs.forks import hidden_columns
from bin.docs.options import all_options, group_table
from bin.docs.specs import constants_table, spec_table
from node.cli.run_options import GROUP_NAMES

DOCS = Path(__file__).resolve().parents[2] / "docs"
PLACE = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
FILES = ("chain", "blocks", "following", "data", "access", "output", "checks")

# The functions that generate the tables, by name.
MAKERS: dict[str, Callable[[], str]] = {
    "all options": partial(all_options, dict(zip(GROUP_NAMES, FILES, strict=True))),
    **{f"options of {group}": partial(group_table, group) for group in GROUP_NAMES},
    "keys of a spec": spec_table,
    "constants": constants_table,
    "commands": command_table,
    "hidden columns": hidden_columns,
}


class MarkerError(Exception):
    """Raised if a marker has an unknown name, or a table has no marker."""


def pages() -> dict[Path, str]:
    """Return the generated text of every page with markers. Raises MarkerError."""
    made: dict[Path, str] = {}
    used: set[str] = set()

    def fill(found: re.Match[str]) -> str:
        if found[2] not in MAKERS:
            raise MarkerError(f"unknown table {found[2]!r}. The tables are {', '.join(MAKERS)}.")
        used.add(found[2])
        return f"{found[1]}{MAKERS[found[2]]()}\n{found[3]}"

    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text("utf-8")
        if PLACE.search(text):
            made[path] = PLACE.sub(fill, text)
    if missing := set(MAKERS) - used:
        raise MarkerError(f"no page has a marker for {', '.join(sorted(missing))}")
    return made


def write() -> None:
    """Write the generated tables to their pages. Raises MarkerError."""
    for path, text in pages().items():
        path.write_text(text, "utf-8")
