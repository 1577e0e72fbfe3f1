"""The plugin `account_history`: all operations with their places in the chain, by account, by block and by transaction.
Source: block-processing.md §7.1, §7.2 (the in-memory variant); rpc-api.md §6.1, §6.2.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

from msgspec import Struct, msgpack

from state.chain.blocks import NO_TRANSACTION
from state.plugins.plugin import Plugin
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.constants import DAY_SECONDS
from state.protocol.operation import OPERATIONS, Operation, OperationKind
from state.protocol.transaction import ZERO_ID, SignedTransaction
from state.protocol.virtual import ProposalPay, SpsFund
from state.store import History, Lists
from state.store.columns import Column
from state.store.deferred import Deferred
from state.store.parts import DictPart, Install, Part, dump_lists, read_lists
from state.store.rows import PutBack
from state.tables import State

# An entry of an account is dropped when more than KEPT_ENTRIES are newer and it is more than KEPT_SECONDS older than the newest.
KEPT_ENTRIES = 30
KEPT_SECONDS = 30 * DAY_SECONDS

FIRST_SEQUENCE = 1
OPERATION = OperationKind()
BLOCK_SHIFT = 32
RECORDS_PER_CHUNK = 10_000
# Operations class by class know whom they impact, but not the chain; and the treasury has a name of its own on each chain.
OF_TREASURY: tuple[type[ProposalPay | SpsFund], ...] = (ProposalPay, SpsFund)


class Packed(Struct, frozen=True, gc=False, eq=False):
    """An operation as bytes, as a snapshot brings it: a hundred thousand are read in the time in which some thousands are unpacked."""

    data: bytes
    codecs: ChainCodecs

    def unpacked(self) -> Operation:
        """Return the operation."""
        operation: Operation = self.codecs.unpack(OPERATION, self.data)
        return operation

    def __repr__(self) -> str:
        """Return the text of the operation itself, so that both look the same."""
        return repr(self.unpacked())


class OperationRecord(Struct, frozen=True, gc=False, eq=False):
    """An operation and its place in the chain; one record, which the histories of all impacted accounts share."""

    trx_id: bytes
    block: int
    trx_in_block: int
    op_in_trx: int
    virtual_op: int
    timestamp: int
    held: Operation | Packed

    @property
    def operation(self) -> Operation:
        """The operation itself."""
        held = self.held
        return held if isinstance(held, Operation) else held.unpacked()

    @property
    def is_pending(self) -> bool:
        """Whether the operation belongs to a transaction that waits for a block."""
        return self.trx_in_block == NO_TRANSACTION and self.trx_id != ZERO_ID


class AccountHistory:
    """The plugin's data: all records, those of each account, and the place of each transaction.

    Records are in the order in which they were made, so their block numbers ascend and a block is found by bisection. As on the
    reference all records are kept, and of each account the newest entries: the plugin grows with the chain.
    """

    def __init__(self, state: State) -> None:
        journal = state.journal
        self._log: Lists[None, OperationRecord] = Lists(journal)
        self.accounts: Lists[str, OperationRecord] = Lists(journal)
        self.transactions: dict[bytes, int] = {}
        self._journal = journal
        self._forget_transaction = self._unrecord_transaction

    @property
    def records(self) -> History[OperationRecord]:
        """All records, oldest first."""
        return self._log.get(None)

    def record(self, state: State, operation: Operation) -> None:
        """Before an operation: record it for all accounts that it impacts; without any it isn't recorded."""
        accounts = operation.impacted()
        if accounts:
            self._enter(state, operation, accounts)

    def record_of_treasury(self, state: State, operation: ProposalPay | SpsFund) -> None:
        """Before an operation that impacts the treasury: record it under the name that the treasury has on this chain."""
        accounts = {state.spec.treasury}
        if isinstance(operation, ProposalPay):
            accounts.add(operation.receiver)
        self._enter(state, operation, accounts)

    def _enter(self, state: State, operation: Operation, accounts: set[str]) -> None:
        here, now = state.here, state.props.time
        virtual_op = here.virtual_op if operation.VIRTUAL else 0
        record = OperationRecord(here.trx_id, here.block, here.trx_in_block, here.op_in_trx, virtual_op, now, operation)
        self._log.append(None, record)
        for account, number in zip(accounts, self.accounts.append_to_each(accounts, record), strict=True):
            if number % KEPT_ENTRIES == 0:
                self._prune(account)

    def _prune(self, account: str) -> None:
        """Free the memory of an account's dropped entries; now and then is often enough, as queries leave them out anyway."""
        history = self.accounts.get(account)
        count = dropped(history)
        if count:
            self.accounts.drop_front(account, count)

    def record_transaction(self, state: State, trx: SignedTransaction) -> None:
        """After a transaction: note its block and its place there, unless it waits for a block."""
        here = state.here
        if here.trx_in_block != NO_TRANSACTION and here.block > state.props.head_block_number:
            self.transactions[trx.id] = here.block << BLOCK_SHIFT | here.trx_in_block
            self._journal.record((self._forget_transaction, trx.id, None))

    def _unrecord_transaction(self, trx_id: bytes, _: Any) -> None:
        del self.transactions[trx_id]


def history(state: State, account: str, start: int, limit: int) -> list[tuple[int, OperationRecord]]:
    """The newest `limit` entries of an account up to the number `start` (negative: the newest), ascending, with their numbers."""
    entries = ACCOUNT_HISTORY.of(state).accounts.get(account)
    first = entries.first + FIRST_SEQUENCE
    end = len(entries) if start < 0 else min(len(entries), max(start - first + 1, 0))
    begin = max(end - limit, dropped(entries))
    return list(enumerate(entries[begin:end], first + begin))


def operations_in_block(state: State, number: int, only_virtual: bool = False) -> list[OperationRecord]:
    """Return the operations of a block: by transaction, in each the real ones before the virtual ones; then those of the block itself.

    Operations that wait for a block are listed under the head block, as on the reference.
    """
    records = ACCOUNT_HISTORY.of(state).records
    found = records[position(records, number) : position(records, number + 1)]
    return in_order(record for record in found if not only_virtual or record.operation.VIRTUAL)


def virtual_operations(state: State, begin: int, end: int, enough: int) -> tuple[list[OperationRecord], int]:
    """Return the virtual operations of the blocks from `begin` to before `end`, and the number of the next block with any, or 0.

    They end earlier, with the block that brings their number to `enough`. Operations that wait for a block are left out: a caller
    who reads on from block to block would get them a second time with their block.
    """
    records = ACCOUNT_HISTORY.of(state).records
    found: list[OperationRecord] = []
    for record in records[position(records, begin) : position(records, end)]:
        if is_virtual(record):
            if len(found) >= enough and record.block != found[-1].block:
                return in_order(found), record.block
            found.append(record)
    later = (records[at] for at in range(position(records, end), len(records)))
    return in_order(found), next((record.block for record in later if is_virtual(record)), 0)


def locate_transaction(state: State, trx_id: bytes) -> tuple[int, int] | None:
    """Return block number and index in the block of a transaction of the main branch, None for any other."""
    place = ACCOUNT_HISTORY.of(state).transactions.get(trx_id)
    return None if place is None else (place >> BLOCK_SHIFT, place & NO_TRANSACTION)


def install(state: State) -> AccountHistory:
    """Make the lists and listen. Operations are recorded before they are applied, so they precede the virtual ones that they cause."""
    kept = AccountHistory(state)
    others = (cls for cls in OPERATIONS.values() if cls not in OF_TREASURY)
    state.listeners.on_operation(kept.record, *others, after=False)
    state.listeners.on_operation(kept.record_of_treasury, *OF_TREASURY, after=False)
    state.listeners.after_transaction.append(kept.record_transaction)
    return kept


def dropped(entries: History[OperationRecord]) -> int:
    """Return how many of an account's entries are dropped: at the time of the newest one they were old and enough were newer.

    This depends on the entries alone, not on when memory was freed, so every node answers alike; and a dropped entry never
    comes back, since later entries only make it older.
    """
    if len(entries) <= KEPT_ENTRIES + 1:
        return 0
    since = entries[-1].timestamp - KEPT_SECONDS
    return bisect_left(entries, since, hi=len(entries) - KEPT_ENTRIES - 1, key=lambda entry: entry.timestamp)


def position(records: History[OperationRecord], block: int) -> int:
    """Return the index at which the records of a block begin, or would begin."""
    return bisect_left(records, block, key=lambda record: record.block)


def in_order(records: Iterable[OperationRecord]) -> list[OperationRecord]:
    """Sort records as queries show them."""
    return sorted(records, key=lambda record: (record.block, record.trx_in_block, record.virtual_op))


def is_virtual(record: OperationRecord) -> bool:
    """Whether a record is of a virtual operation in a block, rather than of one that a waiting transaction has caused."""
    return record.operation.VIRTUAL and not record.is_pending


# ------------------------------------------------------------------ snapshots


class HistoryPart:
    """All records, then the places of those of each account in them: a record that several accounts share is one afterwards too."""

    schema = "operations as on the wire with their places, by account"

    def __init__(self, state: State, kept: AccountHistory) -> None:
        self._codecs, self._kept = state.wire.codecs, kept
        self._pack_operation = self._codecs.packer(OPERATION)
        self._columns = [Column(kind) for kind in (bytes, int, int, int, int, int, bytes)]

    def _pack(self, record: OperationRecord) -> bytes:
        """Return the operation of a record as bytes; one that came as bytes from a snapshot is not unpacked for it."""
        held = record.held
        return held.data if isinstance(held, Packed) else self._pack_operation(held)

    def dump(self) -> Iterator[bytes]:
        """See Part."""
        places: dict[int, int] = {}
        records = self._kept.records
        for begin in range(0, len(records), RECORDS_PER_CHUNK):
            piece = records[begin : begin + RECORDS_PER_CHUNK]
            places.update((id(record), place) for place, record in enumerate(piece, begin))
            rows = [(r.trx_id, r.block, r.trx_in_block, r.op_in_trx, r.virtual_op, r.timestamp, self._pack(r)) for r in piece]
            packed = [column.pack(list(values)) for column, values in zip(self._columns, zip(*rows, strict=True), strict=True)]
            yield msgpack.encode((len(piece), packed))
        yield msgpack.encode((0, []))
        yield from dump_lists(self._kept.accounts, _NAMES, lambda values: _PLACES.pack([places[id(record)] for record in values]))

    def read(self, chunks: Iterator[bytes]) -> Install:
        """See Part. The records are made later."""
        return lambda: Deferred((self._kept._log, self._kept.accounts), self._restoring(chunks), self._kept._journal.reads)

    def _restoring(self, chunks: Iterator[bytes]) -> Iterator[None]:
        """Read the records chunk by chunk, one at a step, then the histories of accounts."""
        records: list[OperationRecord] = []
        for count, packed in map(_RECORDS.decode, chunks):
            if not count:
                break
            *places, data = [column.unpack(part, count) for column, part in zip(self._columns, packed, strict=True)]
            records += map(OperationRecord, *places, map(Packed, data, repeat(self._codecs)))
            yield
        found = read_lists(chunks, _NAMES, lambda data, count: [records[place] for place in _PLACES.unpack(data, count)])
        yield
        self._kept._log.restore({None: (0, records)} if records else {})
        self._kept.accounts.restore(found)

    def keep(self) -> PutBack:
        """See Part."""
        parts = [self._kept._log.keep(), self._kept.accounts.keep()]

        def put_back() -> None:
            for part in parts:
                part()

        return put_back

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """See Part."""
        for number, record in enumerate(self._kept.records):
            yield number, {field: repr(getattr(record, field)) for field in record.__struct_fields__}
        for account in self._kept.accounts:
            entries = self._kept.accounts.get(account)
            yield account, {"first": str(entries.first), "count": str(len(entries))}


_NAMES, _PLACES = Column(str), Column(int)
_RECORDS = msgpack.Decoder(tuple[int, list[bytes]])


def parts(state: State, kept: AccountHistory) -> dict[str, Part]:
    """Return what a snapshot holds of the data."""
    return {"records": HistoryPart(state, kept), "transactions": DictPart(kept.transactions, bytes, int)}


ACCOUNT_HISTORY = Plugin(
    "account_history",
    AccountHistory,
    install,
    serves=("account_history_api",),
    parts=parts,
    passing=("_log", "accounts", "_journal", "_forget_transaction"),
)
