"""Log of applied operations with their positions in the chain, stored as bytes for the plugin `account_history`.

The record of an operation in a block contains its position, and the operation is read from there. A virtual operation is in no block, so
its packed bytes are stored. A record takes 27 bytes, and for a virtual operation its packed size in addition. Objects took several hundred
bytes.
"""

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain, islice
from struct import Struct as Layout
from typing import Any

from msgspec import MsgspecError, Raw, Struct, msgpack

from state.chain.blocks import NO_TRANSACTION
from state.chain.irreversible import check_of, missing
from state.protocol.errors import ChainError
from state.protocol.operation import Operation, OperationKind
from state.protocol.transaction import ID_BYTES, ZERO_ID, SignedBlock
from state.protocol.values.integers import UINT32_MAX
from state.store.columns import CorruptData
from state.store.lazy.background_load import BackgroundLoad, BackgroundLoadable
from state.store.lazy.incremental import ReadMode
from state.store.packed_integers import UINT32, UINT32_BYTES, Integers, as_array
from state.store.rows import Copying, replace_bytes
from state.store.serializers import Install, records_of
from state.store.sized_cache import SizedCache
from state.store.slots import MASK, SHIFT, SLOTS, Slots
from state.tables import State
from state.tables.accounts import Accounts

OPERATION = OperationKind()

# Block, time, transaction in the block, operation in the transaction, number of the virtual operation, kind, location.
ROW = Layout("<IIIIHBQ")
ROW_BYTES = ROW.size
NUMBER, SIZE = Layout("<I"), Layout("<I")
ROW_OF, SIZE_OF = ROW.pack, SIZE.pack  # bound once, since each operation calls them
TIME_AT, KIND_AT = 4, 18

# Kinds of records, which define the meaning of the location. IN_BLOCK: the number of bytes from the start of the operation's transaction to
# the end of the block, and above CHECK_SHIFT the check of the transaction's id, which protects the operation against a changed log.
# VIRTUAL: the offset of the operation's size, which its bytes follow. OF_TRANSACTION: the offset of a transaction id, followed by the size
# and the bytes of the virtual operation. HELD, for an operation of a pending transaction: its index in `held`.
IN_BLOCK, VIRTUAL, OF_TRANSACTION, HELD = range(4)
CHECK_SHIFT, SIZE_MASK = 32, UINT32_MAX
NO_BLOCK = -1

# Maximum memory of the cached bytes of records for each JSON form, and the memory of an entry in addition to its bytes.
ENCODED_SIZE_MAX, ENTRY_SIZE = 16 << 20, 200


class OperationRecord(Struct, frozen=True, gc=False):
    """An operation and its position in the chain."""

    trx_id: bytes
    block: int
    trx_in_block: int
    op_in_trx: int
    virtual_op: int
    timestamp: int
    operation: Operation


class OperationLog:
    """All recorded operations, by ascending block number.

    `block` is the number of the block that is being applied, NO_BLOCK between blocks. `locations` contains, for each transaction of that
    block, the location in the records of its operations.
    """

    def __init__(self, state: State) -> None:
        self.rows = bytearray()
        self.virtual = bytearray()
        self.held: list[tuple[bytes, Operation]] = []
        # The bytes that replies contain for records of irreversible blocks, by their index: in the appbase form, and in the legacy form.
        self.encoded: tuple[SizedCache[int, Raw], SizedCache[int, Raw]] = SizedCache(ENCODED_SIZE_MAX), SizedCache(ENCODED_SIZE_MAX)
        self.block, self.locations = NO_BLOCK, list[int]()
        self._state, self._here = state, state.position
        self._pack = state.wire.codecs.packer(OPERATION)

    def __len__(self) -> int:
        return len(self.rows) // ROW_BYTES

    def begin_block(self, block: SignedBlock) -> None:
        """Compute the positions of a block's transactions, before the block is applied."""
        self.block = block.number
        newest_first = block.transactions[::-1]
        sizes = accumulate([trx.size for trx in newest_first])
        self.locations = [size | check_of(trx.id) << CHECK_SHIFT for size, trx in zip(sizes, newest_first, strict=True)]
        self.locations.reverse()

    def enter(self, operation: Operation) -> int:
        """Record an operation that is about to be applied, and return the index of its record."""
        here, rows, number = self._here, self.rows, 0
        trx_in_block = here.trx_in_block
        if operation.VIRTUAL:
            virtual, number = self.virtual, here.virtual_op
            place = len(virtual)
            if here.trx_id == ZERO_ID:
                kind = VIRTUAL
            else:
                kind = OF_TRANSACTION
                virtual += here.trx_id
            packed = self._pack(operation)
            virtual += SIZE_OF(len(packed))
            virtual += packed
        elif trx_in_block != NO_TRANSACTION and here.block == self.block:
            kind, place = IN_BLOCK, self.locations[trx_in_block]
        else:
            kind, place = HELD, len(self.held)
            self.held.append((here.trx_id, operation))
        index = len(rows) // ROW_BYTES
        rows += ROW_OF(here.block, self._state.props.time, trx_in_block, here.op_in_trx, number, kind, place)
        return index

    def drop_last(self) -> None:
        """Undo `enter`: remove the newest record."""
        rows = self.rows
        start = len(rows) - ROW_BYTES
        *_, kind, place = ROW.unpack_from(rows, start)
        if kind == HELD:
            del self.held[place:]
        elif kind != IN_BLOCK:
            del self.virtual[place:]
        del rows[start:]

    def replace(self, rows: bytes | bytearray, virtual: bytes | bytearray, held: list[tuple[bytes, Operation]]) -> None:
        """Replace all records."""
        replace_bytes(self.rows, rows)
        replace_bytes(self.virtual, virtual)
        self.held[:] = held
        for encoded in self.encoded:
            encoded.clear()

    def block_at(self, index: int) -> int:
        """Return the block number of a record."""
        found: int = NUMBER.unpack_from(self.rows, index * ROW_BYTES)[0]
        return found

    def time_at(self, index: int) -> int:
        """Return the time of a record, in seconds."""
        found: int = NUMBER.unpack_from(self.rows, index * ROW_BYTES + TIME_AT)[0]
        return found

    def is_virtual(self, index: int) -> bool:
        """Whether the record at this index is that of a virtual operation."""
        return self.rows[index * ROW_BYTES + KIND_AT] in (VIRTUAL, OF_TRANSACTION)

    def is_of_block(self, index: int) -> bool:
        """Whether a record is that of an operation in a block, and not in a pending transaction."""
        *_, trx_in_block, _, _, kind, _ = ROW.unpack_from(self.rows, index * ROW_BYTES)
        return bool(trx_in_block != NO_TRANSACTION or kind == VIRTUAL)

    def is_irreversible(self, index: int) -> bool:
        """Whether a record is that of an operation in an irreversible block. Such a record changes only if the whole log is replaced."""
        return self.block_at(index) <= self._state.props.last_irreversible_block_num and self.is_of_block(index)

    def reader(self) -> Callable[[int], OperationRecord]:
        """Return a function that converts an index to a record. The function caches the last transaction, so use it for one query only."""
        rows, virtual, held = self.rows, self.virtual, self.held
        unpack, find = self._state.wire.codecs.unpack, self._state.operations_of
        last: tuple[int, int] = (-1, -1)
        found: tuple[bytes, tuple[Operation, ...]] = ZERO_ID, ()

        def read(index: int) -> OperationRecord:
            nonlocal last, found
            block, time, trx_in_block, op_in_trx, virtual_op, kind, place = ROW.unpack_from(rows, index * ROW_BYTES)
            operation: Operation
            if kind == IN_BLOCK:
                if last != (block, trx_in_block):
                    found, last = find(block, trx_in_block, place & SIZE_MASK, place >> CHECK_SHIFT), (block, trx_in_block)
                trx_id, operations = found
                if op_in_trx >= len(operations):
                    raise missing(block)
                operation = operations[op_in_trx]
            elif kind == HELD:
                trx_id, operation = held[place]
            else:
                trx_id = ZERO_ID
                if kind == OF_TRANSACTION:
                    trx_id, place = bytes(virtual[place : place + ID_BYTES]), place + ID_BYTES
                begin = place + SIZE.size
                operation = unpack(OPERATION, bytes(virtual[begin : begin + SIZE.unpack_from(virtual, place)[0]]))
            return OperationRecord(trx_id, block, trx_in_block, op_in_trx, virtual_op, time, operation)

        return read


FEW_BYTES = 15 * UINT32_BYTES  # up to which the indices of an account's records are bytes


class AccountOperationIndex(BackgroundLoadable):
    """Indices of the records of each account, oldest first, by id of the account. For accounts with dropped entries, `firsts` contains
    their number.

    `early` contains those of names without an account. An operation that creates an account is recorded before the account exists.
    """

    def __init__(self, accounts: Accounts) -> None:
        self.by_id: Slots[Integers] = Slots()
        self.early: dict[str, bytes] = {}
        self.firsts: dict[int, int] = {}
        self._account = accounts.by_name.get

    def get(self, name: str) -> tuple[int, "array[int]"]:
        """Return the number (from 0) of an account's oldest retained entry, and the retained entries."""
        row = self._account(name)
        entries = None if row is None else self.by_id.get(row.id)
        if row is None or entries is None:
            return 0, as_array(self.early.get(name, b""))
        return self.firsts.get(row.id, 0), as_array(entries)

    def adopt(self, name: str, row_id: int) -> bytes:
        """Move the entries of a name to the account that it has now, and return them. The account has no entries."""
        entries = self.early.pop(name)
        self.by_id.put(row_id, entries)
        return entries

    def give_up(self, name: str, row_id: int) -> None:
        """Undo `adopt`."""
        self.early[name] = bytes(self.by_id.get(row_id) or b"")
        self.by_id.put(row_id, None)

    def drop_last(self, names: Iterable[str]) -> None:
        """Remove the newest entry of each name."""
        chunks, account = self.by_id.chunks, self._account
        for name in names:
            row = account(name)
            if row is None:
                self.early[name] = self.early[name][:-UINT32_BYTES]
                if not self.early[name]:
                    del self.early[name]
                continue
            # `Slots.get` and `Slots.put`, inlined: each operation of a pending transaction gets here.
            chunk, place = chunks[row.id >> SHIFT], row.id & MASK
            entries = chunk[place]
            assert entries, "there is no entry"
            if isinstance(entries, bytes):
                chunk[place] = entries[:-UINT32_BYTES] or None
                continue
            entries.pop()
            if not entries and row.id not in self.firsts:
                chunk[place] = None

    def drop_front(self, row_id: int, count: int) -> None:
        """Drop the `count` oldest entries of an account with an array. The other entries keep their numbers."""
        del self._array(row_id)[:count]
        self.firsts[row_id] = self.firsts.get(row_id, 0) + count

    def put_front(self, row_id: int, entries: "array[int]") -> None:
        """Undo `drop_front`: restore dropped entries."""
        self._array(row_id)[:0] = entries
        self.firsts[row_id] -= len(entries)
        if not self.firsts[row_id]:
            del self.firsts[row_id]

    def _array(self, row_id: int) -> "array[int]":
        entries = self.by_id.get(row_id)
        assert isinstance(entries, array), "entries are dropped from arrays only"
        return entries


# ------------------------------------------------------------------ snapshots


class OperationLogPart:
    """Snapshot part of all records: their rows, the bytes of virtual operations, and the operations in `held`."""

    schema = "places of operations in blocks with checks, and virtual operations as on the wire"

    def __init__(self, state: State, recorded: OperationLog) -> None:
        self._state, self._recorded = state, recorded

    def dump(self) -> Iterator[bytes]:
        """Implement `SnapshotPart.dump`."""
        recorded, pack = self._recorded, self._state.wire.codecs.packer(OPERATION)
        held = [(trx_id, pack(operation)) for trx_id, operation in recorded.held]
        yield msgpack.encode((len(recorded.rows), len(recorded.virtual), held))
        for data in (recorded.rows, recorded.virtual):
            for begin in range(0, len(data), CHUNK_BYTES):
                yield bytes(data[begin : begin + CHUNK_BYTES])

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Implement `SnapshotPart.read`."""
        unpack = self._state.wire.codecs.unpack
        try:
            rows_size, virtual_size, packed = _HEAD.decode(next(chunks, b""))
            held = []
            for begin in range(0, len(packed), HELD_BETWEEN_PAUSES):
                held += [(trx_id, unpack(OPERATION, data)) for trx_id, data in packed[begin : begin + HELD_BETWEEN_PAUSES]]
                self._state.journal.on_undone()
        except (MsgspecError, ChainError) as error:
            raise CorruptData(str(error)) from None
        rows, virtual = bytearray(), bytearray()
        for chunk in chunks:
            into = rows if len(rows) < rows_size else virtual
            into += chunk
        if (len(rows), len(virtual)) != (rows_size, virtual_size) or rows_size % ROW_BYTES:
            raise CorruptData("records of an invalid size")
        _check_rows(records_of(rows, ROW, self._state.journal.on_undone), virtual, len(held))

        def install() -> None:
            self._recorded.replace(rows, virtual, held)

        return install

    def copying(self) -> Copying:
        """Implement `SnapshotPart.copying`."""
        recorded = self._recorded
        rows, virtual, held = bytes(recorded.rows), bytes(recorded.virtual), recorded.held.copy()
        yield

        def put_back() -> None:
            recorded.replace(rows, virtual, held)
            recorded.block = NO_BLOCK

        return put_back

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Implement `SnapshotPart.entries`."""
        recorded = self._recorded
        names = ("block", "time", "trx_in_block", "op_in_trx", "virtual_op", "kind", "place")
        for index, row in enumerate(ROW.iter_unpack(recorded.rows)):
            found = dict(zip(names, map(str, row), strict=True))
            if row[-2] != IN_BLOCK:
                found["operation"] = repr(recorded.reader()(index))
            yield index, found


def _check_rows(rows: Iterator[tuple[Any, ...]], virtual: bytearray, held: int) -> None:
    """Raise CorruptData unless the records of virtual operations and of pending transactions' operations match the stored operations one to
    one, in order. `held` is the number of operations of pending transactions.

    For an operation in a block, the record is checked when it is read. Checking a million records takes 0.2 s.
    """
    size_of, end = SIZE.unpack_from, len(virtual)
    at = seen = 0
    for block, _, trx_in_block, _, _, kind, place in rows:
        if kind == IN_BLOCK:
            is_sound = block > 0 and place & SIZE_MASK > 0 and trx_in_block != NO_TRANSACTION
        elif kind == HELD:
            is_sound = place == seen
            seen += 1
        else:
            is_sound = kind <= OF_TRANSACTION and place == at
            at += ID_BYTES if kind == OF_TRANSACTION else 0
            is_sound = is_sound and at + SIZE.size <= end
            at += SIZE.size + (size_of(virtual, at)[0] if is_sound else 0)
        if not is_sound:
            raise CorruptData("a record of an operation that isn't there")
    if (at, seen) != (end, held):
        raise CorruptData("operations without records")


class AccountOperationIndexPart:
    """Snapshot part that contains the entries of all accounts. After a start they are loaded in the background."""

    schema = "indices of operations by id of the account, or by name"

    def __init__(
        self, entries: AccountOperationIndex, recorded: OperationLog, accounts: Accounts, read_mode: ReadMode | None = None
    ) -> None:
        self._entries, self._recorded, self._accounts, self._read_mode = entries, recorded, accounts, read_mode

    def dump(self) -> Iterator[bytes]:
        """Implement `SnapshotPart.dump`."""
        return chain.from_iterable(self.pieces())

    def pieces(self) -> Iterator[Iterator[bytes]]:
        """Yield iterators whose chunks are those of `dump` (see `pieces_of`)."""
        by_id, size = self._entries.by_id, ACCOUNTS_PER_PIECE // SLOTS
        numbers = sorted(by_id.chunks)
        for begin in range(0, len(numbers), size):
            yield self._dump(by_id.items(numbers[begin : begin + size]))
        yield self._dump(self._entries.early.items())

    def _dump(self, every: Iterable[tuple[Any, Integers]]) -> Iterator[bytes]:
        following, firsts = iter(every), self._entries.firsts
        while some := list(islice(following, ACCOUNTS_PER_CHUNK)):
            keys, arrays = [key for key, _ in some], [as_array(entries) for _, entries in some]
            data = b"".join([little_endian(entries).tobytes() for entries in arrays])
            yield msgpack.encode((keys, [firsts.get(key, 0) for key in keys], [len(entries) for entries in arrays], data))

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Implement `SnapshotPart.read`."""
        return lambda: BackgroundLoad((self._entries,), self._restoring(chunks), self._read_mode)

    def _restoring(self, chunks: Iterator[bytes]) -> Iterator[None]:
        """Read one chunk of accounts per step."""
        own = self._entries.raw_attributes()
        by_id, early, firsts = own["by_id"], own["early"], own["firsts"]
        for kept in (by_id.chunks, early, firsts):
            kept.clear()
        known: set[int | str] = set()
        for chunk in chunks:
            every = array(UINT32)
            try:
                keys, begins, counts, data = _ENTRIES.decode(chunk)
                every.frombytes(data)
            except (MsgspecError, ValueError) as error:
                raise CorruptData(str(error)) from None
            every = little_endian(every)
            if min((0, *begins, *counts)) < 0 or len(set(keys)) < len(keys) or not known.isdisjoint(keys):
                raise CorruptData("an account is there twice, or has less than nothing")
            if not len(keys) == len(begins) == len(counts) or sum(counts) != len(every) or max(every, default=-1) >= len(self._recorded):
                raise CorruptData("entries of accounts that don't fit the records")
            known.update(keys)
            at = 0
            for key, first, count in zip(keys, begins, counts, strict=True):
                entries = every[at : at + count]
                at += count
                if isinstance(key, str):
                    early[key] = entries.tobytes()
                elif not 0 <= key < self._accounts.next_id:
                    raise CorruptData("entries of an account that doesn't exist")
                else:
                    by_id.put(key, entries if first or count * UINT32_BYTES > FEW_BYTES else entries.tobytes())
                    if first:
                        firsts[key] = first
            yield

    def copying(self) -> Copying:
        """Implement `SnapshotPart.copying`."""
        entries = self._entries
        firsts, early = entries.firsts.copy(), entries.early.copy()
        chunks = yield from entries.by_id.copying()

        def put_back() -> None:
            entries.cancel_load()
            entries.firsts, entries.early, entries.by_id.chunks = firsts.copy(), early.copy(), chunks()

        return put_back

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Implement `SnapshotPart.entries`."""
        for key, entries in self._every():
            yield key, {"first": str(self._entries.firsts.get(key, 0)), "entries": str(entries.tolist())}

    def _every(self) -> Iterator[tuple[Any, "array[int]"]]:
        """Yield the ids of all accounts, then the names without an account, with their entries."""
        kept = self._entries
        return ((key, as_array(entries)) for key, entries in chain(kept.by_id.items(), kept.early.items()))


CHUNK_BYTES = 1 << 20
HELD_BETWEEN_PAUSES = 1000  # operations
ACCOUNTS_PER_CHUNK = 10_000
ACCOUNTS_PER_PIECE = 80_000  # The entries of fewer accounts are in nearly as many pages of memory.
_HEAD = msgpack.Decoder(tuple[int, int, list[tuple[bytes, bytes]]])
_ENTRIES = msgpack.Decoder(tuple[list[int | str], list[int], list[int], bytes])


def little_endian(entries: "array[int]") -> "array[int]":
    """Convert an array between the native byte order and little-endian, the byte order of snapshots."""
    if sys.byteorder == "big":
        entries = entries[:]
        entries.byteswap()
    return entries
