"""The chain: its state, the branches of blocks on which it can change course, and the transactions that wait for a block.
Source: block-processing.md §2.4-§2.7, §2.12, §4.3, §4.4, §6.4.
"""

from collections import deque
from collections.abc import Callable

from state.chain.blocks import apply_block
from state.chain.forks import ForkTree
from state.chain.hardforks import LAST_BY_TIME
from state.chain.producing import assemble_block
from state.chain.skip import Skip
from state.chain.soft_rules import install_soft_rules
from state.chain.transactions import apply_transaction
from state.protocol.errors import ChainError, Refused, require
from state.protocol.transaction import ZERO_ID, SignedBlock, SignedTransaction
from state.tables import State

PENDING_MAX = 100_000
TRANSACTION_SIZE_MARGIN = 256
# What assembling a block has checked on the same state, a moment before the block is applied. Not so for block 1: it begins with
# the hardforks of genesis, so that its transactions meet other rules than those that it was assembled by.
JUST_CHECKED = (
    Skip.WITNESS_SIGNATURE | Skip.TRANSACTION_SIGNATURES | Skip.AUTHORITY_CHECK | Skip.VALIDATE | Skip.MERKLE_CHECK | Skip.TAPOS_CHECK
)

Told = Callable[[SignedBlock], None]


class Chain:
    """Takes blocks and transactions one at a time, and is at every moment at one head with its pending transactions.

    `out_of_time` says that re-applying pending transactions has taken long enough; the rest then waits unapplied.
    `on_applied` and `on_popped` are told of blocks that have become the head, or have ceased to be.
    """

    def __init__(self, state: State, out_of_time: Callable[[], bool] = lambda: False) -> None:
        self.state = state
        self.forks = ForkTree()
        self.pending: list[SignedTransaction] = []
        self.on_applied: list[Told] = []
        self.on_popped: list[Told] = []
        self._out_of_time = out_of_time
        self._popped: deque[SignedTransaction] = deque()
        self._pending_mark: int | None = None
        self._marks: deque[tuple[int, int]] = deque()  # block number, journal position in front of it
        self._packed: list[bytes] = []  # every block of the main branch that is irreversible, by number - 1
        self._updates: dict[bytes, list[Callable[[State], None]]] = {}
        state.listeners.after_block.append(self._apply_debug_updates)
        state.time_of_block = self._time_of_block
        install_soft_rules(state)

    @property
    def head(self) -> SignedBlock | None:
        """The head block; None at genesis."""
        return self.forks.get(self.state.props.head_block_id)

    # -------------------------------------------------------------- looking up

    def block_by_number(self, number: int) -> SignedBlock | None:
        """The block of the main branch with this number."""
        if 0 < number <= len(self._packed):
            return self.state.wire.unpack_block(self._packed[number - 1])[0]
        if number > self.state.props.head_block_number:
            return None
        return self.forks.on_main_branch(number)

    def _time_of_block(self, number: int) -> int | None:
        block = self.block_by_number(number)
        return None if block is None else block.timestamp

    # -------------------------------------------------------------- blocks

    def push_block(self, block: SignedBlock, skip: int = Skip.NOTHING) -> bool:
        """Take a block; returns whether the chain has switched to another branch. A refused block changes nothing."""
        waiting = self._set_pending_aside()
        try:
            return self._push_block(block, skip)
        finally:
            self._apply_pending(waiting, skip)

    def _push_block(self, block: SignedBlock, skip: int) -> bool:
        limit = self.state.spec.block_limit
        require(not limit or block.number < limit, "Testnet block limit exceeded", condition="new_block.block_num() < TESTNET_BLOCK_LIMIT")
        if skip & Skip.FORK_DB:
            self._apply(block, skip)
            return False
        new_head = self.forks.push(block)
        if new_head.previous != self.state.props.head_block_id:
            if new_head.number > self.state.props.head_block_number:
                self._switch_to(new_head, skip)
                return True
            return False
        try:
            self._apply(new_head, skip)
        except BaseException:
            self.forks.remove(block.id)
            self._restore_fork_head()
            raise
        return False

    def _restore_fork_head(self) -> None:
        head = self.head
        if head is not None:
            self.forks.set_head(head)

    def _apply(self, block: SignedBlock, skip: int) -> None:
        """Apply a block on top of the head, as one session; then make irreversible what has become so."""
        journal = self.state.journal
        mark = journal.mark()
        here = self.state.here
        coordinates = here.block, here.trx_in_block, here.op_in_trx, here.virtual_op
        hardfork_times = self.state.hardfork_times[: LAST_BY_TIME + 1]
        try:
            apply_block(self.state, block, skip)
        except BaseException:
            journal.undo(mark)
            here.block, here.trx_in_block, here.op_in_trx, here.virtual_op = coordinates
            self.state.hardfork_times[: LAST_BY_TIME + 1] = hardfork_times
            raise
        self._marks.append((block.number, mark))
        self._keep_irreversible(block, skip)
        for told in self.on_applied:
            told(block)

    def _keep_irreversible(self, head: SignedBlock, skip: int) -> None:
        """Blocks up to the last irreversible one go where they can't be undone from."""
        last = self.state.props.last_irreversible_block_num
        pack = self.state.wire.pack_block
        while len(self._packed) < last:
            number = len(self._packed) + 1
            block = head if skip & Skip.FORK_DB and number == head.number else self.forks.on_main_branch(number)
            assert block is not None, f"block {number} has become irreversible and is not on the main branch"
            self._packed.append(pack(block))
            self._updates.pop(block.id, None)
        self.forks.limit(head.number - last + 1)
        while self._marks and self._marks[0][0] <= last:
            self._marks.popleft()
        journal = self.state.journal
        journal.cut(self._marks[0][1] if self._marks else journal.mark())

    def _switch_to(self, new_head: SignedBlock, skip: int) -> None:
        """Go over to a longer branch; when one of its blocks is refused, come back to the old one."""
        news, olds = self.forks.branches(new_head.id, self.state.props.head_block_id)
        self._pop_to(olds[-1].previous)
        for i, block in enumerate(reversed(news)):
            self.forks.set_head(block)
            try:
                self._apply(block, skip)
            except BaseException:
                for bad in list(reversed(news))[i:]:
                    self.forks.remove(bad.id)
                self._restore_fork_head()
                self._pop_to(olds[-1].previous)
                for old in reversed(olds):
                    self.forks.set_head(old)
                    self._apply(old, skip)
                raise

    def _pop_to(self, block_id: bytes) -> None:
        while self.state.props.head_block_id != block_id:
            self._pop()

    def pop_block(self) -> None:
        """Undo the head block; its transactions wait to be applied again."""
        waiting = self._set_pending_aside()
        try:
            self._pop()
        finally:
            self.pending = waiting

    def _pop(self) -> None:
        head = self.head
        require(head is not None, "there is no block to pop", condition="head_block.valid()")
        assert head is not None
        self._require_reversible()
        if self.forks.head is head:
            self.forks.pop()
        number, mark = self._marks.pop()
        assert number == head.number
        self.state.journal.undo(mark)
        self._popped.extendleft(reversed(head.transactions))
        for told in self.on_popped:
            told(head)

    def _require_reversible(self) -> None:
        """The head block can be undone."""
        require(bool(self._marks), "the head block is irreversible", condition="head_block_num > last_irreversible_block_num")

    # -------------------------------------------------------------- transactions

    def push_transaction(self, trx: SignedTransaction, skip: int = Skip.NOTHING) -> None:
        """Apply a transaction on top of the head and those that wait, and keep it for the next block; or refuse it."""
        state = self.state
        require(
            trx.size <= state.props.maximum_block_size - TRANSACTION_SIZE_MARGIN,
            condition="fc::raw::pack_size(trx) <= (get_dynamic_global_properties().maximum_block_size - 256)",
        )
        if len(self.pending) >= PENDING_MAX:
            raise Refused("too many transactions wait for a block: ${n}", condition="pending.size() < max", n=PENDING_MAX)
        with state.pushing():
            self._apply_one(trx, skip)

    def _apply_one(self, trx: SignedTransaction, skip: int) -> None:
        journal = self.state.journal
        if self._pending_mark is None:
            self._pending_mark = journal.mark()
        mark = journal.mark()
        try:
            apply_transaction(self.state, trx, skip)
        except BaseException:
            journal.undo(mark)
            raise
        self.pending.append(trx)

    def clear_pending(self) -> None:
        """Forget all transactions that wait."""
        self._set_pending_aside()
        self._popped.clear()

    def _set_pending_aside(self) -> list[SignedTransaction]:
        """Undo the waiting transactions; returns them."""
        if self._pending_mark is not None:
            self.state.journal.undo(self._pending_mark)
            self._pending_mark = None
        waiting, self.pending = self.pending, []
        return waiting

    def _apply_pending(self, waiting: list[SignedTransaction], skip: int) -> None:
        """Apply again what was popped, then what waited; what is known by now, or refused, is dropped."""
        known = self.state.transactions.by_trx_id
        popped, self._popped = self._popped, deque()
        late = False
        for trx in (*popped, *waiting):
            if late or self._out_of_time():
                late = True
                self.pending.append(trx)
                continue
            if known.get(trx.id) is not None:
                continue
            try:
                self._apply_one(trx, skip)
            except ChainError:
                continue

    # -------------------------------------------------------------- producing and debugging

    def generate_block(self, when: int, witness: str, secret: bytes, skip: int = Skip.NOTHING) -> SignedBlock:
        """Make a block of the waiting transactions, sign it and push it."""
        waiting = self._set_pending_aside()
        try:
            block = assemble_block(self.state, waiting, when, witness, secret, skip)
            self._push_block(block, skip | JUST_CHECKED if self.state.props.head_block_number else skip)
        finally:
            self._apply_pending(waiting, skip)
        return block

    def debug_update(self, change: Callable[[State], None], skip: int = Skip.NOTHING) -> None:
        """Make a change of the state part of the head block: it is applied anew together with the change."""
        head = self.head
        require(head is not None and head.previous != ZERO_ID, "the first block can't be changed", condition="head_block.previous")
        assert head is not None
        self._require_reversible()
        self._updates.setdefault(head.id, []).append(change)
        waiting = self._set_pending_aside()
        try:
            self._pop()
            self._push_block(head, skip)
        finally:
            self._apply_pending(waiting, skip)

    def _apply_debug_updates(self, state: State, block: SignedBlock) -> None:
        for change in self._updates.get(block.id, ()):
            change(state)
