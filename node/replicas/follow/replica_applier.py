"""Applies what happens on the chain of another node to a chain of our own, so that both come to the same state. It knows no source.

It is synchronous; its steps are jobs of the processor (`Processor.run_steps`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from time import perf_counter

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

READ_SECONDS_MAX = 0.01  # how long events are applied one after another, before others have their turn
# An undone part and what takes its place are applied without a turn of others in between, up to so many blocks: readers don't see the
# chain without them.
BATCH_BLOCKS_MAX = 1000
# The other node makes blocks after any gap.
CHECKED = Skip.UNDO_HISTORY_CHECK


class Gap(NodeError):
    """A block came that is beyond the next one; the source has to begin at block `wanted`."""

    def __init__(self, wanted: int, number: int) -> None:
        super().__init__(f"block {number} came, and the next one is block {wanted}")
        self.wanted = wanted


class ForkDetected(NodeError):
    """A block came that doesn't follow ours, and nothing was said to be undone: the source has to find the last common block."""

    def __init__(self, number: int) -> None:
        super().__init__(f"block {number} is of another branch than ours")
        self.number = number


class ForkTooDeep(NodeError):
    """The other node's branch leaves ours before a block that can't be undone any more."""

    def __init__(self, common: int, irreversible: int) -> None:
        super().__init__(
            f"the followed node's chain is another one after block {common}, and ours can't be undone before block {irreversible}; is it"
            " the right node? To follow it all the same, begin with an empty --data"
        )
        self.common, self.irreversible = common, irreversible


class ReplicaApplier:
    """Keeps a chain where another node's chain is.

    `begin_anew` puts our chain back to its genesis, for chains made for tests: their nodes go back beyond irreversible blocks. Without it
    such a step is refused. With `is_trusting` signatures and the like aren't checked. A block that is refused raises BlockRefused and
    leaves the chain as it was. With `keeps_pending` the transactions that wait here are kept, and those of undone blocks wait again.
    So many `workers` recover keys ahead while there are many blocks to catch up with; `close` ends them.
    """

    def __init__(
        self,
        chain: Chain,
        *,
        begin_anew: Callable[[], None] | None = None,
        is_trusting: bool = False,
        keeps_pending: bool = False,
        workers: int = 0,
        stopwatch: Stopwatch = perf_counter,
    ) -> None:
        self.chain = chain
        self._begin_anew = begin_anew
        self._skip = TRUST_OWN if is_trusting else CHECKED
        self._prefetcher = BlockPrefetcher((), chain.state.wire, workers, self._skip)
        self._keeps_pending, self._stopwatch = keeps_pending, stopwatch

    @property
    def next(self) -> int:
        """The number of the next block."""
        return self.chain.state.props.head_block_number + 1

    def steps(self, events: Iterable[Event]) -> Iterator[None]:
        """Apply events in slices. Raises BlockRefused, Gap, ForkDetected or ForkTooDeep at the first that can't be applied."""
        pause = self._stopwatch() + READ_SECONDS_MAX
        until, at_once = 0, 0
        for event, block in self._read(events):
            if isinstance(event, BlocksRemoved):
                until, at_once = max(until, self.next - 1), 0
                yield from self._revert_to(event.first - 1)
            elif block is not None:
                yield from self._take(event, block)
                at_once += 1
            if self._stopwatch() > pause and (self.next > until or at_once > BATCH_BLOCKS_MAX):
                yield
                pause = self._stopwatch() + READ_SECONDS_MAX

    def apply(self, *events: Event) -> None:
        """Apply events at once."""
        for _ in self.steps(events):
            pass

    def revert_to(self, number: int) -> Iterator[None]:
        """Undo everything after a block, in steps. Raises ForkTooDeep."""
        yield from self._revert_to(number)

    def close(self) -> None:
        """End the processes that recover keys."""
        self._prefetcher.close()

    # -------------------------------------------------------------- blocks

    def _read(self, events: Iterable[Event]) -> Iterator[tuple[Event, SignedBlock | None]]:
        """Yield events, those of blocks with the block, whose keys are recovered ahead."""
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
            raise BlockRefused(event.number, f"can't be read: {error.message(state.spec.spell)}") from error
        if end != len(event.packed) or block.number != event.number or block.id != event.id:
            raise BlockRefused(event.number, f"its bytes are those of another block, {block.number} {block.id.hex()}")
        if (event.edits or event.accepted) and not state.spec.is_test:
            raise BlockRefused(event.number, f"comes with changes by hand, and {state.spec.name} is no chain made for tests")
        return block

    def _take_again(self, block: SignedBlock, event: NewBlock) -> Iterator[None]:
        """Take a block that is here already: its edits are made that are missing; where it has others, it is applied anew."""
        ours = self.chain.block_by_number(block.number)
        if ours is None or ours.id != block.id:
            raise ForkDetected(block.number)
        known = self.chain.sidecars.edits_of(block.id)
        if known == event.edits:
            return
        if block.number == self.next - 1 and event.edits[: len(known)] == known:
            self._edit(block, event.edits[len(known) :])
            return
        yield from self._revert_to(block.number - 1)
        self._extend(block, event.edits, event.accepted, self._skip)

    def _extend(self, block: SignedBlock, edits: Sequence[StateEdit], accepted: Sequence[int], skip_flags: int) -> None:
        """Apply the block that follows the head, and its edits."""
        chain = self.chain
        chain.sidecars.drop([block.id])  # They would be made with the block.
        for place in accepted:
            if 0 <= place < len(block.transactions):
                chain.state.impersonated.accept(block.transactions[place].id)
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
            raise BlockRefused(block.number, f"an edit by hand is refused: {error.message(self.chain.state.spec.spell)}") from error

    def _clear(self) -> None:
        """Forget the transactions of undone blocks: the other node has what becomes of them."""
        if not self._keeps_pending and (self.chain.pending or self.chain.popped):
            self.chain.clear_pending()

    # -------------------------------------------------------------- back

    def _revert_to(self, number: int) -> Iterator[None]:
        """Undo everything after a block."""
        chain = self.chain
        count = self.next - 1 - number
        if count <= 0:
            return
        if count <= chain.poppable:
            chain.pop_blocks(count)
            self._clear()
        else:
            yield from self._build_anew(number)

    def _build_anew(self, number: int) -> Iterator[None]:
        """Begin at genesis, and apply our own blocks up to a number again, which were found right before."""
        chain = self.chain
        if self._begin_anew is None or not chain.state.spec.is_test:
            raise ForkTooDeep(number, chain.irreversible)
        now, edits = chain.branch(), chain.sidecars.edits.copy()
        # From a snapshot without its blocks there is no way back but to take all from the source.
        has_blocks = not chain.started_at or chain.block_by_number(1) is not None
        self._begin_anew()
        for place in range(1, number + 1 if has_blocks else 1):
            block = now.block(place, chain.state.wire)
            self._extend(block, edits.get(block.id, ()), chain.sidecars.accepted_of(block.id), TRUST_OWN)
            if place % BATCH_BLOCKS_MAX == 0:
                yield
