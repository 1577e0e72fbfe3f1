"""History of the chain's supply. The totals are sampled while blocks are applied, since the state contains only the current totals.

The history begins when the node starts, and covers the time since then with a bounded number of samples.
"""

from msgspec import Struct

from state.chain.chain import Chain
from state.chain.head_change import HeadChange
from state.protocol.transaction import SignedBlock
from state.tables import State

SAMPLES_MAX = 1000


class Sample(Struct, frozen=True):
    """Totals of the chain after a block. Amounts are in the smallest unit."""

    number: int
    time: int
    current_supply: int
    virtual_supply: int
    current_sbd_supply: int
    total_vesting_fund_coin: int
    total_vesting_shares: int
    accounts: int


class SupplyHistory:
    """Samples of the head block, and of all blocks whose numbers are multiples of `stride`.

    When there are too many samples, `stride` is doubled. Which blocks are sampled therefore depends only on their numbers and on the first
    block. Samples of undone blocks are dropped. If the chain returns to a savepoint with blocks that are no longer on the chain, these
    blocks return without being applied, so they have no samples.
    """

    def __init__(self, chain: Chain, most: int = SAMPLES_MAX) -> None:
        self.stride = 1
        self._most = most
        self._state = chain.state
        self._samples: list[Sample] = []
        self._head_id = b""
        self._first_sampled = 0  # the first of the consecutive blocks that were sampled since the last head change
        self._chain = chain
        self._restart()

    def attach(self) -> "SupplyHistory":
        """Subscribe to the chain's events, and return self."""
        self._chain.state.listeners.after_block.append(self._sample)
        self._chain.on_head_change.append(self._on_head_change)
        return self

    @property
    def samples(self) -> list[Sample]:
        """The samples, oldest first. The last one is that of the head block."""
        is_kept = bool(self._samples) and self._samples[-1].number == self._last.number
        return self._samples if is_kept or not self._last.number else [*self._samples, self._last]

    def _restart(self) -> None:
        """Restart with a sample of the current state, since earlier blocks were not observed."""
        self._head_id = self._state.props.head_block_id
        self._last = sample_of(self._state)
        self._drop_from(self._last.number)
        if not self._samples:
            self.stride = 1
        self._add(self._last)

    def _sample(self, state: State, block: SignedBlock) -> None:
        """Sample the state after a block on any branch. This replaces an earlier sample with the same block number."""
        if not self._first_sampled or block.previous != self._head_id:
            self._first_sampled = block.number
        self._head_id = block.id
        self._last = sample_of(state)
        self._drop_from(block.number)
        self._add(self._last)

    def _on_head_change(self, change: HeadChange) -> None:
        """Drop the samples of blocks that left the main branch. The new blocks in their place have already been sampled, unless a savepoint
        was restored.
        """
        noted, self._first_sampled = self._first_sampled, 0
        changed = [*change.popped[-1:], *change.applied[:1]]
        if not changed:
            return
        first, is_noted = min(block.number for block in changed), noted > 0 and self._state.props.head_block_id == self._head_id
        if is_noted and noted <= first:
            return
        self._samples = [kept for kept in self._samples if kept.number < first or (is_noted and kept.number >= noted)]
        if not is_noted:
            self._restart()

    def _drop_from(self, first: int) -> None:
        """Drop the samples from block `first` on."""
        samples = self._samples
        while samples and samples[-1].number >= first:
            samples.pop()

    def _add(self, sample: Sample) -> None:
        """Store a sample if its number is a multiple of `stride`. If there are too many, double `stride` and drop every other sample."""
        if not sample.number or sample.number % self.stride:
            return
        self._samples.append(sample)
        if len(self._samples) > self._most:
            self.stride *= 2
            self._samples = [kept for kept in self._samples if kept.number % self.stride == 0]


def sample_of(state: State) -> Sample:
    """Return the current totals of the chain."""
    props = state.props
    return Sample(
        number=props.head_block_number,
        time=props.time,
        current_supply=props.current_supply,
        virtual_supply=props.virtual_supply,
        current_sbd_supply=props.current_sbd_supply,
        total_vesting_fund_coin=props.total_vesting_fund_coin,
        total_vesting_shares=props.total_vesting_shares,
        accounts=len(state.accounts),
    )
