"""Keys of transactions that clients are going to push, recovered by other processes while the chain does what comes before them.

Nobody waits for a key: a transaction whose turn comes earlier recovers its own. The processes are started once there have been many
transactions, and stay.
"""

from msgspec import Struct

from node.key_recovery.pool import Batch, Pool
from state.chain.chain import Chain
from state.protocol.errors import ChainError
from state.protocol.keys.records import ANSWER_SIZE
from state.protocol.recovered import keep_signers, signer_records
from state.protocol.transaction import SignedTransaction
from state.protocol.work import TooMuchWork

# The first of them recover their own keys: their turn comes before an answer can be there.
FIRST_LEFT_OUT = 3
# One batch: small ones are answered soon, and every process gets some.
BATCH_TRANSACTIONS = 12
# To start a process takes as long as recovering 1,500 keys: a test suite that sends one small batch has no use for it.
TRANSACTIONS_BEFORE_START = 100
# More signatures than a transaction has in earnest would keep the processes busy with one client.
SIGNATURES_MAX = 4
# Transactions that are kept until they are pushed.
WAITING_MAX = 4096


class _Place(Struct, eq=False):
    """Where in the answer to a batch the keys of a transaction stand."""

    transaction: SignedTransaction
    batch: Batch
    at: int
    end: int


class KeyPrefetcher:
    """Transactions whose keys are being recovered by `workers` processes, the oldest first; they are pushed by `push`."""

    def __init__(self, chain: Chain, workers: int) -> None:
        self._chain, self._workers = chain, workers
        self._pool: Pool | None = None
        self._places: dict[bytes, _Place] = {}
        self._count_before_start = 0

    def prefetch(self, transactions: list[SignedTransaction]) -> None:
        """Have the keys of transactions recovered that are going to be pushed in this order."""
        if self._pool is None:
            self._count_before_start += len(transactions)
            if self._count_before_start < TRANSACTIONS_BEFORE_START:
                return
            self._pool = Pool(self._workers)
        wire = self._chain.state.wire
        for start in range(FIRST_LEFT_OUT, len(transactions), BATCH_TRANSACTIONS):
            chosen = [trx for trx in transactions[start : start + BATCH_TRANSACTIONS] if 0 < len(trx.signatures) <= SIGNATURES_MAX]
            records = [signer_records(wire, trx) for trx in chosen]
            if len(self._places) + len(chosen) > WAITING_MAX:
                # They were never pushed, as their clients have gone; one that still is recovers its own keys.
                self._places.clear()
            batch = self._pool.give(b"".join(records)) if chosen else None
            if batch is None:
                continue
            at = 0
            for trx in chosen:
                end = at + ANSWER_SIZE * len(trx.signatures)
                self._places[trx.id] = _Place(trx, batch, at, end)
                at = end

    def push(self, trx: SignedTransaction, units_max: int | None = None) -> None:
        """Push a transaction that may take so many units of work, with its keys if they are there. A refusal counts only without keys that
        others have recovered, unless it is for too much work.
        """
        place = self._places.pop(trx.id, None) if self._places else None
        if place is None or place.transaction is not trx or self._pool is None:
            self._chain.push_transaction(trx, units_max=units_max)
            return
        self._pool.exchange()
        if place.batch.keys is not None:
            keep_signers(trx, place.batch.keys[place.at : place.end])
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
