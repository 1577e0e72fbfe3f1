"""Recovers the keys of queued transactions in worker processes, while the chain runs earlier jobs.

The chain never waits for a key: if a transaction's keys aren't ready, the chain recovers them itself. The processes start after
TRANSACTIONS_BEFORE_START transactions, and run until `close`.
"""

from msgspec import Struct

from node.key_recovery.pool import Batch, Pool
from state.chain.chain import Chain
from state.protocol.errors import ChainError
from state.protocol.keys.records import ANSWER_SIZE
from state.protocol.recovered import keep_signers, signer_records
from state.protocol.transaction import SignedTransaction
from state.protocol.work import TooMuchWork

# The first transactions of a list are skipped, because they are pushed before an answer can arrive.
FIRST_SKIPPED = 3
# Transactions per batch. Small batches are answered sooner, and are distributed over all processes.
BATCH_TRANSACTIONS = 12
# Starting a process takes as long as recovering 1,500 keys, which isn't worthwhile for a test suite that sends one small batch.
TRANSACTIONS_BEFORE_START = 100
# Transactions with more signatures are skipped. Real transactions have fewer, and others would let one client occupy the processes.
SIGNATURES_MAX = 4
# Maximum number of prefetched transactions that are not pushed yet.
WAITING_MAX = 4096


class _KeyRange(Struct, eq=False):
    """Position of a transaction's keys in the answer to a batch, in bytes."""

    transaction: SignedTransaction
    batch: Batch
    at: int
    end: int


class KeyPrefetcher:
    """Transactions whose keys `workers` processes recover, oldest first. The caller must push them with `push`."""

    def __init__(self, chain: Chain, workers: int) -> None:
        self._chain, self._workers = chain, workers
        self._pool: Pool | None = None
        self._key_ranges: dict[bytes, _KeyRange] = {}
        self._count_before_start = 0

    def prefetch(self, transactions: list[SignedTransaction]) -> None:
        """Start recovering the keys of transactions that will be pushed in this order."""
        if self._pool is None:
            self._count_before_start += len(transactions)
            if self._count_before_start < TRANSACTIONS_BEFORE_START:
                return
            self._pool = Pool(self._workers)
        wire = self._chain.state.wire
        for start in range(FIRST_SKIPPED, len(transactions), BATCH_TRANSACTIONS):
            chosen = [trx for trx in transactions[start : start + BATCH_TRANSACTIONS] if 0 < len(trx.signatures) <= SIGNATURES_MAX]
            records = [signer_records(wire, trx) for trx in chosen]
            if len(self._key_ranges) + len(chosen) > WAITING_MAX:
                # Their clients have disconnected before the push. If one is still pushed, the chain recovers its keys.
                self._key_ranges.clear()
            batch = self._pool.give(b"".join(records)) if chosen else None
            if batch is None:
                continue
            at = 0
            for trx in chosen:
                end = at + ANSWER_SIZE * len(trx.signatures)
                self._key_ranges[trx.id] = _KeyRange(trx, batch, at, end)
                at = end

    def push(self, trx: SignedTransaction, units_max: int | None = None) -> None:
        """Push a transaction with at most `units_max` units of work, and with its keys if they are ready.

        If the transaction is refused with keys from the processes, push it again without these keys, unless it was refused for too much
        work.
        """
        key_range = self._key_ranges.pop(trx.id, None) if self._key_ranges else None
        if key_range is None or key_range.transaction is not trx or self._pool is None:
            self._chain.push_transaction(trx, units_max=units_max)
            return
        if not key_range.batch.is_over:
            self._pool.exchange()
        if key_range.batch.keys is not None:
            keep_signers(trx, key_range.batch.keys[key_range.at : key_range.end])
        is_recovered = trx.signers is not None
        try:
            self._chain.push_transaction(trx, units_max=units_max)
        except ChainError as error:
            if not is_recovered or isinstance(error, TooMuchWork):
                raise
            trx.signers = None
            self._chain.push_transaction(trx, units_max=units_max)
            self._pool.drop_all("a valid transaction was refused with its keys")

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.close()
