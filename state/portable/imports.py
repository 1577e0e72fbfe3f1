"""Imports portable rows into a state."""

from collections.abc import Iterable
from typing import Any

from state.portable.declarations import PORTABLE, Batch, Portable, PortableRow
from state.store import Row, Table
from state.tables import State


def import_world(state: State, batch: Batch, *, is_complete: bool = False, next_proposal_id: int = 0) -> None:
    """Replace all rows of a state at genesis with those of a batch. The undo journal is empty before and after.

    The batch has at least the rows of the tables of one row. With `is_complete`, it is a whole state: ids are taken from the rows that have
    one. Otherwise `all others` gets what the supplies contain beyond the rows of the batch. `next_proposal_id` is the id of the next new
    proposal, if it's larger than those of the rows: proposals that were removed had ids too.

    Raises ValueError if the batch is invalid. The state is then useless.
    """
    state.journal.commit(state.journal.position())
    for _, table in state.tables():
        table.restore([], 0)
    for name, portable in PORTABLE.items():
        if not portable.key and name in batch and len(batch[name]) != 1:
            raise ValueError(f"{len(batch[name])} rows of {name} instead of 1")
    insert_rows(state, batch, keeps_ids=is_complete)
    try:
        state.find_single_rows()
    except StopIteration:
        raise ValueError("the batch has no row of global properties, schedule, feed, hardforks or names of tokens") from None
    skip_ids(state.proposals, next_proposal_id)
    for importer in state.listeners.on_import:
        importer(batch)
    state.journal.commit(state.journal.position())


def import_rows(state: State, batch: Batch) -> None:
    """Add the rows of a batch to a state. Raises ValueError if the batch is invalid; the caller then undoes partial changes."""
    insert_rows(state, batch)
    for importer in state.listeners.on_import:
        importer(batch)


def insert_rows(state: State, batch: Batch, *, keeps_ids: bool = False) -> None:
    """Insert the rows of the consensus tables. With `keeps_ids`, rows that have an id keep it, if it's larger than those before."""
    tables = dict(state.tables())
    for name, portable in PORTABLE.items():
        if name in batch and name in tables:
            rows: Iterable[PortableRow] = batch[name]
            if keeps_ids and all("id" in row for row in rows):
                rows = sorted(rows, key=lambda row: row["id"])
            _insert(state, tables[name], portable, rows, keeps_ids)


def _insert(state: State, table: Table[Any], portable: Portable, rows: Iterable[PortableRow], keeps_ids: bool) -> None:
    """Insert rows. A reference to a row of the same table can precede that row, so it's set at the end."""
    later: list[tuple[Row, str, Any]] = []
    for row in rows:
        values = dict(row)
        row_id = values.pop("id", None)
        if portable.id_column:
            skip_ids(table, values[portable.id_column])
        elif keeps_ids and row_id is not None:
            skip_ids(table, row_id)
        if unknown := values.keys() - portable.columns.keys():
            raise ValueError(f"{portable.row.__name__} has no columns {sorted(unknown)}")
        unresolved = {}
        for column, reference in portable.references.items():
            found = reference.id_of(state, values[column])
            if found is None and reference.table == table.__class__:
                unresolved[column] = values.pop(column)
            elif found is None:
                raise ValueError(f"{portable.row.__name__} refers to {values[column]!r}, which isn't here")
            else:
                values[column] = found
        inserted = table.insert(portable.row(**values))
        later += [(inserted, column, key) for column, key in unresolved.items()]
    for inserted, column, key in later:
        found = portable.references[column].id_of(state, key)
        if found is None:
            raise ValueError(f"{portable.row.__name__} refers to {key!r}, which isn't here")
        table.modify(inserted, **{column: found})


def skip_ids(table: Table[Any], row_id: int) -> None:
    """Let the next row of a table have at least this id."""
    if row_id > table.next_id:
        table.journal.record((_set_next_id, table, table.next_id))
        table.next_id = row_id


def _set_next_id(table: Table[Any], next_id: int) -> None:
    table.next_id = next_id
