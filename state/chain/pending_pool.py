"""The pending transactions of a chain: applied on top of the head, undone before the head changes, and then applied again."""

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from state.chain.pending import HeldSizes, Pending, held_by
from state.chain.skip import Skip
from state.chain.transactions import apply_transaction, require_size_and_work
from state.protocol.errors import ChainError, UnreadableBlock
from state.protocol.transaction import SignedTransaction
from state.protocol.work import ONE_TRANSACTION
from state.tables import State

NOT_APPLIED = -1  # all flags set: perhaps no check of the pending transactions was made on this head


class PendingPool:
    """Applies pending transactions on the state of the head.

    `transactions` are the pending transactions; each undo replaces the list. `popped` are transactions of popped blocks, which are applied
    again after the next block. `position` is the journal position before the first pending transaction, None without one. `skip_flags` are
    the checks that were skipped for at least one pending transaction, or NOT_APPLIED. Once `out_of_time` returns True, transactions stay
    pending without being applied.
    """

    def __init__(self, state: State, out_of_time: Callable[[], bool]) -> None:
        self._state, self.out_of_time = state, out_of_time
        self.transactions, self.popped = Pending(), deque[SignedTransaction]()
        self.position: int | None = None
        self.skip_flags: int = Skip.NOTHING

    def push(self, trx: SignedTransaction, skip_flags: int = Skip.NOTHING, units_max: int | None = None) -> None:
        """Apply a transaction on top of the pending transactions and add it to them. It can be refused, for example with TooMuchWork.

        The node's soft rules (`state.pushing()`) and the work limit apply only here, not when the transaction is applied again.
        """
        require_size_and_work(self._state, trx, units_max)
        held = self.transactions.require_room(trx)
        with self._state.pushing():
            self._apply_one(trx, held, skip_flags, units_max)

    def _apply_one(self, trx: SignedTransaction, held: HeldSizes, skip_flags: int, units_max: int | None = None) -> None:
        journal, work = self._state.journal, self._state.work
        if self.position is None:
            self.position = journal.position()
        mark, before = journal.position(), work.spent
        try:
            if units_max is None:
                apply_transaction(self._state, trx, skip_flags)
            else:
                work.run(units_max, ONE_TRANSACTION, apply_transaction, self._state, trx, skip_flags)
        except BaseException:
            journal.undo(mark)
            raise
        trx.units = work.spent - before
        self.transactions.append(trx, held)
        self.skip_flags |= skip_flags

    def refusal_of(self, trx: SignedTransaction) -> ChainError | None:
        """Return the error that `push` would raise, or None if it would accept the transaction. Changes nothing."""
        mark = self._state.journal.position()
        try:
            require_size_and_work(self._state, trx)
            self.transactions.require_room(trx)
            with self._state.pushing():
                apply_transaction(self._state, trx)
        except ChainError as error:
            return error
        finally:
            self._state.journal.undo(mark)
        return None

    def undo(self) -> Pending:
        """Undo the pending transactions and return them."""
        if self.position is not None:
            self._state.journal.undo(self.position)
        undone = self.transactions
        self.replace(Pending(), None, Skip.NOTHING)
        return undone

    def apply_again(self, undone: Iterable[SignedTransaction], skip_flags: int) -> None:
        """Apply the transactions of popped blocks, then the undone pending transactions. Drop refused transactions, and those that
        need an unreadable block.

        Transactions in the new head are skipped. Once `out_of_time` returns True, the remaining transactions are added without being
        applied. They are checked after the next block, or when they are put into a block. Beyond the memory limit, the newest transactions
        are dropped.
        """
        popped, self.popped = self.popped, deque()
        known, late = self._state.transactions.by_trx_id, False
        for trx in (*popped, *undone):
            held = held_by(trx)
            if not self.transactions.has_room(held[0]):
                break
            if known.get(trx.id) is not None:
                continue
            if late or self.out_of_time():
                late = True
                self.transactions.append(trx, held)
                self.skip_flags = NOT_APPLIED
                continue
            with suppress(ChainError, UnreadableBlock):
                self._apply_one(trx, held, skip_flags)

    def clear(self) -> None:
        """Undo and drop all pending transactions, including the transactions of popped blocks."""
        self.undo()
        self.popped.clear()

    def replace(self, transactions: Pending, position: int | None, skip_flags: int = NOT_APPLIED) -> None:
        """Replace the pending transactions. The new ones have been applied after `position`; with None, they are not applied."""
        self.transactions, self.position, self.skip_flags = transactions, position, skip_flags
