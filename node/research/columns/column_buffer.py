"""Collects operations and blocks as they are applied, and converts them to columns.

Operations of transactions are read from each applied block. Virtual operations come from a listener that the chain calls before it applies
each operation.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from msgspec import Struct

from node.research.columns.columns import INT64, MILLISECONDS, TEXT, TIME, ArrowSchemas, Columns, array_of, operations_of_chain
from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import Int
from state.protocol.operation import Operation
from state.protocol.transaction import ZERO_ID, SignedBlock
from state.tables import State

BLOCKS = "blocks"
# The first columns of all operations. Rows are ordered by the first four.
KEYS = pa.schema([("block", INT64), ("trx", INT64), ("op", INT64), ("virtual_op", INT64), ("time", TIME), ("trx_id", TEXT)])
ORDER = 4
# Rows are converted once this many wait in total and at least RARE_ROWS of their kind, or once their blocks exceed WAITING_BYTES.
WAITING_ROWS, RARE_ROWS, WAITING_BYTES = 8192, 1024, 4 << 20

Row = tuple[Operation, int, int, int, int, int, str | None]
Rows = list[Row]
Filled = tuple[str, list[Any]]


def block_of_row(row: Row) -> int:
    """Return the number of the block that contains the operation of a row."""
    return row[1]


class Dataset(Struct, frozen=True):
    """The files that an export writes for one kind of operation, for one table, or for the blocks: their folder, their name without suffix,
    their columns, and the number of leading columns by which they are sorted.
    """

    folder: str
    file: str
    schema: Any
    order: int


class ColumnBuffer:
    """Buffer of operations and blocks, which it converts to columns.

    `wanted` contains the names of the operations to collect. If it contains the name `blocks`, blocks are collected as well. None means
    everything.
    """

    def __init__(self, state: State, schemas: ArrowSchemas, wanted: set[str] | None) -> None:
        classes = operations_of_chain(state.spec)
        self.kinds = {name: cls for name, cls in classes.items() if wanted is None or name in wanted}
        self.has_blocks = wanted is None or BLOCKS in wanted
        self._columns = {name: schemas.of(cls) for name, cls in self.kinds.items()}
        self._blocks, self._block_columns = list[SignedBlock](), block_columns(schemas)
        self._rows: dict[str, Rows] = {name: [] for name in self.kinds}
        self._ordinary = {cls: self._rows[name].append for name, cls in self.kinds.items() if not cls.VIRTUAL}
        self._virtual = {cls: self._rows[name].append for name, cls in self.kinds.items() if cls.VIRTUAL}
        # Virtual operations of the block that is being applied, each with the function that collects it.
        self._of_block: list[tuple[Callable[[Row], None], Row]] = []
        self._listeners, self._position, self._time = state.listeners, state.position, 0
        self._waiting = self._size = 0

    @property
    def needs_state(self) -> bool:
        """Whether the blocks must be applied to a chain. Virtual operations are not in blocks, so collecting them requires this."""
        return bool(self._virtual)

    def datasets(self) -> Iterator[Dataset]:
        """Yield the datasets that are exported."""
        for name, columns in self._columns.items():
            yield Dataset(f"operations/kind={name}", name, operation_schema(name, columns), ORDER)
        if self.has_blocks:
            yield Dataset(BLOCKS, BLOCKS, self._block_columns.schema, 1)

    def watch(self) -> None:
        """Register the listeners that collect the virtual operations of applied blocks."""
        self._listeners.before_block.append(self._begin)
        self._listeners.watch_operations(self._on_operation)

    def _begin(self, _state: State, block: SignedBlock) -> None:
        """Store the time of a block for its virtual operations. Drop those of a block that was refused."""
        self._time = block.timestamp * MILLISECONDS
        self._of_block.clear()

    def _on_operation(self, state: State, operation: Operation) -> None:
        """Collect an operation before it is applied, if it is virtual."""
        take = self._virtual.get(type(operation))
        if take is not None:
            here = self._position
            trx_id = None if here.trx_id == ZERO_ID else here.trx_id.hex()
            row = operation, here.block, here.trx_in_block, here.op_in_trx, here.virtual_op, self._time, trx_id
            self._of_block.append((take, row))

    def take(self, block: SignedBlock) -> None:
        """Collect an applied block and its operations."""
        number, time, ordinary = block.number, block.timestamp * MILLISECONDS, self._ordinary
        for append_virtual, row in self._of_block:
            append_virtual(row)
        self._waiting += len(self._of_block)
        self._of_block.clear()
        for place, trx in enumerate(block.transactions):
            trx_id = trx.id.hex()
            for index, operation in enumerate(trx.operations):
                append = ordinary.get(type(operation))
                if append is not None:
                    append((operation, number, place, index, 0, time, trx_id))
            self._waiting += len(trx.operations)
        if self.has_blocks:
            self._blocks.append(block)
            self._waiting += 1
        self._size += block.size

    def filled(self, *, whole: bool = False) -> Iterator[Filled]:
        """Remove rows from the buffer and yield them as columns. Datasets with few rows stay in the buffer, unless `whole` is true."""
        if not whole and self._waiting < WAITING_ROWS and self._size < WAITING_BYTES:
            return
        least = 1 if whole or self._size >= WAITING_BYTES else RARE_ROWS
        for name, rows in self._rows.items():
            if len(rows) >= least:
                yield name, self._arrays(name, rows)
                rows.clear()
        if len(self._blocks) >= least:
            yield BLOCKS, self._block_columns.arrays(self._blocks)
            self._blocks.clear()
        self._waiting = len(self._blocks) + sum(map(len, self._rows.values()))
        self._size = 0

    def between(self, first: int, last: int) -> Iterator[Filled]:
        """Yield the rows of the blocks from `first` to `last` as columns. The rows stay in the buffer."""
        for name, rows in self._rows.items():
            if found := rows[bisect_left(rows, first, key=block_of_row) : bisect_right(rows, last, key=block_of_row)]:
                yield name, self._arrays(name, found)
        if blocks := [block for block in self._blocks if first <= block.number <= last]:
            yield BLOCKS, self._block_columns.arrays(blocks)

    def drop_before(self, number: int) -> None:
        """Remove the rows of the blocks before block `number`."""
        for rows in self._rows.values():
            del rows[: bisect_left(rows, number, key=block_of_row)]
        self._blocks = [block for block in self._blocks if block.number >= number]

    def drop_from(self, number: int) -> None:
        """Remove the rows of the blocks from block `number` on."""
        for rows in self._rows.values():
            while rows and block_of_row(rows[-1]) >= number:
                rows.pop()
        while self._blocks and self._blocks[-1].number >= number:
            self._blocks.pop()

    def _arrays(self, name: str, rows: Rows) -> list[Any]:
        # Faster than zip(*rows), which passes all rows as arguments.
        keys = [array_of([row[index] for row in rows], field) for index, field in enumerate(KEYS, 1)]
        return keys + self._columns[name].arrays([row[0] for row in rows])


def operation_schema(kind: str, fields: Columns) -> Any:
    """Return the columns of a kind of operation: the key columns, then the fields. If a field has the name of a key column, its column's
    name gets the kind as prefix.
    """
    own = [pa.field(f"{kind}_{field.name}", field.type) if field.name in KEYS.names else field for field in fields.schema]
    return pa.schema([*KEYS, *own])


def block_columns(schemas: ArrowSchemas) -> Columns:
    """Return the columns of blocks."""
    kinds = {field.name: field.kind for field in wire_fields(SignedBlock)}
    number = Int(32)
    return schemas.columns(
        [
            ("block", "v.number", number),
            ("time", "v.timestamp", kinds["timestamp"]),
            ("block_id", "v.id", kinds["previous"]),
            ("previous", "v.previous", kinds["previous"]),
            ("witness", "v.witness", kinds["witness"]),
            ("transaction_merkle_root", "v.transaction_merkle_root", kinds["transaction_merkle_root"]),
            ("extensions", "v.extensions", kinds["extensions"]),
            ("witness_signature", "v.witness_signature", kinds["witness_signature"]),
            ("transactions", "len(v.transactions)", number),
            ("operations", "sum([len(trx.operations) for trx in v.transactions])", number),
            ("size", "v.size", number),
        ]
    )
