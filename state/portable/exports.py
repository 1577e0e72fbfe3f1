"""Exports a state as portable rows, and computes its digest over what methods show."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import json

from state.portable.declarations import PORTABLE, Batch, Portable, PortableRow
from state.store import Row
from state.tables import State


def export_rows(state: State) -> Batch:
    """Return all rows of a state and of its plugins, in order of their ids."""
    batch = {name: exported_rows(state, table.scan(), PORTABLE[name]) for name, table in state.tables() if name in PORTABLE}
    for exporter in state.listeners.on_export:
        batch |= exporter()
    return batch


def shown_digest(state: State) -> str:
    """Return the SHA-256 (64 hex digits) of all columns that methods show, without ids. The order of rows doesn't matter."""
    total = sha256()
    batch = export_rows(state)
    for name in sorted(batch):
        total.update(f"{name}\n".encode())
        total.update(b"\n".join(sorted(shown_lines(PORTABLE[name], batch[name]))))
    return total.hexdigest()


def shown_lines(portable: Portable, rows: list[PortableRow]) -> list[bytes]:
    """Return the shown columns of each row as one line."""
    if portable.all_hidden:
        return []
    shown = portable.shown
    defaults = portable.row()
    lines = []
    for row in rows:
        if portable.is_default_absent and all(row[field] == getattr(defaults, field) for field in shown if field not in portable.key):
            continue
        values = [row[field] for field in shown]
        try:
            lines.append(json.encode(values))
        except UnicodeEncodeError:
            lines.append(repr(values).encode())
    return lines


def exported_rows(state: State, rows: Iterable[Row], portable: Portable) -> list[PortableRow]:
    """Return rows as portable rows. Rows that refer to a row that no longer exists are omitted."""
    columns, references = list(portable.columns), list(portable.references.items())
    found = []
    for row in rows:
        values = {column: getattr(row, column) for column in columns}
        for column, reference in references:
            values[column] = reference.key_of(state, values[column])
        if all(values[column] is not None for column, _ in references):
            found.append(values)
    return found
