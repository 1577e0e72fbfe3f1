"""The chain: its state, its reversible blocks and forks, and its pending transactions.

The state is always that of the head block with the pending transactions applied on top. Queries therefore see their effects, and a
transaction that contradicts an earlier one is refused at once. Every change of the head follows one pattern: undo the pending
transactions, change the head, apply them again.
Source: block-processing.md §2.4-§2.7, §2.12, §4.3, §4.4, §6.4.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress

from state.chain.blocks import NO_TRANSACTION, apply_block
from state.chain.branches import SignerHistory, keys_given
from state.chain.fork_database import ForkDatabase
from state.chain.hardforks import LAST_BY_TIME
from state.chain.head_change import HeadChange, HeadChangeListener, PoppedBlock
from state.chain.irreversible import IrreversibleBlocks, missing
from state.chain.pending import HeldSizes, Pending, held_by
from state.chain.production import CHECKED_AT_HEAD, assemble_block
from state.chain.savepoints import BranchCopy, Savepoint, StateCopy, blocks_between
from state.chain.sidecars import BlockSidecars
from state.chain.skip import TRUSTED, Skip
from state.chain.soft_rules import install_soft_rules
from state.chain.state_edits import StateEdit, apply_edit
from state.chain.transactions import apply_transaction, impersonate, require_size_and_work
from state.protocol.errors import ChainError, require
from state.protocol.operation import Operation
from state.protocol.transaction import ZERO_ID, SignedBlock, SignedTransaction
from state.protocol.work import ONE_TRANSACTION
from state.store.rows import run_steps
from state.tables import State

NOT_APPLIED = -1  # all flags set: perhaps no check of the pending transactions was made on this head


class Chain:
    """A blockchain that applies blocks and transactions one at a time. A refused block or transaction changes nothing.

    `started_at` is the number of the block whose snapshot the state was loaded from, 0 after a start from genesis.
    `is_changed_by_hand` is whether edits have changed the state since genesis; a replay of the blocks alone doesn't reproduce them.
    `irreversible_edits` is the number of edits of the last irreversible block.

    `out_of_time` limits how long pending transactions are applied again or tried for a block. Once it returns True, the remaining ones
    stay pending, unapplied. Listeners in `on_head_change` are called once per change of the head, after a branch is completely applied and
    before pending transactions are applied again. A refused branch doesn't change the head.
    """

    def __init__(self, state: State, out_of_time: Callable[[], bool] = lambda: False) -> None:
        self.state = state
        self.forks = ForkDatabase(state.wire)
        self.pending = Pending()
        self.on_head_change: list[HeadChangeListener] = []
        self._out_of_time = out_of_time
        self._popped: deque[SignedTransaction] = deque()
        # All undo sessions are positions in one journal. `pending_position` is the position before the first pending transaction, None
        # without one. `_positions` has, per reversible block, oldest first: its number, the position before it, and its skip flags.
        self.pending_position: int | None = None
        # The checks skipped for at least one pending transaction, or NOT_APPLIED.
        self._pending_skip = Skip.NOTHING
        self._positions: deque[tuple[int, int, int]] = deque()
        self.irreversible_blocks, self.started_at = IrreversibleBlocks(state.wire), 0
        self.is_changed_by_hand = False
        self.sidecars = BlockSidecars()
        self.irreversible_edits = 0
        self._signers = SignerHistory(state)
        state.time_of_block, state.operations_of = self._time_of_block, self._operations_of
        install_soft_rules(state)

    @property
    def head(self) -> SignedBlock | None:
        """The head block; None at genesis."""
        return self.forks.get(self.state.props.head_block_id)

    # -------------------------------------------------------------- snapshots, savepoints

    def rewind(self) -> int:
        """Undo all reversible blocks for a snapshot, and return the last irreversible block's number. Afterwards the chain is unusable."""
        self._undo_pending()
        if self._positions:
            self.state.journal.undo(self._positions[0][1])
        assert self.state.props.head_block_number == self.irreversible
        return self.irreversible

    def start_at(
        self, block: SignedBlock | None, older: Callable[[int], bytes | None], *, is_changed_by_hand: bool, settled_edits: int = 0
    ) -> None:
        """Resume from a loaded state: that after `block`, or genesis if None. `block` is irreversible; `older` finds earlier blocks."""
        here, number = self.state.position, 0 if block is None else block.number
        here.block, here.trx_in_block, here.op_in_trx, here.virtual_op = number, NO_TRANSACTION if block else 0, 0, 0
        self.forks, self._signers = ForkDatabase(self.state.wire), SignerHistory(self.state)
        self.irreversible_blocks.start_at(max(0, number - 1), older, [] if block is None else [self.state.wire.pack_block(block)])
        if block is not None:
            self.forks.push_head(block)
            self.forks.set_irreversible(number)
        self.pending, self._popped, self.pending_position, self._pending_skip = Pending(), deque(), None, Skip.NOTHING
        self._positions.clear()
        self.sidecars.forget_after(number)
        self.irreversible_edits = settled_edits
        self.started_at, self.is_changed_by_hand = number, is_changed_by_hand
        self.state.journal.commit(self.state.journal.position())

    @property
    def irreversible(self) -> int:
        """The number of the last irreversible block; 0 at genesis."""
        return len(self.irreversible_blocks)

    def savepoint(self) -> Savepoint:
        """Return a savepoint of the chain with its pending transactions. This takes time proportional to the whole state."""
        return run_steps(self.savepoint_in_steps())

    def savepoint_in_steps(self) -> Generator[None, None, Savepoint]:
        """Make a savepoint in steps. Between steps the chain can be read, but its head must not change."""
        return Savepoint(
            state=(yield from StateCopy(self.state).fill()),
            branch=self.branch(),
            pending=tuple(self.pending),
            popped=tuple(self._popped),
            pending_position=self.pending_position,
            positions=tuple(self._positions),
            edits=self.sidecars.edits.copy(),
            irreversible_edits=self.irreversible_edits,
            started_at=self.started_at,
            is_changed_by_hand=self.is_changed_by_hand,
        )

    def branch(self) -> BranchCopy:
        """Return a copy of the main branch, independent of later changes."""
        return self.irreversible_blocks.branch(self.forks)

    def restore(self, savepoint: Savepoint) -> None:
        """Return to a savepoint of this chain, even across irreversible blocks and a start from a snapshot.

        Listeners get the restored blocks that are not on the current main branch as applied blocks.
        """
        now, then = self.branch(), savepoint.branch
        savepoint.state.restore()
        self.irreversible_blocks.return_to(then)
        self.forks = then.forks.copy()
        self.pending, self._popped = Pending(savepoint.pending), deque(savepoint.popped)
        self.pending_position, self._pending_skip, self._positions = savepoint.pending_position, NOT_APPLIED, deque(savepoint.positions)
        self.sidecars.restore(savepoint.edits)
        self.irreversible_edits = savepoint.irreversible_edits
        self.started_at, self.is_changed_by_hand = savepoint.started_at, savepoint.is_changed_by_hand
        # The old `SignerHistory` holds positions in the replaced journal.
        self._signers = SignerHistory(self.state)
        popped, applied, same = blocks_between(now, then, self.state.wire)
        if popped or applied:
            self.irreversible_blocks.call(self.on_head_change, HeadChange(popped, applied), same)

    # -------------------------------------------------------------- looking up

    def block_by_number(self, number: int) -> SignedBlock | None:
        """Return the block of the main branch with this number, or None."""
        if 0 < number <= self.irreversible:
            return self.irreversible_blocks.block(number)
        if number > self.state.props.head_block_number:
            return None
        return self.forks.on_main_branch(number)

    def _time_of_block(self, number: int) -> int | None:
        header = self.irreversible_blocks.header(number) if 0 < number <= self.irreversible else self.block_by_number(number)
        return None if header is None else header.timestamp

    def _operations_of(self, number: int, index: int, size: int) -> tuple[bytes, tuple[Operation, ...]]:
        """Return id and operations of a transaction on the main branch. It begins `size` bytes before the end of its block."""
        if number > self.irreversible:
            block = self.forks.on_main_branch(number)
            if block is None or index >= len(block.transactions):
                raise missing(number)
            return block.transactions[index].id, block.transactions[index].operations
        return self.irreversible_blocks.operations_of(number, size)

    # -------------------------------------------------------------- blocks

    def push_block(self, block: SignedBlock, skip_flags: int = Skip.NOTHING) -> bool:
        """Push a block and return whether the chain switched to another branch. A refused block changes nothing.

        The chain switches only to a longer branch, so of two blocks with the same number the first stays the head. A block of a
        shorter or equally long branch is stored without being applied. `skip` holds for every block and pending transaction that is
        applied on the way.
        """
        waiting = self._undo_pending()
        try:
            return self._push_block(block, skip_flags)
        finally:
            self._apply_pending(waiting, skip_flags)

    def _push_block(self, block: SignedBlock, skip_flags: int) -> bool:
        limit = self.state.spec.block_limit
        require(not limit or block.number < limit, "Testnet block limit exceeded", condition="new_block.block_num() < TESTNET_BLOCK_LIMIT")
        if block.previous == self.state.props.head_block_id:
            self._extend(block, skip_flags)
            return False
        require(not skip_flags & Skip.FORK_DB, condition="head_block_id() == next_block.previous")
        return self._add_fork_block(block, skip_flags)

    def _extend(self, block: SignedBlock, skip_flags: int) -> None:
        """Apply a block that follows the head."""
        # First in the fork database, because rules look up the times of blocks.
        self.forks.push_head(block)
        try:
            self._apply(block, skip_flags)
        except BaseException:
            self.forks.pop_head()
            # It can also be stored as a popped block.
            self.sidecars.forget(self.forks.drop(block.id))
            raise
        self.forks.release(block.id)
        self._finish(HeadChange((), (block,)))

    def _add_fork_block(self, block: SignedBlock, skip_flags: int) -> bool:
        """Store a fork block, and switch to its branch if that is longer. Return whether the chain switched.

        A known block changes nothing, unless blocks of the main branch have been popped since.
        """
        forks, props = self.forks, self.state.props
        if not forks.is_known(block):
            if skip_flags == Skip.NOTHING:
                forks.require_not_refused(block.id)
            self._require_signed(block, skip_flags)
            forks.require_room(block, is_kept=block.number <= props.head_block_number)
            forks.add_fork_block(block, keys_given(block, self.state.wire.codecs))
        if block.number <= props.head_block_number or forks.get(block.id) is not None:
            return False
        self._switch_to(block.id, skip_flags)
        return True

    def _require_signed(self, block: SignedBlock, skip_flags: int) -> None:
        """Refuse a fork block that no witness can have signed, or whose branch begins before the last irreversible block."""
        branch = self.forks.path(block.previous)
        before = block.number - 1 - len(branch)  # the number of the last common block
        last = self.state.props.last_irreversible_block_num
        require(before >= last, "the branch begins before the last irreversible block ${last}", condition="branch >= last", last=last)
        parent = branch[-1] if branch else self.forks.on_main_branch(before)
        index = before - self._positions[0][0] + 1 if self._positions else 0
        mark = self._positions[index][1] if index < len(self._positions) else self.state.journal.position()
        has_edits = self.sidecars.has_edits_after(self.irreversible)
        self._signers.require(block, 0 if parent is None else parent.timestamp, branch, mark, skip_flags, has_edits)

    def _apply(self, block: SignedBlock, skip_flags: int) -> None:
        """Apply a block and its edits on top of the head as one undo session.

        A refused block is undone. The journal doesn't cover the coordinates of the last operation and the times of the first hardforks,
        which the hardforks of genesis set, so these are restored explicitly.
        """
        journal = self.state.journal
        mark = journal.position()
        here = self.state.position
        coordinates = here.block, here.trx_in_block, here.op_in_trx, here.virtual_op
        hardfork_times = self.state.hardfork_times[: LAST_BY_TIME + 1]
        try:
            apply_block(self.state, block, skip_flags)
            for place, edit in enumerate(self.sidecars.edits_of(block.id)):
                apply_edit(self.state, edit, place)
                self.is_changed_by_hand = True
        except BaseException:
            journal.undo(mark)
            here.block, here.trx_in_block, here.op_in_trx, here.virtual_op = coordinates
            self.state.hardfork_times[: LAST_BY_TIME + 1] = hardfork_times
            raise
        self._positions.append((block.number, mark, skip_flags))

    def _finish(self, change: HeadChange) -> None:
        """Make blocks irreversible that are due, and call the listeners of the head change.

        Both happen only after the whole change: while a later block of a branch can be refused, the old branch must be restorable.
        """
        try:
            if accepted := self.state.impersonated.accepted:
                for block in change.applied:
                    self.sidecars.accept(block, accepted)
            self._store_irreversible(change.applied[0].number - 1 if change.applied else 0)
        finally:
            for listener in self.on_head_change:
                listener(change)

    def _store_irreversible(self, parent: int) -> None:
        """Step 40 of a block: drop the undo data up to the last irreversible block.

        Irreversible blocks are kept as bytes unless the log holds them. The log can hold blocks up to `parent`, the previous head. Their
        undo records are dropped, and the fork database drops branches that begin before them.
        """
        last = self.state.props.last_irreversible_block_num
        in_log = self.irreversible_blocks.drop_logged_blocks(parent)
        while self.irreversible < last:
            number = self.irreversible + 1
            block = self.forks.on_main_branch(number)
            assert block is not None, f"block {number} has become irreversible and is not on the main branch"
            self.irreversible_blocks.add(block, is_in_log=number <= in_log)
            self.irreversible_edits = len(self.sidecars.edits_of(block.id))
        self.sidecars.forget(self.forks.set_irreversible(last))
        while self._positions and self._positions[0][0] <= last:
            self._positions.popleft()
        journal = self.state.journal
        journal.commit(self._positions[0][1] if self._positions else journal.position())
        self.state.release_indices(last)

    def _switch_to(self, block_id: bytes, skip_flags: int) -> None:
        """Undo the blocks back to the common parent and apply the longer branch. If that fails, restore the old branch.

        The refused block and its successors are removed from the fork database, since they can never be applied.
        """
        forks, props = self.forks, self.state.props
        path = forks.path(block_id)
        head_id, parent = props.head_block_id, path[0].previous
        olds: list[PoppedBlock] = []
        news: list[SignedBlock] = []
        try:
            while props.head_block_id != parent:
                olds.append(self._undo_head())
            for kept in path:
                block = self.state.wire.unpack_block(kept.packed)[0]
                assert block.id == kept.id, "a block is the same after packing and unpacking"
                forks.push_head(block)
                self._apply(block, skip_flags)
                news.append(block)
        except BaseException as error:
            if forks.head is not None and forks.head.id != props.head_block_id:
                forks.pop_head()
            # Drop the block after an internal error as well, so that later blocks of the branch don't repeat it.
            bad = path[min(len(news), len(path) - 1)]
            self.sidecars.forget(forks.drop(bad.id))
            if isinstance(error, ChainError) and skip_flags == Skip.NOTHING:
                forks.refuse(bad, error)
            self._restore(olds[-1].block.previous if olds else head_id, olds)
            raise
        for block in news:
            forks.release(block.id)
        for old in olds:
            forks.add_fork_block(old.block, old.keys)
        self._finish(HeadChange(tuple(old.block for old in olds), tuple(news)))

    def _restore(self, parent: bytes, olds: list[PoppedBlock]) -> None:
        """Restore the old branch: undo the blocks after `parent`, then apply `olds` (newest first) again.

        Checks without effect on the state are skipped: the blocks were applied on this state before, perhaps without those checks.
        """
        waiting = list(olds)
        try:
            self._pop_to(parent)
            while waiting:
                old = waiting[-1]
                self.forks.push_head(old.block)
                self._apply(old.block, old.skip | TRUSTED)
                waiting.pop()
        except BaseException:
            # An internal error. Listeners must learn the new head in any case.
            if self.forks.head is not None and self.forks.head.id != self.state.props.head_block_id:
                self.forks.pop_head()
            for listener in self.on_head_change:
                listener(HeadChange(tuple(old.block for old in waiting), ()))
            raise

    def _pop_to(self, block_id: bytes) -> None:
        while self.state.props.head_block_id != block_id:
            self._undo_head()

    def pop_block(self) -> None:
        """Undo the head block. Its transactions are applied again after the next block, unless that contains them."""
        head = self.head
        require(head is not None, "there is no block to pop", condition="head_block.valid()")
        assert head is not None
        self._require_reversible()
        require(self.forks.get(head.previous) is not None, "popping block would leave head block null", condition="prev")
        self._pop(1)

    def pop_blocks(self, count: int) -> None:
        """Undo the last `count` blocks, or refuse if fewer are poppable. Their transactions are applied again after the next block."""
        require(count > 0, "the number of blocks must be above 0", condition="count > 0")
        require(
            count <= self.poppable,
            "only ${most} of ${count} blocks can be undone, those after block ${last}",
            condition="count <= poppable",
            count=count,
            most=self.poppable,
            last=self.state.props.head_block_number - self.poppable,
        )
        self._pop(count)

    @property
    def reversible(self) -> tuple[tuple[int, int, int], ...]:
        """The reversible blocks, oldest first: number, journal position before the block, and the skip flags it was applied with."""
        return tuple(self._positions)

    @property
    def poppable(self) -> int:
        """The number of blocks that can be popped. Block 1 can't, because it has no parent."""
        return len(self._positions) - (bool(self._positions) and self._positions[0][0] == 1)

    def _pop(self, count: int) -> None:
        """Undo `count` reversible blocks, and store them as fork blocks without their edits.

        A new block for the same slot can be identical to a popped one, and popped edits must not be applied with it.
        """
        waiting = self._undo_pending()
        popped = []
        try:
            for _ in range(count):
                undone = self._undo_head()
                popped.append(undone.block)
                self.forks.add_fork_block(undone.block, undone.keys)
        finally:
            self.pending, self._pending_skip = waiting, NOT_APPLIED
        for listener in self.on_head_change:
            listener(HeadChange(tuple(popped), ()))
        if self.sidecars.drop([block.id for block in popped]):
            self.forks.clear_refused()  # as after an edit, since blocks can depend on it

    def _undo_head(self) -> PoppedBlock:
        """Undo the head block, and remove it from the main branch of the fork database."""
        head = self.head
        assert head is not None, "there is a block to undo"
        self._require_reversible()
        number, mark, skip = self._positions[-1]
        assert number == head.number
        # Keys set by edits are not in the block's operations.
        keys = set(keys_given(head, self.state.wire.codecs))
        if self.sidecars.edits_of(head.id):
            keys.update(self._signers.keys_since(mark))
        self._positions.pop()
        self.state.journal.undo(mark)
        self._signers.undone(mark)
        self.forks.pop_head()
        # Blocks are popped newest first. Prepending each keeps the transactions in chain order.
        self._popped.extendleft(reversed(head.transactions))
        return PoppedBlock(head, skip, tuple(keys))

    def _require_reversible(self) -> None:
        """Refuse unless the head block can be undone."""
        require(bool(self._positions), "the head block is irreversible", condition="head_block_num > last_irreversible_block_num")

    # -------------------------------------------------------------- transactions

    def push_transaction(self, trx: SignedTransaction, skip_flags: int = Skip.NOTHING, units_max: int | None = None) -> None:
        """Apply a transaction on top of the pending ones and add it to them, or refuse it, for example with TooMuchWork.

        The node's soft rules (`state.pushing()`) and the work limit apply only here, not when the transaction is applied again.
        """
        require_size_and_work(self.state, trx, units_max)
        held = self.pending.require_room(trx)
        with self.state.pushing():
            self._apply_one(trx, held, skip_flags, units_max)

    def _apply_one(self, trx: SignedTransaction, held: HeldSizes, skip_flags: int, units_max: int | None = None) -> None:
        journal, work = self.state.journal, self.state.work
        if self.pending_position is None:
            self.pending_position = journal.position()
        mark, before = journal.position(), work.spent
        try:
            if units_max is None:
                apply_transaction(self.state, trx, skip_flags)
            else:
                work.run(units_max, ONE_TRANSACTION, apply_transaction, self.state, trx, skip_flags)
        except BaseException:
            journal.undo(mark)
            raise
        trx.units = work.spent - before
        self.pending.append(trx, held)
        self._pending_skip |= skip_flags

    def refusal_of(self, trx: SignedTransaction) -> ChainError | None:
        """Return the error that push_transaction would raise, or None if it would accept the transaction. Changes nothing."""
        mark = self.state.journal.position()
        try:
            require_size_and_work(self.state, trx)
            self.pending.require_room(trx)
            with self.state.pushing():
                apply_transaction(self.state, trx)
        except ChainError as error:
            return error
        finally:
            self.state.journal.undo(mark)
        return None

    def clear_pending(self) -> None:
        """Undo and drop all pending transactions."""
        self._undo_pending()
        self._popped.clear()

    @property
    def popped(self) -> tuple[SignedTransaction, ...]:
        """The transactions of popped blocks, which are applied again after the next block."""
        return tuple(self._popped)

    def put_pending(self, waiting: list[SignedTransaction], popped: Iterable[SignedTransaction], skip_flags: int) -> None:
        """Apply transactions that were pending before on the head's state. Refused ones are dropped."""
        self._apply_pending(waiting, skip_flags)
        self._popped = deque(popped)

    def _undo_pending(self) -> Pending:
        """Undo the pending transactions and return them."""
        if self.pending_position is not None:
            self.state.journal.undo(self.pending_position)
            self.pending_position = None
        waiting, self.pending, self._pending_skip = self.pending, Pending(), Skip.NOTHING
        return waiting

    def _apply_pending(self, waiting: Iterable[SignedTransaction], skip_flags: int) -> None:
        """Apply the transactions of popped blocks, then the previously pending ones. Drop those that are refused.

        Transactions in the new head are skipped. Once time is up, the rest is added unapplied: it is checked after the next block, or
        when it is put into a block. Beyond the memory limit the newest are dropped.
        """
        popped, self._popped = self._popped, deque()
        known, late = self.state.transactions.by_trx_id, False
        for trx in (*popped, *waiting):
            held = held_by(trx)
            if not self.pending.has_room(held[0]):
                break
            if known.get(trx.id) is not None:
                continue
            if late or self._out_of_time():
                late = True
                self.pending.append(trx, held)
                self._pending_skip = NOT_APPLIED
                continue
            with suppress(ChainError):
                self._apply_one(trx, held, skip_flags)

    # -------------------------------------------------------------- producing and debugging

    def generate_block(self, when: int, witness: str, secret: bytes, skip_flags: int = Skip.NOTHING) -> SignedBlock:
        """Assemble a block of pending transactions, sign it and apply it like any other block."""
        are_tried = not self._pending_skip & ~skip_flags
        waiting = self._undo_pending()
        try:
            block = assemble_block(self.state, waiting, when, witness, secret, skip_flags, self._out_of_time, are_tried)
            self._push_block(block, skip_flags | CHECKED_AT_HEAD if self.state.props.head_block_number else skip_flags)
        finally:
            self._apply_pending(waiting, skip_flags)
        return block

    # -------------------------------------------------------------- edits and impersonation

    def impersonate(self, accounts: Iterable[str] = (), is_everyone: bool = False) -> None:
        """Accept unsigned transactions of `accounts`, or of every account.

        This replaces the previous set; an empty set ends impersonation. Unknown accounts are refused. Other nodes refuse blocks with
        such transactions; this one applies them again even after impersonation has ended.
        """
        impersonate(self.state, accounts, is_everyone)

    def edit(self, edit: StateEdit, skip_flags: int = Skip.NOTHING) -> None:
        """Apply a state edit as part of the head block. An edit that is refused or fails changes nothing.

        The edit is stored under the block's id, and made at the end of each application of the block, in its undo session. It is
        therefore undone with the block, and made again with it after a fork switch. The block's id doesn't change, since it includes
        no state digest. `skip` holds for the pending transactions, which are applied again.
        """
        head = self.head
        require(head is not None and head.previous != ZERO_ID, "the first block can't be changed", condition="head_block.previous")
        assert head is not None
        waiting = self._undo_pending()
        try:
            apply_edit(self.state, edit, self._edits_of_head)
            self.is_changed_by_hand = True
            self.sidecars.add(head.id, [edit])
            if not self._positions:
                self.irreversible_edits += 1
            # Refused blocks can be valid after the change.
            self.forks.clear_refused()
            self._store_irreversible(self.state.props.head_block_number)
            for listener in self.sidecars.on_added:
                listener(head.id, edit)
        finally:
            self._apply_pending(waiting, skip_flags)

    @property
    def _edits_of_head(self) -> int:
        """The number of edits made with the head. Edits that a snapshot's state includes can be unknown, so they are only counted."""
        return len(self.sidecars.edits_of(self.state.props.head_block_id)) if self._positions else self.irreversible_edits

    def plan_edits(self, block_id: bytes, edits: Iterable[StateEdit]) -> None:
        """Add edits to be made when a block is applied, after edits planned earlier. A start that reapplies blocks needs this.

        Edits of the head are made at once, except those that its snapshot includes. Edits of earlier irreversible blocks are already in
        the state.
        """
        planned = tuple(edits)
        if block_id != self.state.props.head_block_id:
            self.sidecars.add(block_id, planned)
            return
        made = self._edits_of_head
        new = planned if self._positions else planned[made:]
        for place, edit in enumerate(new, made):
            apply_edit(self.state, edit, place)
            self.is_changed_by_hand = True
        self.sidecars.add(block_id, planned)
        if not self._positions:
            self.irreversible_edits = made + len(new)
        self._store_irreversible(self.state.props.head_block_number)
