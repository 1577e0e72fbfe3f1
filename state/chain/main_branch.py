"""The main branch of a chain: applies its blocks to the state, undoes them, and switches to longer branches.

Callers must undo the pending transactions before they change the main branch. Source: block-processing.md §2.4-§2.7, §4.3, §4.4, §6.4.
"""

from collections import deque
from collections.abc import Callable, Iterable

from state.chain.blocks import apply_block
from state.chain.branches import SignerHistory, keys_given
from state.chain.fork_database import ForkDatabase
from state.chain.hardforks import LAST_BY_TIME
from state.chain.head_change import HeadChange, HeadChangeListener, PoppedBlock
from state.chain.irreversible import IrreversibleBlocks
from state.chain.pending_pool import PendingPool
from state.chain.savepoints import BranchCopy
from state.chain.sidecars import BlockSidecars
from state.chain.skip import TRUSTED, Skip
from state.chain.texts import BlockTexts
from state.protocol.errors import ChainError, require
from state.protocol.transaction import SignedBlock
from state.tables import State

# Rough cost of a block in a switch: it is applied, and a block of the other branch is undone.
BLOCK_UNITS, BYTES_PER_UNIT = 50, 50


class MainBranch:
    """The blocks of the main branch and the fork database.

    All undo sessions are positions in one journal. `positions` contains for each reversible block, oldest first, its number, the journal
    position before it, and the skip flags with which it was applied.
    """

    def __init__(self, state: State, pool: PendingPool) -> None:
        self.state, self._pool = state, pool
        self.forks = ForkDatabase(state.wire)
        self.irreversible_blocks = IrreversibleBlocks(state.wire)
        self._texts = BlockTexts(state, self.irreversible_blocks)
        self.sidecars = BlockSidecars()
        self.on_head_change: list[HeadChangeListener] = []
        self.positions: deque[tuple[int, int, int]] = deque()
        self._signers = SignerHistory(state)

    @property
    def head(self) -> SignedBlock | None:
        """The head block; None at genesis."""
        return self.forks.get(self.state.props.head_block_id)

    def start_at(self, block: SignedBlock | None, older: Callable[[int], bytes | None]) -> None:
        """Resume from a loaded state: the state after `block`, or at genesis if `block` is None.

        `block` is irreversible. `older` finds earlier blocks.
        """
        number = 0 if block is None else block.number
        self.forks, self._signers = ForkDatabase(self.state.wire), SignerHistory(self.state)
        base = self.state.spec.base.number
        assert number >= base, f"block {number} is before the chain's base"
        self.irreversible_blocks.start_at(
            max(base, number - 1), older, [self.state.wire.pack_block(block)] if block and number > base else []
        )
        if block is not None:
            self.forks.push_head(block)
            self.forks.set_irreversible(number)
        self.positions.clear()
        self.sidecars.forget_after(number)

    def restore(self, branch: BranchCopy, positions: Iterable[tuple[int, int, int]]) -> None:
        """Return to the blocks of a savepoint after its state was restored. `positions` are the savepoint's journal positions of blocks."""
        self.irreversible_blocks.return_to(branch)
        self.forks, self.positions = branch.forks.copy(), deque(positions)
        # The old `SignerHistory` holds positions in the replaced journal.
        self._signers = SignerHistory(self.state)

    def push(self, block: SignedBlock, skip_flags: int) -> bool:
        """Push a block and return whether the chain switched to another branch. A refused block changes nothing."""
        limit = self.state.spec.block_limit
        require(not limit or block.number < limit, "Testnet block limit exceeded", condition="new_block.block_num() < TESTNET_BLOCK_LIMIT")
        if block.previous == self.state.props.head_block_id:
            self._extend(block, skip_flags)
            return False
        require(not skip_flags & Skip.FORK_DB, condition="head_block_id() == next_block.previous")
        return self._add_fork_block(block, skip_flags)

    def _extend(self, block: SignedBlock, skip_flags: int) -> None:
        """Apply a block that follows the head."""
        # The fork database must contain the block first, because rules look up the times of blocks in it.
        self.forks.push_head(block)
        try:
            self._apply(block, skip_flags)
        except BaseException:
            self.forks.pop_head()
            # If the same block was popped before, it is also stored as a fork block.
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
        last = len(self.irreversible_blocks)
        require(before >= last, "the branch begins before the last irreversible block ${last}", condition="branch >= last", last=last)
        parent = branch[-1] if branch else self.forks.on_main_branch(before)
        index = before - self.positions[0][0] + 1 if self.positions else 0
        mark = self.positions[index][1] if index < len(self.positions) else self.state.journal.position()
        has_edits = self.sidecars.has_edits_after(len(self.irreversible_blocks))
        self._signers.require(block, 0 if parent is None else parent.timestamp, branch, mark, skip_flags, has_edits)

    def _apply(self, block: SignedBlock, skip_flags: int) -> None:
        """Apply a block and its edits on top of the head as one undo session.

        A refused block is undone. The journal doesn't include the coordinates of the last operation, nor the times of the first hardforks,
        which block 1 can set. Both are therefore restored explicitly.
        """
        journal = self.state.journal
        mark = journal.position()
        here = self.state.position
        coordinates = here.block, here.trx_in_block, here.op_in_trx, here.virtual_op
        hardfork_times = self.state.hardfork_times[: LAST_BY_TIME + 1]
        try:
            apply_block(self.state, block, skip_flags)
            self.sidecars.apply(self.state, block.id)
        except BaseException:
            journal.undo(mark)
            here.block, here.trx_in_block, here.op_in_trx, here.virtual_op = coordinates
            self.state.hardfork_times[: LAST_BY_TIME + 1] = hardfork_times
            raise
        self.positions.append((block.number, mark, skip_flags))

    def _finish(self, change: HeadChange) -> None:
        """Make due blocks irreversible, and call the listeners of the head change.

        Both happen only after the complete change of the head. Until then, a later block of the new branch can be refused, and the old
        branch must be restorable.
        """
        try:
            if accepted := self.state.impersonated.accepted:
                for block in change.applied:
                    self.sidecars.accept(block, accepted)
            self.store_irreversible(change.applied[0].number - 1 if change.applied else 0)
        finally:
            for listener in self.on_head_change:
                listener(change)

    def store_irreversible(self, parent: int) -> None:
        """Step 40 of a block: drop the undo data up to the last irreversible block.

        Irreversible blocks are kept as bytes unless the log contains them. The log can contain blocks up to `parent`, the previous head.
        The undo records of irreversible blocks are dropped, and the fork database drops branches that begin before these blocks.
        """
        last = self.state.props.last_irreversible_block_num
        in_log = self.irreversible_blocks.drop_logged_blocks(parent)
        while len(self.irreversible_blocks) < last:
            number = len(self.irreversible_blocks) + 1
            block = self.forks.on_main_branch(number)
            assert block is not None, f"block {number} has become irreversible and is not on the main branch"
            self.irreversible_blocks.add(block, is_in_log=number <= in_log)
            self._texts.store(block, *self._session_of(number))
            self.sidecars.irreversible_edits = len(self.sidecars.edits_of(block.id))
        self.sidecars.forget(self.forks.set_irreversible(last))
        while self.positions and self.positions[0][0] <= last:
            self.positions.popleft()
        journal = self.state.journal
        journal.commit(self.positions[0][1] if self.positions else journal.position())
        journal.pack_rows()
        self.state.release_indices(last)

    def _session_of(self, number: int) -> tuple[int, int]:
        """Return the journal positions before and after a block, including its state edits. No transaction is pending."""
        marks, end = self.positions, self.state.journal.position()
        index = number - marks[0][0] if marks else -1
        if index < 0:
            return end, end
        return marks[index][1], marks[index + 1][1] if index + 1 < len(marks) else end

    def _switch_to(self, block_id: bytes, skip_flags: int) -> None:
        """Undo the blocks back to the common parent and apply the longer branch. If that fails, restore the old branch.

        The refused block and its successors are removed from the fork database, since they can never be applied.
        """
        forks, props = self.forks, self.state.props
        path = forks.path(block_id)
        self.state.work.announce(len(path) * BLOCK_UNITS + sum(len(kept.packed) for kept in path) // BYTES_PER_UNIT)
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
            # This is an internal error. Listeners must be called with the new head all the same.
            if self.forks.head is not None and self.forks.head.id != self.state.props.head_block_id:
                self.forks.pop_head()
            for listener in self.on_head_change:
                listener(HeadChange(tuple(old.block for old in waiting), ()))
            raise

    def _pop_to(self, block_id: bytes) -> None:
        while self.state.props.head_block_id != block_id:
            self._undo_head()

    @property
    def poppable(self) -> int:
        """The number of blocks that can be popped. Block 1 can't be popped, because it has no parent."""
        return len(self.positions) - (bool(self.positions) and self.positions[0][0] == 1)

    def pop(self, count: int) -> None:
        """Undo `count` reversible blocks, and store them as fork blocks without their edits.

        A new block for the same slot can be identical to a popped block, and must not bring back that block's edits.
        """
        waiting = self._pool.undo()
        popped = []
        try:
            for _ in range(count):
                undone = self._undo_head()
                popped.append(undone.block)
                self.forks.add_fork_block(undone.block, undone.keys)
        finally:
            self._pool.replace(waiting, None)
        for listener in self.on_head_change:
            listener(HeadChange(tuple(popped), ()))
        if self.sidecars.drop([block.id for block in popped]):
            self.forks.clear_refused()  # as after an edit, because other blocks can depend on the dropped edits

    def _undo_head(self) -> PoppedBlock:
        """Undo the head block, and remove it from the main branch of the fork database."""
        head = self.head
        assert head is not None, "there is a block to undo"
        self.require_reversible()
        number, mark, skip = self.positions[-1]
        assert number == head.number
        # Keys set by edits are not in the block's operations.
        keys = set(keys_given(head, self.state.wire.codecs))
        if self.sidecars.edits_of(head.id):
            keys.update(self._signers.keys_since(mark))
        self.positions.pop()
        self.state.journal.undo(mark)
        self._signers.undone(mark)
        self.forks.pop_head()
        # Blocks are popped newest first. Prepending each keeps the transactions in chain order.
        self._pool.popped.extendleft(reversed(head.transactions))
        self.state.journal.on_undone()
        return PoppedBlock(head, skip, tuple(keys))

    def require_reversible(self) -> None:
        """Refuse unless the head block can be undone."""
        require(bool(self.positions), "the head block is irreversible", condition="head_block_num > last_irreversible_block_num")
