"""Makes blocks on demand, for test nodes: the logic of debug_node. Source: block-processing.md §6.2, §6.3, §6.5."""

from collections.abc import Iterator

from state.chain.chain import Chain
from state.chain.hardforks import set_hardfork
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_at_time, slot_time
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.errors import require
from state.protocol.keys.keys import public_key, secret_from_wif
from state.tables import State

BLOCKS_MAX = 1_000_000


def generate_blocks(chain: Chain, key: str, count: int, skip: int = Skip.NOTHING, missed: int = 0, edit: bool = True) -> Iterator[None]:
    """Produce blocks with a private key (WIF), each `missed` slots after the first possible one; one block per step.

    It is an iterator so that a node can answer others between two blocks. With `edit` a scheduled witness that signs with another
    key is given this one, without it the iteration ends there. An empty key makes no block.
    """
    if count == 0 or not key:
        return
    require_bounded(count)
    secret = secret_from_wif(key)
    signing_key = public_key(secret)
    state = chain.state
    for _ in range(count):
        slot = missed + 1
        name, when = scheduled_witness(state, slot), slot_time(state, slot)
        if state.witness(name).signing_key != signing_key:
            if not edit:
                return
            give_key(chain, name, signing_key, skip)
        chain.generate_block(when, name, secret, skip)
        yield


def generate_blocks_until(chain: Chain, key: str, time: int, sparsely: bool = True) -> Iterator[None]:
    """Produce blocks until a time (seconds since 1970), one per step.

    Sparsely: one block now, and one in the last slot up to that time; all slots in between are missed.
    """
    state = chain.state
    if state.head_time >= time or not key:
        return
    if not sparsely:
        yield from generate_blocks(chain, key, blocks_until(state, time))
        return
    yield from generate_blocks(chain, key, 1)
    slots = slot_at_time(state, time)
    if slots > 1:
        yield from generate_blocks(chain, key, 1, missed=slots - 1)


def schedule_hardfork(chain: Chain, number: int) -> None:
    """Let the next block apply every hardfork up to a number; a number that this node doesn't know does nothing."""
    if number < len(chain.state.spec.hardfork_versions):
        chain.debug_update(lambda state: set_hardfork(state, number, apply_now=False))


def give_key(chain: Chain, name: str, signing_key: bytes, skip: int) -> None:
    """Make a change of a witness's signing key part of the head block."""
    chain.debug_update(lambda state: state.witnesses.modify(state.witness(name), signing_key=signing_key), skip)


def blocks_until(state: State, time: int) -> int:
    """Return the number of blocks without gaps until the head reaches a time."""
    first = slot_time(state, 1)
    return 1 + max(0, -((first - time) // COIN_BLOCK_INTERVAL))


def require_bounded(count: int) -> None:
    """Refuse more blocks than one call may make."""
    require(count <= BLOCKS_MAX, "No more than ${max} blocks can be generated at once", condition="count <= max", max=BLOCKS_MAX)
