"""Row changes of a reversible block, read from the undo journal: each changed row with its values before and after the block."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from state.chain.chain import Chain
from state.protocol.errors import require
from state.store import Row, Table
from state.tables import State

RECORDS_MAX = 50_000  # journal records read for one answer; a record takes up to 1 µs

CREATED, CHANGED, REMOVED = "created", "changed", "removed"
Values = dict[str, Any]


class RowChange(Struct):
    """A row that was created, changed or removed, with its values before and after. Only fields that differ are included.

    `before` of a created row and `after` of a removed row contain the defaults of a new row.
    """

    table: Table[Any]
    name: str
    row: Row
    kind: str
    before: Values
    after: Values


class _Touched:
    """A row that a block wrote: the kind of write, the values before the block, and the values before the first write by a later block."""

    __slots__ = ("before", "is_created", "is_removed", "later", "name", "row", "table")

    def __init__(self, table: Table[Any], name: str, row: Row) -> None:
        self.table, self.name, self.row = table, name, row
        self.before: Values = {}
        self.later: Values = {}
        self.is_created = self.is_removed = False


def changes_of(chain: Chain, number: int, most: int) -> tuple[list[RowChange], int]:
    """Return the first `most` rows that a block changed, in order of their first write, and the number of further rows.

    Rows that the block both created and removed are left out, as is plugin data outside of tables.

    Raises: Refused if the block is irreversible or unknown, or if more than RECORDS_MAX records were written since.
    """
    begin, end = session_of(chain, number)
    journal = chain.state.journal
    count = journal.position() - begin
    text = "too many changes since block ${number}: ${count} journal records, at most ${max} are read"
    require(count <= RECORDS_MAX, text, condition="records <= max", number=number, count=count, max=RECORDS_MAX)
    changed = [touched for touched in _touched(chain.state, begin, end) if _is_changed(touched)]
    return [_change(touched) for touched in changed[:most]], max(0, len(changed) - most)


def changes_since(state: State, mark: int) -> Iterator[RowChange]:
    """Yield the rows changed since a journal position, as `changes_of` does. The state must not change during the iteration."""
    return (_change(touched) for touched in _touched(state, mark, state.journal.position()) if _is_changed(touched))


def session_of(chain: Chain, number: int) -> tuple[int, int]:
    """Return the journal positions before and after a block, including the block's state edits."""
    marks = chain.main_branch.positions
    first, head = (marks[0][0], marks[-1][0]) if marks else (0, chain.state.props.head_block_number)
    require(number <= head, "there is no block ${number} yet", condition="number <= head", number=number)
    require(
        bool(marks) and number >= first,
        "block ${number} is irreversible, so its changes are no longer available",
        condition="number > last_irreversible_block_num",
        number=number,
    )
    place = number - first
    if place + 1 < len(marks):
        return marks[place][1], marks[place + 1][1]
    return marks[place][1], chain.state.journal.position() if chain.pool.position is None else chain.pool.position


def tables_of(state: State) -> Iterator[tuple[str, Table[Any]]]:
    """Yield all tables with their names. Names of plugin tables begin with the plugin's name. A table that two plugins share is yielded
    twice.
    """
    yield from state.tables()
    for plugin, kept in state.plugins.items():
        for name, value in vars(kept).items():
            if isinstance(value, Table):
                yield f"{plugin}/{name}", value


def _touched(state: State, begin: int, end: int) -> Iterable[_Touched]:
    """Return the rows that a block wrote, from its journal records (`begin` to `end`) and the later records of the same rows."""
    undo: dict[int, tuple[Table[Any], str, str]] = {}
    for name, table in tables_of(state):
        if not table.is_loading:  # a table that still loads has no writes
            insertion, removal, modifications = table.undo_functions
            for kind, functions in ((CREATED, (insertion,)), (REMOVED, (removal,)), (CHANGED, modifications)):
                for function in functions:
                    undo.setdefault(id(function), (table, name, kind))
    found: dict[int, _Touched] = {}
    for position, (function, row, old) in state.journal.since(begin):
        written = undo.get(id(function))
        if written is None:
            continue
        table, name, kind = written
        touched = found.get(id(row))
        if position >= end:
            if touched is not None and kind == CHANGED:
                touched.later = table.replaced(function, old) | touched.later
            continue
        if touched is None:
            touched = found[id(row)] = _Touched(table, name, row)
        if kind == CHANGED:
            touched.before = table.replaced(function, old) | touched.before
        touched.is_created |= kind == CREATED
        touched.is_removed |= kind == REMOVED
    return found.values()


def _is_changed(touched: _Touched) -> bool:
    """Whether a row differs from its state before the block."""
    if touched.is_created or touched.is_removed:
        return not (touched.is_created and touched.is_removed)
    row, later = touched.row, touched.later
    return any((later[field] if field in later else getattr(row, field)) != old for field, old in touched.before.items())


def _change(touched: _Touched) -> RowChange:
    """Return the change of a row."""
    row, kind = touched.row, CHANGED
    is_whole = touched.is_created or touched.is_removed
    fields = [field for field in row.__struct_fields__ if field != "id" and (is_whole or field in touched.before)]
    after = {field: touched.later.get(field, getattr(row, field)) for field in fields}
    before = after | touched.before
    if is_whole:
        kind = CREATED if touched.is_created else REMOVED
        new = type(row)()
        blank = {field: getattr(new, field) for field in fields}
        before, after = (blank, after) if touched.is_created else (before, blank)
    differing = [field for field in fields if before[field] != after[field]]
    return RowChange(
        touched.table, touched.name, row, kind, {field: before[field] for field in differing}, {field: after[field] for field in differing}
    )
