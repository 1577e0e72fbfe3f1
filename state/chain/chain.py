"""The chain: its state, its reversible blocks and forks, and its pending transactions.

The state is always that of the head block with the pending transactions applied on top. Queries therefore see their effects, and a
transaction that contradicts an earlier one is refused at once. Every change of the head follows one pattern: undo the pending transactions,
change the head, apply them again. Source: block-processing.md §2.4-§2.7, §2.12, §4.3, §4.4, §6.4.
"""

from collections.abc import Callable, Generator, Iterable, Sequence

from state.chain.blocks import NO_TRANSACTION
from state.chain.fork_database import ForkDatabase
from state.chain.head_change import HeadChange, HeadChangeListener
from state.chain.irreversible import missing
from state.chain.main_branch import MainBranch
from state.chain.pending import Pending
from state.chain.pending_pool import PendingPool
from state.chain.production import CHECKED_AT_HEAD, assemble_block
from state.chain.savepoints import BranchCopy, Savepoint, StateCopy, blocks_between
from state.chain.skip import Skip
from state.chain.soft_rules import install_soft_rules
from state.chain.state_edits import StateEdit
from state.chain.transactions import impersonate
from state.protocol.errors import existing, require
from state.protocol.operation import Operation
from state.protocol.transaction import ZERO_ID, SignedBlock, SignedTransaction
from state.store.rows import run_steps
from state.tables import State


class Chain:
    """A blockchain that applies blocks and transactions one at a time. A refused block or transaction changes nothing.

    `started_at` is the number of the block whose snapshot the state was loaded from, 0 after a start from genesis.

    `out_of_time` limits how long pending transactions are applied again or tried for a block. Once it returns True, the remaining
    transactions stay pending without being applied. Listeners in `on_head_change` are called once per change of the head, after a branch is
    completely applied and before pending transactions are applied again. A refused branch doesn't change the head.

    `is_disposable` is whether the chain is a copy that is not used after the current work, so that nothing has to be restored.
    """

    def __init__(self, state: State, out_of_time: Callable[[], bool] = lambda: False) -> None:
        self.state = state
        self.pool = PendingPool(state, out_of_time)
        self.main_branch = MainBranch(state, self.pool)
        self.irreversible_blocks, self.sidecars = self.main_branch.irreversible_blocks, self.main_branch.sidecars
        self.started_at = 0
        self.is_disposable = False
        state.time_of_block, state.operations_of = self._time_of_block, self._operations_of
        install_soft_rules(state)

    @property
    def head(self) -> SignedBlock | None:
        """The head block; None at genesis."""
        return self.main_branch.head

    @property
    def forks(self) -> ForkDatabase:
        """The reversible blocks of the main branch and of all forks."""
        return self.main_branch.forks

    @property
    def on_head_change(self) -> list[HeadChangeListener]:
        """The listeners of head changes."""
        return self.main_branch.on_head_change

    @property
    def base(self) -> int:
        """The number of the block after which the chain begins; 0 if it begins at genesis. The blocks up to it are not here."""
        return self.state.spec.base.number

    @property
    def irreversible(self) -> int:
        """The number of the last block that can't be undone, at least `base`; 0 at genesis.

        The rules' last irreversible block can be below `base`.
        """
        return len(self.irreversible_blocks)

    @property
    def pending(self) -> Pending:
        """The pending transactions. Each change of the head creates a new list."""
        return self.pool.transactions

    # -------------------------------------------------------------- snapshots, savepoints

    def rewind(self) -> int:
        """Undo all reversible blocks for a snapshot, and return the last irreversible block's number. Afterwards the chain is unusable."""
        self.pool.undo()
        if self.main_branch.positions:
            self.state.journal.undo(self.main_branch.positions[0][1])
        assert self.state.props.head_block_number == self.irreversible
        return self.irreversible

    def start_at(
        self, block: SignedBlock | None, older: Callable[[int], bytes | None], *, is_changed_by_hand: bool, settled_edits: int = 0
    ) -> None:
        """Resume from a loaded state: the state after `block`, or at genesis if `block` is None.

        `block` is irreversible. `older` finds earlier blocks.
        """
        here, number = self.state.position, 0 if block is None else block.number
        here.block, here.trx_in_block, here.op_in_trx, here.virtual_op = number, NO_TRANSACTION if block else 0, 0, 0
        self.main_branch.start_at(block, older)
        self.pool.replace(Pending(), None, Skip.NOTHING)
        self.pool.popped.clear()
        self.sidecars.irreversible_edits, self.sidecars.is_changed_by_hand = settled_edits, is_changed_by_hand
        self.started_at = number
        self.state.journal.commit(self.state.journal.position())

    def savepoint(self) -> Savepoint:
        """Return a savepoint of the chain with its pending transactions. This takes time proportional to the whole state."""
        return run_steps(self.savepoint_in_steps())

    def savepoint_in_steps(self) -> Generator[None, None, Savepoint]:
        """Make a savepoint in steps. Between steps the chain can be read, but its head must not change."""
        return Savepoint(
            state=(yield from StateCopy(self.state).fill()),
            branch=self.branch(),
            pending=tuple(self.pending),
            popped=tuple(self.pool.popped),
            pending_position=self.pool.position,
            positions=tuple(self.main_branch.positions),
            edits=self.sidecars.edits.copy(),
            irreversible_edits=self.sidecars.irreversible_edits,
            started_at=self.started_at,
            is_changed_by_hand=self.sidecars.is_changed_by_hand,
        )

    def branch(self) -> BranchCopy:
        """Return a copy of the main branch, independent of later changes."""
        return self.irreversible_blocks.branch(self.forks)

    def restore(self, savepoint: Savepoint) -> None:
        """Return to a savepoint of this chain, even across irreversible blocks and a start from a snapshot.

        The restored blocks that are not on the current main branch are reported to listeners as applied blocks.
        """
        now, then = self.branch(), savepoint.branch
        savepoint.state.restore()
        self.main_branch.restore(then, savepoint.positions)
        self.pool.replace(Pending(savepoint.pending), savepoint.pending_position)
        self.pool.popped.clear()
        self.pool.popped.extend(savepoint.popped)
        self.sidecars.irreversible_edits, self.sidecars.is_changed_by_hand = savepoint.irreversible_edits, savepoint.is_changed_by_hand
        self.sidecars.restore(savepoint.edits)
        self.started_at = savepoint.started_at
        popped, applied, same = blocks_between(now, then, self.state.wire)
        if popped or applied:
            self.irreversible_blocks.call(self.on_head_change, HeadChange(popped, applied), same)

    # -------------------------------------------------------------- looking up

    def block_by_number(self, number: int) -> SignedBlock | None:
        """Return the block of the main branch with this number, or None."""
        if number <= self.base:
            return None
        if number <= self.irreversible:
            return self.irreversible_blocks.block(number)
        if number > self.state.props.head_block_number:
            return None
        return self.forks.on_main_branch(number)

    def _time_of_block(self, number: int) -> int | None:
        if number == self.base:
            return self.state.spec.base.time or None
        header = self.irreversible_blocks.header(number) if number <= self.irreversible else self.block_by_number(number)
        return None if header is None else header.timestamp

    def _operations_of(self, number: int, index: int, size: int, check: int) -> tuple[bytes, tuple[Operation, ...]]:
        """Return the id and operations of a transaction of a main branch block. See `IrreversibleBlocks.operations_of`."""
        if number > self.irreversible:
            block = self.forks.on_main_branch(number)
            if block is None or index >= len(block.transactions):
                raise missing(number)
            return block.transactions[index].id, block.transactions[index].operations
        return self.irreversible_blocks.operations_of(number, index, size, check)

    # -------------------------------------------------------------- blocks

    def push_block(self, block: SignedBlock, skip_flags: int = Skip.NOTHING) -> bool:
        """Push a block and return whether the chain switched to another branch. A refused block changes nothing.

        The chain switches only to a longer branch, so of two blocks with the same number the first stays the head. A block of a shorter or
        equally long branch is stored without being applied. `skip_flags` apply to every block and pending transaction that this call
        applies.
        """
        undone = self.pool.undo()
        try:
            return self.main_branch.push(block, skip_flags)
        finally:
            self.pool.apply_again(undone, skip_flags)

    def pop_block(self) -> None:
        """Undo the head block. Its transactions are applied again after the next block, except those that the next block contains."""
        head = existing(self.head, "there is no block to pop", condition="head_block.valid()")
        self.main_branch.require_reversible()
        require(self.forks.get(head.previous) is not None, "popping block would leave head block null", condition="prev")
        self.main_branch.pop(1)

    def pop_blocks(self, count: int) -> None:
        """Undo the last `count` blocks, or refuse if fewer can be popped. Their transactions are applied again after the next block."""
        require(count > 0, "the number of blocks must be above 0", condition="count > 0")
        require(
            count <= self.main_branch.poppable,
            "only ${most} of ${count} blocks can be undone, those after block ${last}",
            condition="count <= poppable",
            count=count,
            most=self.main_branch.poppable,
            last=self.state.props.head_block_number - self.main_branch.poppable,
        )
        self.main_branch.pop(count)

    # -------------------------------------------------------------- transactions

    def push_transaction(self, trx: SignedTransaction, skip_flags: int = Skip.NOTHING, units_max: int | None = None) -> None:
        """Apply a transaction on top of the pending transactions and add it to them. The transaction can be refused, for example with
        TooMuchWork.
        """
        self.pool.push(trx, skip_flags, units_max)

    def clear_pending(self) -> None:
        """Undo and drop all pending transactions, including the transactions of popped blocks."""
        self.pool.clear()

    # -------------------------------------------------------------- producing and debugging

    def generate_block(
        self, when: int, witness: str, secret: bytes, skip_flags: int = Skip.NOTHING, own: Sequence[SignedTransaction] = ()
    ) -> SignedBlock:
        """Assemble a block of pending transactions, or of the producer's `own`, sign it and apply it like any other block."""
        are_tried = not self.pool.skip_flags & ~skip_flags
        undone = self.pool.undo()
        try:
            block = assemble_block(self.state, undone, when, witness, secret, skip_flags, self.pool.out_of_time, are_tried, own)
            self.main_branch.push(block, skip_flags | CHECKED_AT_HEAD if self.state.props.head_block_number else skip_flags)
        finally:
            self.pool.apply_again(undone, skip_flags)
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

        The edit is stored under the block's id, and made at the end of each application of the block, in its undo session. It is therefore
        undone with the block, and made again with it after a fork switch. The block's id doesn't change, since it includes no state digest.
        `skip_flags` apply to the pending transactions, which are applied again.
        """
        head = self.head
        # Block 1 can't be undone, and the base isn't sent to replicas.
        is_later = head is not None and head.previous != ZERO_ID and head.number > self.base
        require(is_later, "the first block can't be changed", condition="head_block.previous")
        assert head is not None
        undone = self.pool.undo()
        try:
            self.sidecars.add_to_head(self.state, [edit], is_reversible=bool(self.main_branch.positions))
            # Blocks that were refused before can be valid after the edit.
            self.forks.clear_refused()
            self.main_branch.store_irreversible(self.state.props.head_block_number)
            for listener in self.sidecars.on_added:
                listener(head.id, edit)
        finally:
            self.pool.apply_again(undone, skip_flags)

    def plan_edits(self, block_id: bytes, edits: Iterable[StateEdit]) -> None:
        """Plan edits that are made when a block is applied, after any edits planned earlier. A start that applies blocks again needs this.

        If the block is the head, its edits are made at once, except those that the loaded snapshot includes. Edits of earlier irreversible
        blocks are already in the state.
        """
        if block_id != self.state.props.head_block_id:
            self.sidecars.add(block_id, edits)
            return
        self.sidecars.add_to_head(self.state, edits, is_reversible=bool(self.main_branch.positions), are_known=True)
        self.main_branch.store_irreversible(self.state.props.head_block_number)
