"""Applies the owner's changes to the chain of a reader. The code is synchronous."""

import shutil
from pathlib import Path

from node.devchain.devchain import DevChain
from node.replicas.follow.replica_applier import ReplicaApplier
from node.replicas.follow.stream_lines import read_packed
from node.replicas.readers.messages import Changes, PendingTransaction, Sync
from node.runtime.clock import TimeLimit
from node.runtime.errors import NodeError
from rpc.push.events import Heartbeat
from state.chain.chain import Chain
from state.chain.skip import TRUSTED, Skip
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction

# The owner has checked the blocks.
CHECKED = TRUSTED | Skip.UNDO_HISTORY_CHECK


class ReaderChain:
    """Chain of a reader. `number` is the number of the last applied message. While `is_out_of_sync` is true, the reader waits for
    a `Sync`.
    """

    def __init__(self, chain: Chain, devchain: DevChain, time_limit: TimeLimit) -> None:
        self.number = 0
        self.is_out_of_sync = True
        self._chain, self._devchain, self._time_limit = chain, devchain, time_limit
        self._applier = ReplicaApplier(chain, is_trusting=True, keeps_pending=True)

    def load(self, sync: Sync) -> None:
        """Load the dump of a `Sync` and remove its file. Raises NodeError and ChainError."""
        path = Path(sync.path)
        try:
            self._devchain.load(sync.path)
        finally:
            shutil.rmtree(path.parent, ignore_errors=True)
        self._chain.sidecars.decode(sync.sidecars)
        self._devchain.apply_settings(sync.settings)
        self._set_pending(sync.pending)
        self.number, self.is_out_of_sync = sync.number, False

    def apply(self, changes: Changes) -> str:
        """Apply changes. Return the reason of a failure, or "". While the reader is out of sync, changes are ignored."""
        if self.is_out_of_sync:
            return ""
        self._time_limit.renew()
        try:
            self._applier.apply(*[item for line in changes.lines if not isinstance(item := read_packed(line), Heartbeat)])
            if changes.settings is not None:
                self._devchain.apply_settings(changes.settings)
            if changes.pending is not None:
                self._set_pending(changes.pending)
            for packed in changes.added:
                self._push(self._chain.state.wire.unpack_transaction(packed))
        except ChainError as error:
            return self._lose_sync(error.message(self._chain.state.spec.spell))
        except NodeError as error:
            return self._lose_sync(str(error))
        self.number = changes.number
        return ""

    def _lose_sync(self, reason: str) -> str:
        self.is_out_of_sync = True
        return reason

    def _set_pending(self, pending: tuple[PendingTransaction, ...]) -> None:
        """Replace the pending transactions with `pending`, in this order."""
        chain, applied = self._chain, self._chain.state.transactions.by_trx_id
        now = [(trx.id, applied.get(trx.id) is not None) for trx in chain.pending]
        if now == [(wanted.id, wanted.is_applied) for wanted in pending]:
            return
        known = {trx.id: trx for trx in chain.pending}
        chain.clear_pending()
        for wanted in pending:
            trx = chain.state.wire.unpack_transaction(wanted.packed) if wanted.packed else known.get(wanted.id)
            if trx is None:
                raise NodeError(f"unknown transaction {wanted.id.hex()}")
            if wanted.is_applied:
                self._push(trx)
            else:
                chain.pending.append(trx)

    def _push(self, trx: SignedTransaction) -> None:
        self._time_limit.renew()
        self._chain.push_transaction(trx, CHECKED)
