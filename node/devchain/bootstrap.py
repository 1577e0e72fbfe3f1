"""The first blocks of a fresh chain: a client that asks as soon as the node answers finds a chain that it can use.

Clients refer to the head or a few blocks behind it, count expirations from its time, and read irreversible blocks. At the genesis none of
that works: its time is long ago.
"""

from collections.abc import Iterator

from state.chain.slots import slot_at_time, slot_time
from state.tables import State

# The rules have a block irreversible 21 blocks later, whoever the witnesses are; block 21 begins the first round of all of them.
BLOCKS = 25


def blocks_to_start(state: State, time: int) -> Iterator[int]:
    """Yield the times of the first blocks, each when the one before has been made: the last slots up to a time.

    On a chain that begins later, or began only a few slots ago, they are its first slots.
    """
    last = max(slot_at_time(state, time), BLOCKS)
    yield slot_time(state, last - BLOCKS + 1)
    for _ in range(BLOCKS - 1):
        yield slot_time(state, 1)
