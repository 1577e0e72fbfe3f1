"""Generates the table of columns that no method shows, for the page on the limits of forks."""

import state.operations  # noqa: F401 - fills the registry
from bin.docs.cells import code, table
from state.plugins.registry import PLUGINS
from state.portable import PORTABLE

assert PLUGINS, "plugins declare portable rows when they are imported"


def hidden_columns() -> str:
    """Return the table of hidden columns, with what they mean."""
    rows = []
    for name, portable in PORTABLE.items():
        if portable.all_hidden:
            rows.append((code(name), "all", portable.all_hidden))
        rows += [(code(name), code(column), meaning) for column, meaning in portable.hidden.items()]
    return table(("table", "column", "meaning"), rows)
