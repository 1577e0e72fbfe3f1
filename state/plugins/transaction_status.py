"""The plugin `transaction_status`: whether a recent transaction is pending, in a block, or expired.

The reference's option to start at a later block (`track-after`) is not available. Source: block-processing.md §7.8; rpc-api.md §6.9.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from state.plugins.plugin import Plugin
from state.plugins.transaction_index import TransactionIndex, TransactionIndexPart
from state.protocol.constants import COIN_BLOCK_INTERVAL, COIN_MAX_TIME_UNTIL_EXPIRATION
from state.protocol.transaction import ID_BYTES, SignedBlock, SignedTransaction
from state.store.serializers import DictPart, SnapshotPart
from state.tables import State

BLOCK_DEPTH = 64_000
# A block can include a transaction until it expires. An hour of additional blocks is retained beyond the depth. A transaction that expires
# within the depth and is not found is therefore in no block.
MARGIN = COIN_MAX_TIME_UNTIL_EXPIRATION // COIN_BLOCK_INTERVAL


class Status(StrEnum):
    """Status of a transaction in RPC replies."""

    UNKNOWN = "unknown"
    WITHIN_MEMPOOL = "within_mempool"
    WITHIN_REVERSIBLE_BLOCK = "within_reversible_block"
    WITHIN_IRREVERSIBLE_BLOCK = "within_irreversible_block"
    EXPIRED_REVERSIBLE = "expired_reversible"
    EXPIRED_IRREVERSIBLE = "expired_irreversible"
    TOO_OLD = "too_old"


class TransactionStatus:
    """The plugin's data: block number by id for the transactions of the last `depth` blocks, their ids joined by block, and pending ids.

    The plugin writes its own undo records, since a table row per transaction would cost several times the memory.
    """

    def __init__(self, state: State) -> None:
        self.depth = BLOCK_DEPTH + MARGIN
        self.block_of = TransactionIndex()
        self.by_block: dict[int, bytes] = {}
        self.waiting: dict[bytes, bool] = {}
        self._is_in_block = False
        self._record = state.journal.record
        # Bound once, since a new bound method in each undo record would cost memory and time.
        self._undo_enter, self._undo_place, self._undo_drop = self._unenter, self._unplace, self._undrop
        self._undo_begin = self._unbegin

    def earliest(self, state: State) -> int:
        """Return the number of the oldest block whose transactions are all in the index."""
        return max(state.spec.base.number + 1, state.props.head_block_number - self.depth + 1)

    def begin(self, state: State, block: SignedBlock) -> None:
        """Mark that a block is being applied. When it has been applied, `place` adds its transactions. Undoing a refused block clears the
        mark.
        """
        self._is_in_block = True
        self._record((self._undo_begin, None, None))

    def enter(self, state: State, trx: SignedTransaction) -> None:
        """Add a transaction as pending after it was applied. Do nothing while a block is being applied."""
        if not self._is_in_block:
            self.waiting[trx.id] = True
            self._record((self._undo_enter, trx.id, None))

    def place(self, state: State, block: SignedBlock) -> None:
        """Add the transactions of an applied block, and drop those of the block that is now older than `depth`."""
        self._is_in_block = False
        number = block.number
        if block.transactions:
            ids = [trx.id for trx in block.transactions]
            self.by_block[number] = b"".join(ids)
            self.block_of.add_all(ids, number)
            self._record((self._undo_place, number, None))
        dropped = self.by_block.pop(number - self.depth, None)
        if dropped is not None:
            for trx_id in ids_in(dropped):
                self.block_of.drop_first(trx_id)
            self._record((self._undo_drop, number - self.depth, dropped))

    def _unenter(self, trx_id: bytes, _: Any) -> None:
        del self.waiting[trx_id]

    def _unbegin(self, _: None, __: None) -> None:
        self._is_in_block = False

    def _unplace(self, number: int, _: Any) -> None:
        for trx_id in reversed(ids_in(self.by_block.pop(number))):
            self.block_of.drop_last(trx_id)

    def _undrop(self, number: int, dropped: bytes) -> None:
        self.by_block[number] = dropped
        for trx_id in reversed(ids_in(dropped)):
            self.block_of.put_first(trx_id, number)


def ids_in(joined: bytes) -> list[bytes]:
    """Split concatenated ids."""
    return [joined[begin : begin + ID_BYTES] for begin in range(0, len(joined), ID_BYTES)]


def find_transaction(state: State, trx_id: bytes, expiration: int | None, time_of_block: Callable[[int], int]) -> tuple[Status, int | None]:
    """Return the status of a transaction, and the number of its block if it is in one.

    The status of an unknown transaction is derived from its `expiration` (seconds), if the caller passes it: either a block can still
    include the transaction, or it is in no block, because otherwise it would be known. `time_of_block` returns the time of a block on the
    main branch.
    """
    kept = TRANSACTION_STATUS.of(state)
    earliest, irreversible = kept.earliest(state), state.props.last_irreversible_block_num
    if state.props.head_block_number < earliest:
        return Status.UNKNOWN, None
    if trx_id in kept.waiting:
        return Status.WITHIN_MEMPOOL, None
    number = kept.block_of.get(trx_id)
    if number is not None:
        return Status.WITHIN_IRREVERSIBLE_BLOCK if number <= irreversible else Status.WITHIN_REVERSIBLE_BLOCK, number
    if expiration is None:
        return Status.UNKNOWN, None
    if expiration < time_of_block(earliest) + COIN_MAX_TIME_UNTIL_EXPIRATION:
        return Status.TOO_OLD, None
    if irreversible > 0 and irreversible >= state.spec.base.number and expiration <= time_of_block(irreversible):
        return Status.EXPIRED_IRREVERSIBLE, None
    return Status.EXPIRED_REVERSIBLE if expiration < state.head_time else Status.UNKNOWN, None


def install(state: State) -> TransactionStatus:
    """Create the plugin's data and register its listeners."""
    kept = TransactionStatus(state)
    state.listeners.before_block.append(kept.begin)
    state.listeners.after_transaction.append(kept.enter)
    state.listeners.after_block.append(kept.place)
    return kept


def parts(state: State, kept: TransactionStatus) -> dict[str, SnapshotPart]:
    """Return the snapshot parts of the plugin's data."""
    return {
        "block_of": TransactionIndexPart(kept.block_of),
        "by_block": DictPart(kept.by_block, int, bytes),
        "waiting": DictPart(kept.waiting, bytes, bool),
    }


TRANSACTION_STATUS = Plugin(
    "transaction_status",
    TransactionStatus,
    install,
    serves=("transaction_status_api",),
    parts=parts,
    unsaved=("depth", "_is_in_block", "_record", "_undo_enter", "_undo_place", "_undo_drop", "_undo_begin"),
)
