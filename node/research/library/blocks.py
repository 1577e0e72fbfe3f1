"""The blocks of a file, with their transactions and operations, for scripts and notebooks."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import state.operations  # noqa: F401 - blocks can't be read before all operations are declared
from node.history.chain_detection import detect_chain
from node.history.sources import BlockSource, open_source
from node.research.errors import as_data_errors
from node.specs.builder import load_spec
from state.protocol import operation as operations
from state.protocol.codec.fields import wire_fields
from state.protocol.spec import ChainSpec
from state.protocol.transaction import OPERATION, ZERO_ID, SignedBlock, SignedTransaction, Wire

Json = Any


class Operation:
    """An operation of a transaction or a virtual operation. Operations are ordered by their position `block`, `trx`, `op`, `virtual_op`.

    `kind` is the operation's name, for example `transfer`. `value` is the operation itself, with its fields as attributes (`value.from_`,
    `value.amount.amount`). `operation["from"]` reads a field by its name in JSON. `virtual_op` is 0 for operations of transactions. `trx`
    is 4294967295 for virtual operations that no transaction caused.
    """

    __slots__ = ("_seconds", "_trx_id", "_wire", "block", "op", "trx", "value", "virtual_op")

    def __init__(self, wire: Wire, value: operations.Operation, place: tuple[int, int, int, int], seconds: int, trx_id: bytes) -> None:
        self._wire = wire
        self.value: Any = value  # a subclass of Operation, whose fields a type checker can't know
        self.block, self.trx, self.op, self.virtual_op = place
        self._seconds, self._trx_id = seconds, trx_id

    @property
    def time(self) -> datetime:
        """The time of the block, in UTC."""
        return utc_time(self._seconds)

    @property
    def trx_id(self) -> str | None:
        """The id of the transaction in hex, or None for an operation that no transaction caused."""
        return None if self._trx_id == ZERO_ID else self._trx_id.hex()

    @property
    def kind(self) -> str:
        """The name of the operation, without the suffix `_operation`."""
        return self._wire.spec.spell(self.value.NAME)

    @property
    def is_virtual(self) -> bool:
        """Whether the operation is virtual, which means that the chain emitted it and no transaction contains it."""
        return bool(self.value.VIRTUAL)

    @property
    def place(self) -> tuple[int, int, int, int]:
        """The position: number of the block, index of the transaction in the block, index of the operation in the transaction, number of
        the virtual operation.
        """
        return self.block, self.trx, self.op, self.virtual_op

    def __getitem__(self, name: str) -> Any:
        """Return the value of a field by its name in JSON. Raises KeyError."""
        for field in wire_fields(type(self.value)):
            if self._wire.spec.spell(field.json) == name:
                return getattr(self.value, field.name)
        raise KeyError(name)

    def json(self, *, legacy: bool = False) -> Json:
        """Return the operation as JSON, in the form of database_api or, with `legacy`, of condenser_api."""
        dump = self._wire.codecs.dumper(OPERATION, legacy)
        assert dump is not None
        return dump(self.value)

    def __repr__(self) -> str:
        return f"<{self.kind} at {self.block}, {self.trx}, {self.op}, {self.virtual_op}>"


class Transaction:
    """A transaction of a block: `id` in hex, `number` (its index in the block, from 0 on), `expiration`, `operations`."""

    def __init__(self, wire: Wire, block: SignedBlock, number: int) -> None:
        self._wire, self._block, self.number = wire, block, number

    @property
    def value(self) -> SignedTransaction:
        """The transaction as the object that the node itself uses."""
        return self._block.transactions[self.number]

    @property
    def id(self) -> str:
        """The transaction id, in hex."""
        return self.value.id.hex()

    @property
    def expiration(self) -> datetime:
        """The time at which the transaction expires, in UTC."""
        return utc_time(self.value.expiration)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations, in order."""
        trx, block = self.value, self._block
        return tuple(
            Operation(self._wire, operation, (block.number, self.number, index, 0), block.timestamp, trx.id)
            for index, operation in enumerate(trx.operations)
        )

    def json(self, *, legacy: bool = False) -> Json:
        """Return the transaction as JSON, in the form of database_api or, with `legacy`, of condenser_api."""
        return self._wire.transaction_to_json(self.value, legacy)

    def __repr__(self) -> str:
        return f"<transaction {self.id} of block {self._block.number}>"


class Block:
    """A block: `number`, `id` and `previous` in hex, `time`, `witness`, `transactions`, `size` in bytes."""

    def __init__(self, wire: Wire, value: SignedBlock) -> None:
        self._wire, self.value = wire, value

    @property
    def number(self) -> int:
        """The block number. The first block has number 1."""
        return self.value.number

    @property
    def id(self) -> str:
        """The block id, in hex."""
        return self.value.id.hex()

    @property
    def previous(self) -> str:
        """The id of the previous block, in hex."""
        return self.value.previous.hex()

    @property
    def time(self) -> datetime:
        """The time of the block, in UTC."""
        return utc_time(self.value.timestamp)

    @property
    def witness(self) -> str:
        """The account name of the witness that made the block."""
        return self.value.witness

    @property
    def size(self) -> int:
        """The size of the block in bytes."""
        return self.value.size

    @property
    def transactions(self) -> tuple[Transaction, ...]:
        """The transactions, in order."""
        return tuple(Transaction(self._wire, self.value, number) for number in range(len(self.value.transactions)))

    @property
    def operations(self) -> Iterator[Operation]:
        """The operations of all transactions, in order."""
        return (operation for trx in self.transactions for operation in trx.operations)

    def json(self, *, legacy: bool = False) -> Json:
        """Return the block as JSON, in the form of database_api or, with `legacy`, of condenser_api. The fields that API methods add are
        not included.
        """
        return self._wire.block_to_json(self.value, legacy)

    def __repr__(self) -> str:
        return f"<block {self.number} {self.id}>"


class Blocks:
    """Blocks of a source, in ascending order. They can be iterated over once. The file is closed when the iteration or a `with` block ends.

    `last` is the number of the last block, or 0 if finding it would need reading the whole source. `chain` is the chain's name.
    """

    def __init__(self, source: BlockSource, wire: Wire, last: int | None) -> None:
        self._source, self._wire, self._last = source, wire, last

    @property
    def last(self) -> int:
        """The number of the last block of the source, or 0 if finding it would need reading the whole source."""
        return self._source.last

    @property
    def chain(self) -> str:
        """The name of the chain."""
        return self._wire.spec.name

    def __iter__(self) -> Iterator[Block]:
        with self, as_data_errors():
            for block in self._source:
                if self._last is not None and block.number > self._last:
                    break
                yield Block(self._wire, block)

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_blocks(path: str | Path, chain: str | Path | ChainSpec | None = None, *, first: int = 1, last: int | None = None) -> Blocks:
    """Open blocks `first` to `last` of a source: a block log or JSON lines (plain, gzip or zstd), a folder of such files, a data folder, or
    "-" for stdin.

    `chain` is the name of a chain, the path of a chain spec, or a spec. By default the chain is detected from the first blocks. The blocks
    are not checked. Raises UnknownChain, and UnreadableBlocks, which can also occur during the iteration.
    """
    wire = Wire(chosen_chain(Path(path), chain))
    with as_data_errors():
        return Blocks(open_source(Path(path), wire, first), wire, last)


def chosen_chain(path: Path, chain: str | Path | ChainSpec | None) -> ChainSpec:
    """Return the chain spec with the name or path `chain`. If `chain` is None, detect the chain from the blocks at `path`.

    Raises UnknownChain, including if the blocks belong to another chain, and UnreadableBlocks if the blocks are needed and can't be read.
    """
    with as_data_errors():
        return detect_chain(path, chain if chain is None or isinstance(chain, ChainSpec) else load_spec(str(chain)))


def utc_time(seconds: int) -> datetime:
    """Convert seconds since 1970 to a datetime in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
