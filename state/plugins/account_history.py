"""Every operation with where it stands in the chain, by account, by block and by transaction. It must not know who asks.
Source: block-processing.md §7.1, §7.2 (the in-memory variant); rpc-api.md §6.1, §6.2.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from state.chain.blocks import NO_TRANSACTION
from state.protocol.constants import DAY_SECONDS
from state.protocol.operation import OPERATIONS, Operation
from state.protocol.transaction import ZERO_ID, SignedTransaction
from state.protocol.virtual import ProposalPay, SpsFund
from state.store import History, Lists
from state.tables import State

NAME = "account_history"

# An entry is gone when there are more than so many newer ones and it is more than so many seconds older than the newest.
KEPT_ENTRIES = 30
KEPT_SECONDS = 30 * DAY_SECONDS

FIRST_SEQUENCE = 1
BLOCK_SHIFT = 32
# Their `impacted` has the treasury's name on the main chain.
OF_TREASURY: tuple[type[ProposalPay | SpsFund], ...] = (ProposalPay, SpsFund)


class OperationRecord(Struct, frozen=True, gc=False, eq=False):
    """An operation and its coordinates; kept once, and shared by all who were touched by it."""

    trx_id: bytes
    block: int
    trx_in_block: int
    op_in_trx: int
    virtual_op: int
    timestamp: int
    operation: Operation

    @property
    def is_pending(self) -> bool:
        """Whether it belongs to a transaction that waits for a block."""
        return self.trx_in_block == NO_TRANSACTION and self.trx_id != ZERO_ID


class AccountHistory:
    """Records in the order in which they were made, so blocks ascend; those of each account; where each transaction is.

    Like the reference it keeps all records and the newest entries of accounts: it grows with the chain.
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
        """Before an operation is applied: enter it for everybody whom it touches; nobody, no record."""
        accounts = operation.impacted()
        if accounts:
            self._enter(state, operation, accounts)

    def record_of_treasury(self, state: State, operation: ProposalPay | SpsFund) -> None:
        """The same for what the treasury does, which has a name of its own on each chain."""
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
        """Give back the memory of entries that are gone; now and then is often enough, as queries don't show them."""
        history = self.accounts.get(account)
        count = dropped(history)
        if count:
            self.accounts.drop_front(account, count)

    def record_transaction(self, state: State, trx: SignedTransaction) -> None:
        """After a transaction: note where it is, unless it waits for a block."""
        here = state.here
        if here.trx_in_block != NO_TRANSACTION and here.block > state.props.head_block_number:
            self.transactions[trx.id] = here.block << BLOCK_SHIFT | here.trx_in_block
            self._journal.record((self._forget_transaction, trx.id, None))

    def _unrecord_transaction(self, trx_id: bytes, _: Any) -> None:
        del self.transactions[trx_id]


def history(state: State, account: str, start: int, limit: int) -> list[tuple[int, OperationRecord]]:
    """The newest `limit` entries of an account up to the number `start` (negative: the newest), ascending, with their numbers."""
    plugin: AccountHistory = state.plugins[NAME]
    entries = plugin.accounts.get(account)
    first = entries.first + FIRST_SEQUENCE
    end = len(entries) if start < 0 else min(len(entries), max(start - first + 1, 0))
    begin = max(end - limit, dropped(entries))
    return list(enumerate(entries[begin:end], first + begin))


def operations_in_block(state: State, number: int, only_virtual: bool = False) -> list[OperationRecord]:
    """What happened in a block: by transaction, in each the real operations first; then what the block itself did.

    What waits for the next block stands under the head block, as on the reference.
    """
    records = state.plugins[NAME].records
    found = records[position(records, number) : position(records, number + 1)]
    return in_order(record for record in found if not only_virtual or record.operation.VIRTUAL)


def virtual_operations(state: State, begin: int, end: int, enough: int) -> tuple[list[OperationRecord], int]:
    """The virtual operations of blocks from `begin` to before `end`, and the next block that has any, or 0.

    With the block that makes them `enough` they end earlier. What waits for the next block is not there: it would come
    again with its block.
    """
    records = state.plugins[NAME].records
    found: list[OperationRecord] = []
    for record in records[position(records, begin) : position(records, end)]:
        if is_virtual(record):
            if len(found) >= enough and record.block != found[-1].block:
                return in_order(found), record.block
            found.append(record)
    later = (records[at] for at in range(position(records, end), len(records)))
    return in_order(found), next((record.block for record in later if is_virtual(record)), 0)


def locate_transaction(state: State, trx_id: bytes) -> tuple[int, int] | None:
    """Block number and place in the block of a transaction of the main branch; None for any other."""
    plugin: AccountHistory = state.plugins[NAME]
    place = plugin.transactions.get(trx_id)
    return None if place is None else (place >> BLOCK_SHIFT, place & NO_TRANSACTION)


def install(state: State) -> AccountHistory:
    """Record from now on: operations before they are applied, so they stand before the virtual ones that they cause."""
    plugin = AccountHistory(state)
    others = (cls for cls in OPERATIONS.values() if cls not in OF_TREASURY)
    state.listeners.on_operation(plugin.record, *others, after=False)
    state.listeners.on_operation(plugin.record_of_treasury, *OF_TREASURY, after=False)
    state.listeners.after_transaction.append(plugin.record_transaction)
    return plugin


def dropped(entries: History[OperationRecord]) -> int:
    """How many of an account's entries are gone: when the newest one came, they were old and had enough newer ones.

    So it depends on nothing but the entries, and what was gone once stays so.
    """
    if len(entries) <= KEPT_ENTRIES + 1:
        return 0
    since = entries[-1].timestamp - KEPT_SECONDS
    return bisect_left(entries, since, hi=len(entries) - KEPT_ENTRIES - 1, key=lambda entry: entry.timestamp)


def position(records: History[OperationRecord], block: int) -> int:
    """Where the records of a block begin, or would."""
    return bisect_left(records, block, key=lambda record: record.block)


def in_order(records: Iterable[OperationRecord]) -> list[OperationRecord]:
    """Records in the order in which queries show them."""
    return sorted(records, key=lambda record: (record.block, record.trx_in_block, record.virtual_op))


def is_virtual(record: OperationRecord) -> bool:
    """Whether a block has caused this, and no longer a waiting transaction."""
    return record.operation.VIRTUAL and not record.is_pending
