"""Replays a chain for a script, block by block. Yields the operations (including virtual ones) and the row changes of each block."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from node.research.columns.names import HELPER, field_name, table_name
from node.research.errors import DataError, NotThere
from node.research.library.blocks import Block, Operation, chosen_chain
from node.research.library.chains import ChainState
from node.research.library.counterfactual import Counterfactual
from node.research.library.cursor import DataCursor
from node.research.library.views import extra
from node.runtime.suggestions import alternatives
from state.chain import changes as journal
from state.chain.chain import Chain
from state.protocol import operation as operations
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock
from state.store import Row
from state.tables import State

ID = "id"
spelled_name = cache(field_name)


class Change(Struct, frozen=True):
    """Effect of a block on a row: the name of the `table`, the row's `id`, and field values before and after the block, keyed by field
    name.

    For a changed row, only the fields that differ are included. For a created row, `before` is empty and `after` contains all fields. For a
    removed row, `before` contains all fields and `after` is empty.
    """

    table: str
    id: int
    kind: Literal["created", "changed", "removed"]
    before: dict[str, Any]
    after: dict[str, Any]


class BlockStep(Struct, frozen=True):
    """A block with its effects: all operations in the order in which they were applied, and the changes of rows."""

    block: Block
    operations: tuple[Operation, ...]
    changes: tuple[Change, ...]

    @property
    def virtual_operations(self) -> tuple[Operation, ...]:
        """The virtual operations, in order."""
        return tuple(each for each in self.operations if each.is_virtual)


class Replayed(ChainState):
    """Iterable of block steps, returned by `replayed`. Between two steps, `tables` and `call` read the state after the last block.

    It can be iterated over once. The file is closed when the iteration or a `with` block ends.
    """

    def __init__(
        self, cursor: DataCursor, first: int, last: int | None, has_changes: bool, without: Callable[[Operation], bool] | None
    ) -> None:
        super().__init__(cursor)
        self._first, self._last = first, last
        self._counterfactual = None if without is None else Counterfactual(cursor, without)
        self._recorder = BlockRecorder(cursor.chain, has_changes)

    @property
    def refused(self) -> dict[str, str]:
        """With `without`: the ids of transactions that the chain refused because of the left out operations, with the reasons."""
        return {} if self._counterfactual is None else self._counterfactual.refused

    def __iter__(self) -> Iterator[BlockStep]:
        wire = self._chain.state.wire
        for block in self._applied(self._recorder.begin):
            yield BlockStep(Block(wire, block), *self._recorder.take())

    def collect(self, *kinds: str) -> dict[str, Any]:
        """Replay to the end, and return the operations of these kinds in order, as one Arrow table for each kind.

        The columns are those of an export (docs/export.md). Needs pyarrow. Raises NotThere for an unknown kind, and MissingLibrary.
        """
        arrow = extra("pyarrow", "operations as Arrow")
        from node.research.columns.column_buffer import ColumnBuffer
        from node.research.columns.columns import ArrowSchemas, operations_of_chain

        state = self._chain.state
        known = operations_of_chain(state.spec)
        if unknown := [kind for kind in kinds if kind not in known]:
            near = alternatives(unknown[0].removesuffix("_operation"), sorted(known))  # the suffix is that of the JSON form
            raise NotThere(f"there is no kind of operations {unknown[0]}; {near}")
        collector = ColumnBuffer(state, ArrowSchemas(state.spec), set(kinds))
        batches: dict[str, list[Any]] = {kind: [] for kind in kinds}
        schemas = {dataset.file: dataset.schema for dataset in collector.datasets()}

        def collect_batches(*, whole: bool = False) -> None:
            for kind, arrays in collector.filled(whole=whole):
                batches[kind].append(arrow.RecordBatch.from_arrays(arrays, schema=schemas[kind]))

        for block in self._applied(collector.watch):
            collector.take(block)
            collect_batches()
        collect_batches(whole=True)
        return {kind: arrow.Table.from_batches(some, schemas[kind]) for kind, some in batches.items()}

    def _applied(self, watch: Callable[[], None]) -> Iterator[SignedBlock]:
        """Apply and yield the requested blocks. `watch` is called before the first one."""
        with self:
            self._cursor.lead_to(self._first - 1)
            watch()
            for block in takewhile(lambda block: self._last is None or block.number <= self._last, self._cursor.blocks()):
                if self._counterfactual is None:
                    self._cursor.apply(block)
                    yield block
                else:
                    yield self._counterfactual.apply(block)


class BlockRecorder:
    """Records the operations of a block while they are applied, and the block's row changes. It reads these from the undo journal before
    the journal is truncated.
    """

    def __init__(self, chain: Chain, has_changes: bool) -> None:
        self._chain, self._has_changes = chain, has_changes
        self._operations: list[Operation] = []
        self._changes: tuple[Change, ...] = ()
        self._position = 0
        self._block = SignedBlock()

    def begin(self) -> None:
        """Register the listeners. At the start of a block, this object's listener is called before all others; at the end, after all
        others.
        """
        listeners = self._chain.state.listeners
        listeners.before_block.insert(0, self._before)
        listeners.watch_operations(self._on_operation)
        listeners.after_block.append(self._after)

    def take(self) -> tuple[tuple[Operation, ...], tuple[Change, ...]]:
        """Return the operations and changes of the last block."""
        return tuple(self._operations), self._changes

    def _before(self, state: State, block: SignedBlock) -> None:
        self._operations, self._changes = [], ()
        self._position, self._block = state.journal.position(), block

    def _on_operation(self, state: State, operation: operations.Operation) -> None:
        here = state.position
        place = here.block, here.trx_in_block, here.op_in_trx, here.virtual_op if operation.VIRTUAL else 0
        self._operations.append(Operation(state.wire, operation, place, self._block.timestamp, here.trx_id))

    def _after(self, state: State, _block: SignedBlock) -> None:
        if self._has_changes:
            found = journal.changes_since(state, self._position)
            self._changes = tuple(change_of(state.spec, each) for each in found if HELPER not in each.name)


def change_of(spec: ChainSpec, change: journal.RowChange) -> Change:
    """Convert a row change in the journal to a Change."""
    before, after = change.before, change.after
    if change.kind == journal.CREATED:
        before, after = {}, whole(change.row, after)
    elif change.kind == journal.REMOVED:
        before, after = whole(change.row, before), {}
    kind: Any = change.kind
    return Change(table_name(change.name), change.row.id, kind, spelled(spec, before), spelled(spec, after))


def whole(row: Row, values: dict[str, Any]) -> dict[str, Any]:
    """Return all values of a created or removed row. `values` contains only those that differ from the defaults."""
    new = type(row)()
    return {name: values[name] if name in values else getattr(new, name) for name in new.__struct_fields__ if name != ID}


def spelled(spec: ChainSpec, values: dict[str, Any]) -> dict[str, Any]:
    """Return the same values, keyed by field names in the chain's spelling."""
    return {spelled_name(spec, name): value for name, value in values.items()}


def replayed(
    path: str | Path,
    chain: str | Path | ChainSpec | None = None,
    *,
    first: int = 1,
    last: int | None = None,
    plugins: Iterable[str] = (),
    has_changes: bool = True,
    is_checked: bool = False,
    without: Callable[[Operation], bool] | None = None,
) -> Replayed:
    """Replay the blocks `first` to `last` of a source. Each BlockStep contains a block, its operations (including virtual ones) and the
    changed rows.

    `path` and `chain` are as in `open_blocks`. Blocks before `first` are applied without yielding a step, starting at a snapshot if there
    is one. `plugins` are the names of plugins, which add their tables. Without `has_changes`, rows are not compared, which is faster.
    Memory grows only with the state, not with the number of blocks.

    With `without`, operations of transactions for which it returns true are left out from block `first` on, as are transactions that the
    chain then refuses. Signatures and authorities are not checked. A block whose producer then isn't a witness is a RefusedBlock.

    Raises the errors of `chain_at`, most of them during the iteration.
    """
    if without is not None and is_checked:
        raise DataError("is_checked and without exclude each other, since the signatures are those of the complete transactions")
    spec = chosen_chain(Path(path), chain)
    cursor = DataCursor(Path(path), spec, plugins, latest=first - 1, is_checked=is_checked, has_all=False, is_edited=without is not None)
    return Replayed(cursor, first, last, has_changes, without)
