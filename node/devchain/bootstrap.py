"""The first blocks of a new chain, made so that clients can use the chain as soon as the node answers.

Clients refer to the head or a few blocks behind it, count expirations from its time, and read irreversible blocks. None of that works at
the genesis, whose time is long ago.
"""

from collections.abc import Iterator

from state.chain.slots import slot_at_time, slot_time
from state.tables import State

# With any set of witnesses a block is irreversible 21 blocks later. Block 21 begins the first round of all of them.
BLOCKS = 25


def blocks_to_start(state: State, time: int) -> Iterator[int]:
    """Yield the times of the first blocks: the last slots up to `time`. The caller makes each block before it takes the next time.

    If the chain begins later, or began only a few slots ago, they are its first slots.
    """
    last = max(slot_at_time(state, time), BLOCKS)
    yield slot_time(state, last - BLOCKS + 1)
    for _ in range(BLOCKS - 1):
        yield slot_time(state, 1)
