"""The plugin `account_history`: all operations with their positions in the chain, by account, block and transaction.
Source: block-processing.md §7.1, §7.2 (the in-memory variant); rpc-api.md §6.1, §6.2.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from state.chain.blocks import NO_TRANSACTION
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount
from state.plugins import operation_log
from state.plugins.plugin import Plugin
from state.plugins.transaction_index import TransactionIndex, TransactionIndexPart
from state.protocol.constants import DAY_SECONDS
from state.protocol.operation import OPERATIONS, Operation
from state.protocol.transaction import SignedBlock
from state.protocol.virtual import ProposalPay, SpsFund
from state.store.packed_integers import UINT32, as_array, pack_uint32
from state.store.serializers import SnapshotPart
from state.store.slots import MASK, SHIFT, SLOTS
from state.tables import State

ENTRIES_OF_UNIT = 4  # operations that one unit of work pays for
# An account's entry is dropped when more than RETAINED_ENTRIES are newer and it is more than RETAINED_SECONDS older than the newest.
RETAINED_ENTRIES = 30
RETAINED_SECONDS = 30 * DAY_SECONDS

FIRST_SEQUENCE = 1
BLOCK_SHIFT = 32
SPENT_SHARE = 8
# These operations impact the treasury, whose name depends on the chain. `Operation.impacted` doesn't know the chain.
OF_TREASURY: tuple[type[ProposalPay | SpsFund], ...] = (ProposalPay, SpsFund)


class AccountHistory:
    """The plugin's data: all records, their indices by account, and the position of each transaction.

    Block numbers of records ascend, so a block is found by bisection. As on the reference, all records and the newest entries of each
    account are retained. Memory grows with the chain.
    """

    def __init__(self, state: State) -> None:
        self.recorded = operation_log.OperationLog(state)
        self.accounts = operation_log.AccountOperationIndex(state.accounts)
        self.transactions = TransactionIndex()
        self._names = state.accounts.by_name.get
        self._record = state.journal.record
        # Bound once, since a new bound method in each undo record would cost memory and time.
        self._take_back, self._put_back, self._forget = self._unenter, self._undrop, self._forget_transactions
        self._give_up = self._unadopt

    def record_of_treasury(self, state: State, operation: ProposalPay | SpsFund) -> None:
        """Record an operation that impacts the treasury, under the treasury's name on this chain. This is called before the operation is
        applied.
        """
        accounts = {state.spec.treasury}
        if isinstance(operation, ProposalPay):
            accounts.add(operation.receiver)
        self.record(state, operation, accounts)

    def record(self, state: State, operation: Operation, impacted: set[str] | None = None) -> None:
        """Record an operation for all accounts that it impacts, before it is applied.

        An operation that impacts no account is not recorded.
        """
        accounts = operation.impacted() if impacted is None else impacted
        if not accounts:
            return
        index = self.recorded.enter(operation)
        own, names = self.accounts, self._names
        early, chunks = own.early, own.by_id.chunks
        for name in accounts:
            row = names(name)
            if row is None:
                early[name] = early.get(name, b"") + pack_uint32(index)
                continue
            # `Slots.get` and `Slots.put`, inlined: each operation gets here.
            row_id = row.id
            place = row_id & MASK
            try:
                chunk = chunks[row_id >> SHIFT]
            except KeyError:
                chunk = chunks[row_id >> SHIFT] = [None] * SLOTS
            entries = chunk[place]
            if isinstance(entries, array):  # the most frequent case
                entries.append(index)
                if not len(entries) % RETAINED_ENTRIES:
                    self._prune(row_id)
                continue
            packed = pack_uint32(index)
            if entries is None:
                chunk[place] = self._adopt(name, row_id) + packed if name in early else packed
            elif len(entries) < operation_log.FEW_BYTES:
                chunk[place] = entries + packed
            else:
                chunk[place] = array(UINT32, entries + packed)
        self._record((self._take_back, accounts, None))

    def adopt(self, state: State, operation: AccountCreate | AccountCreateWithDelegation | CreateClaimedAccount) -> None:
        """Move the entries of a new account's name to the account, after it was created."""
        name = operation.new_account_name
        row = self._names(name)
        if row is not None and name in self.accounts.early:
            self._adopt(name, row.id)

    def _adopt(self, name: str, row_id: int) -> bytes:
        self._record((self._give_up, name, row_id))
        return self.accounts.adopt(name, row_id)

    def _unadopt(self, name: str, row_id: int) -> None:
        self.accounts.give_up(name, row_id)

    def _unenter(self, accounts: set[str], _: None) -> None:
        self.recorded.drop_last()
        self.accounts.drop_last(accounts)

    def _prune(self, row_id: int) -> None:
        """Free the memory of an account's dropped entries once they exceed one eighth of all its entries.

        Freeing many entries at once keeps the cost per entry low. Queries omit dropped entries in any case.
        """
        entries = as_array(self.accounts.by_id.get(row_id) or b"")
        count = dropped(self.recorded, entries)
        if count * SPENT_SHARE > len(entries):
            self._record((self._put_back, row_id, entries[:count]))
            self.accounts.drop_front(row_id, count)

    def _undrop(self, row_id: int, entries: "array[int]") -> None:
        self.accounts.put_front(row_id, entries)

    def begin_block(self, state: State, block: SignedBlock) -> None:
        """Compute the positions of a block's transactions, before the block is applied."""
        self.recorded.begin_block(block)

    def end_block(self, state: State, block: SignedBlock) -> None:
        """Index the transactions of a block after the block was applied. This isn't called for a refused block."""
        self.recorded.block = operation_log.NO_BLOCK
        if block.transactions:
            first = block.number << BLOCK_SHIFT
            ids = tuple([trx.id for trx in block.transactions])
            add = self.transactions.add
            for place, trx_id in enumerate(ids, first):
                add(trx_id, place)
            self._record((self._forget, ids, None))

    def _forget_transactions(self, ids: tuple[bytes, ...], _: None) -> None:
        for trx_id in reversed(ids):
            self.transactions.drop_last(trx_id)


def history(state: State, account: str, start: int, limit: int) -> list[tuple[int, operation_log.OperationRecord]]:
    """Return the newest `limit` entries of an account up to number `start`, in ascending order, with their numbers.

    A negative `start` means the newest entry.
    """
    first, entries = newest_entries(state, account, start, limit)
    return list(enumerate(map(ACCOUNT_HISTORY.of(state).recorded.reader(), entries), first))


def newest_entries(state: State, account: str, start: int, limit: int) -> tuple[int, "array[int]"]:
    """Return the number of the first of the entries that `history` returns, and the indices of the records of all of them."""
    kept = ACCOUNT_HISTORY.of(state)
    first, entries = kept.accounts.get(account)
    first += FIRST_SEQUENCE
    end = len(entries) if start < 0 else min(len(entries), max(start - first + 1, 0))
    begin = max(end - limit, dropped(kept.recorded, entries))
    return first + begin, entries[begin:end]


def operations_in_block(state: State, number: int, only_virtual: bool = False) -> list[operation_log.OperationRecord]:
    """Return the operations of a block: those of its transactions first, then the virtual operations of the block itself.

    Within a transaction, real operations precede the virtual ones that they caused. Operations of pending transactions are listed under the
    head block, as on the reference.
    """
    recorded = ACCOUNT_HISTORY.of(state).recorded
    found = range(position(recorded, number), position(recorded, number + 1))
    state.work.spend(len(found) // ENTRIES_OF_UNIT, "operations of a block")
    return in_order(map(recorded.reader(), (index for index in found if not only_virtual or recorded.is_virtual(index))))


def virtual_operations(state: State, begin: int, end: int, enough: int) -> tuple[list[operation_log.OperationRecord], int]:
    """Return the virtual operations of the blocks from `begin` to before `end`, and the number of the next block with any, or 0.

    The result ends after the block with which it contains at least `enough` operations. Operations of pending transactions are excluded.
    Otherwise a caller that reads block after block would get these operations twice: now, and again with the block that includes the
    transactions.
    """
    recorded = ACCOUNT_HISTORY.of(state).recorded
    read, found = recorded.reader(), list[operation_log.OperationRecord]()
    for index in range(position(recorded, begin), len(recorded)):
        if not index % ENTRIES_OF_UNIT:
            state.work.spend(1, "operations of blocks")
        if recorded.is_virtual(index) and recorded.is_of_block(index):
            block = recorded.block_at(index)
            if block >= end or (len(found) >= enough and block != found[-1].block):
                return in_order(found), block
            found.append(read(index))
    return in_order(found), 0


def locate_transaction(state: State, trx_id: bytes) -> tuple[int, int] | None:
    """Return the block number of a transaction and its index in the block, or None if it isn't on the main branch."""
    place = ACCOUNT_HISTORY.of(state).transactions.get(trx_id)
    return None if place is None else (place >> BLOCK_SHIFT, place & NO_TRANSACTION)


def block_numbers_of(state: State, prefix: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the ids of transactions of the main branch that start with one or more bytes, with the numbers of their blocks."""
    return ((trx_id, place >> BLOCK_SHIFT) for trx_id, place in ACCOUNT_HISTORY.of(state).transactions.starting(prefix))


def install(state: State) -> AccountHistory:
    """Create the plugin's data and register its listeners. Operations are recorded before the virtual ones that they cause."""
    kept = AccountHistory(state)
    others = (cls for cls in OPERATIONS.values() if cls not in OF_TREASURY)
    state.listeners.on_operation(kept.record, *others, after=False)
    state.listeners.on_operation(kept.record_of_treasury, *OF_TREASURY, after=False)
    state.listeners.on_operation(kept.adopt, AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount)
    state.listeners.before_block.append(kept.begin_block)
    state.listeners.after_block.append(kept.end_block)
    return kept


def dropped(recorded: operation_log.OperationLog, entries: "array[int]") -> int:
    """Return the number of an account's entries that are dropped according to RETAINED_ENTRIES and RETAINED_SECONDS.

    This depends only on the entries, not on when memory was freed, so every node gives the same answers. A dropped entry stays dropped,
    since later entries only make it older.
    """
    if len(entries) <= RETAINED_ENTRIES + 1:
        return 0
    since = recorded.time_at(entries[-1]) - RETAINED_SECONDS
    return bisect_left(entries, since, hi=len(entries) - RETAINED_ENTRIES - 1, key=recorded.time_at)


def position(recorded: operation_log.OperationLog, block: int) -> int:
    """Return the index of the first record of a block. If the block has no record, this is the index where one would be inserted."""
    return bisect_left(range(len(recorded)), block, key=recorded.block_at)


def in_order(records: Iterable[operation_log.OperationRecord]) -> list[operation_log.OperationRecord]:
    """Sort records by position in the chain (block, transaction, virtual operation), which is the order of query results."""
    return sorted(records, key=lambda record: (record.block, record.trx_in_block, record.virtual_op))


def parts(state: State, kept: AccountHistory) -> dict[str, SnapshotPart]:
    """Return the snapshot parts of the plugin's data."""
    return {
        "recorded": operation_log.OperationLogPart(state, kept.recorded),
        "accounts": operation_log.AccountOperationIndexPart(kept.accounts, kept.recorded, state.accounts, state.journal.read_mode),
        "transactions": TransactionIndexPart(kept.transactions),
    }


ACCOUNT_HISTORY = Plugin(
    "account_history",
    AccountHistory,
    install,
    serves=("account_history_api",),
    parts=parts,
    unsaved=("_names", "_record", "_take_back", "_put_back", "_forget", "_give_up"),
)
