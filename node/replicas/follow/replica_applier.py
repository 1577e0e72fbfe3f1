"""Applies the events of another node's chain to this node's chain, so that both reach the same state.

The code is synchronous. Its steps run as jobs of the processor (`Processor.run_steps`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from time import perf_counter

from node.client.errors import WrongChain
from node.history.apply import TRUST_OWN, BlockRefused
from node.key_recovery.block_prefetcher import BlockPrefetcher
from node.runtime.errors import NodeError
from rpc.jsonrpc.scheduler import Stopwatch
from rpc.push.events import BlocksRemoved, Event, NewBlock
from state.chain.chain import Chain
from state.chain.skip import Skip
from state.chain.state_edits import StateEdit
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock

READ_SECONDS_MAX = 0.01  # time of applying events before other tasks run
# A switch to another branch is applied without other tasks in between, up to this many blocks, so that readers don't see the chain
# without both branches.
BATCH_BLOCKS_MAX = 1000
# The other node makes blocks after any gap.
CHECKED = Skip.UNDO_HISTORY_CHECK


class Gap(NodeError):
    """The received block is not the next one but a later one. The source has to start again at block `wanted`."""

    def __init__(self, wanted: int, number: int) -> None:
        super().__init__(f"received block {number}, but the next one is block {wanted}")
        self.wanted = wanted


class ForkDetected(NodeError):
    """The received block doesn't follow the head, and no removal of blocks preceded it. The caller has to find the last common block."""

    def __init__(self, number: int) -> None:
        super().__init__(f"block {number} is on another branch than this node's chain")
        self.number = number


class ForkTooDeep(NodeError):
    """The other node's branch starts before the last irreversible block of this chain."""

    def __init__(self, common: int, irreversible: int) -> None:
        super().__init__(
            f"the followed node's chain is another one after block {common}, and this node's is irreversible up to block {irreversible}."
            " Check that it is the right node. To follow it anyway, start with an empty --data."
        )
        self.common, self.irreversible = common, irreversible


class ReplicaApplier:
    """Keeps a chain in sync with another node's chain.

    `reset` resets the chain to its start. Replicas of test chains need it, since such a chain can revert irreversible blocks. Without
    `reset` such a revert raises ForkTooDeep. `is_trusting` skips checks of signatures and other properties of blocks. A refused block
    raises BlockRefused and leaves the chain unchanged. With `keeps_pending`, pending transactions are kept, and those of undone blocks
    become pending again. `workers` processes recover keys in advance while the replica is far behind; `close` ends them.
    """

    def __init__(
        self,
        chain: Chain,
        *,
        reset: Callable[[], None] | None = None,
        is_trusting: bool = False,
        keeps_pending: bool = False,
        workers: int = 0,
        stopwatch: Stopwatch = perf_counter,
    ) -> None:
        self.chain = chain
        self._reset = reset
        self._skip = TRUST_OWN if is_trusting else CHECKED
        self._prefetcher = BlockPrefetcher((), chain.state.wire, workers, self._skip)
        self._keeps_pending, self._stopwatch = keeps_pending, stopwatch

    @property
    def next(self) -> int:
        """The number of the next block to apply."""
        return self.chain.state.props.head_block_number + 1

    def steps(self, events: Iterable[Event]) -> Iterator[None]:
        """Apply events in steps. Raises BlockRefused, Gap, ForkDetected, ForkTooDeep or WrongChain at the first event that can't be
        applied.
        """
        pause = self._stopwatch() + READ_SECONDS_MAX
        until, at_once = 0, 0
        for event, block in self._read(events):
            if isinstance(event, BlocksRemoved):
                until, at_once = max(until, self.next - 1), 0
                yield from self.revert_to(event.first - 1)
            elif block is not None:
                yield from self._take(event, block)
                at_once += 1
            if self._stopwatch() > pause and (self.next > until or at_once > BATCH_BLOCKS_MAX):
                yield
                pause = self._stopwatch() + READ_SECONDS_MAX

    def apply(self, *events: Event) -> None:
        """Apply events in one step."""
        for _ in self.steps(events):
            pass

    def close(self) -> None:
        """End the processes that recover keys."""
        self._prefetcher.close()

    # -------------------------------------------------------------- blocks

    def _read(self, events: Iterable[Event]) -> Iterator[tuple[Event, SignedBlock | None]]:
        """Yield each event together with its block, if it has one. The keys of the blocks are recovered in advance."""
        for is_removal, some in groupby(events, lambda event: isinstance(event, BlocksRemoved)):
            if is_removal:
                yield from ((event, None) for event in some)
                continue
            blocks = [event for event in some if isinstance(event, NewBlock)]
            self._prefetcher.resume(map(self._unpacked, blocks))
            yield from zip(blocks, self._prefetcher, strict=True)

    def _take(self, event: NewBlock, block: SignedBlock) -> Iterator[None]:
        if event.number > self.next:
            raise Gap(self.next, event.number)
        if block.id == self.chain.state.spec.base.block_id:
            what = f"block {event.number}, with which this node's chain begins, was changed by a state edit after it was copied"
            raise WrongChain(f"{what}. Fork the chain again.")
        if event.number < self.next:
            yield from self._take_again(block, event)
            return
        if block.previous != self.chain.state.props.head_block_id:
            raise ForkDetected(event.number)
        self._extend(block, event.edits, event.accepted, self._skip)

    def _unpacked(self, event: NewBlock) -> SignedBlock:
        state = self.chain.state
        try:
            block, end = state.wire.unpack_block(event.packed)
        except ChainError as error:
            raise BlockRefused(event.number, f"can't be decoded: {error.message(state.spec.spell)}") from error
        if end != len(event.packed) or block.number != event.number or block.id != event.id:
            raise BlockRefused(event.number, f"its bytes belong to block {block.number} {block.id.hex()}")
        if (event.edits or event.accepted) and not state.spec.is_test:
            raise BlockRefused(event.number, f"has state edits, but {state.spec.name} is not a test chain")
        return block

    def _take_again(self, block: SignedBlock, event: NewBlock) -> Iterator[None]:
        """Process a block that the chain already has. If state edits were added to it, apply them; if its edits differ, apply the block
        again.
        """
        ours = self.chain.block_by_number(block.number)
        if ours is None or ours.id != block.id:
            raise ForkDetected(block.number)
        known = self.chain.sidecars.edits_of(block.id)
        if known == event.edits:
            return
        if block.number == self.next - 1 and event.edits[: len(known)] == known:
            self._edit(block, event.edits[len(known) :])
            return
        yield from self.revert_to(block.number - 1)
        self._extend(block, event.edits, event.accepted, self._skip)

    def _extend(self, block: SignedBlock, edits: Sequence[StateEdit], accepted: Sequence[int], skip_flags: int) -> None:
        """Apply the block that follows the head, with its state edits."""
        chain = self.chain
        chain.sidecars.drop([block.id])  # Otherwise they would be applied with the block.
        for index in accepted:
            if 0 <= index < len(block.transactions):
                chain.state.impersonated.accept(block.transactions[index].id)
        try:
            self._prefetcher.push(chain, block, skip_flags)
        except ChainError as error:
            raise BlockRefused(block.number, error.message(chain.state.spec.spell)) from error
        self._edit(block, edits)
        self._clear()

    def _edit(self, block: SignedBlock, edits: Sequence[StateEdit]) -> None:
        try:
            for edit in edits:
                self.chain.edit(edit)
        except ChainError as error:
            raise BlockRefused(block.number, f"a state edit is refused: {error.message(self.chain.state.spec.spell)}") from error

    def _clear(self) -> None:
        """Drop the pending transactions, which include those of undone blocks. The other node decides whether these become pending
        again.
        """
        if not self._keeps_pending and (self.chain.pending or self.chain.pool.popped):
            self.chain.clear_pending()

    # -------------------------------------------------------------- undoing blocks

    def revert_to(self, number: int) -> Iterator[None]:
        """Undo all blocks after block `number`, in steps. Raises ForkTooDeep if that isn't possible."""
        chain = self.chain
        count = self.next - 1 - number
        if count <= 0:
            return
        if count <= chain.main_branch.poppable:
            chain.pop_blocks(count)
            self._clear()
        else:
            yield from self._rebuild(number)

    def _rebuild(self, number: int) -> Iterator[None]:
        """Reset the chain to its start, and apply its own blocks up to `number` again, without checks because they were checked
        before.
        """
        chain = self.chain
        if self._reset is None or not chain.state.spec.is_test:
            raise ForkTooDeep(number, chain.irreversible)
        now, edits = chain.branch(), chain.sidecars.edits.copy()
        # A chain that started from a snapshot without its blocks has to fetch them all from the source.
        first = chain.base + 1
        has_blocks = chain.started_at < first or chain.block_by_number(first) is not None
        self._reset()
        for height in range(first, number + 1 if has_blocks else first):
            block = now.block(height, chain.state.wire)
            self._extend(block, edits.get(block.id, ()), chain.sidecars.accepted_of(block.id), TRUST_OWN)
            if height % BATCH_BLOCKS_MAX == 0:
                yield
