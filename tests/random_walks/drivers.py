"""Different ways to process the events of a walk. All must lead to the same state, plugin data and replies."""

from collections.abc import Callable
from functools import cache

import pytest

from node.key_recovery import block_prefetcher
from node.key_recovery.pool import Pool
from state.chain import production
from state.chain.chain import Chain
from state.chain.skip import TRUSTED, Skip
from state.protocol.transaction import SignedBlock
from tests.helpers.nodes import block_at
from tests.helpers.restored import image_of, put
from tests.node.key_recovery.test_block_prefetcher import warm_pool
from tests.node.key_recovery.test_pool import PATIENCE
from tests.random_walks.observation import replies
from tests.random_walks.walk import Event, Walk, apply_event, new_chain

Driver = Callable[[Walk], Chain]


def made_by_itself(walk: Walk) -> Chain:
    """The chain of the walk itself, which produced its blocks from pending transactions."""
    return walk.chain


def pushed(walk: Walk) -> Chain:
    """A chain that receives all blocks and transactions from a peer, with every check."""
    chain = new_chain()
    for event in walk.events:
        expect(event, apply_event(chain, event))
    return chain


def made_by_trial(walk: Walk) -> Chain:
    """A chain that produces the same blocks again. It tests each transaction before it includes the transaction."""
    chain = new_chain()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(production, "all_selectable", lambda *arguments: False)
        for event in walk.events:
            if event.kind == "made":
                block = chain.state.wire.unpack_block(event.data)[0]
                again = chain.generate_block(block.timestamp, block.witness, event.secret)
                assert chain.state.wire.pack_block(again) == event.data, f"block {block.number} differs when its transactions are tested"
            else:
                expect(event, apply_event(chain, event))
    return chain


def trusted(walk: Walk) -> Chain:
    """A chain that replays the main branch without checks."""
    return replayed(new_chain(), walk, TRUSTED)


def checked(walk: Walk) -> Chain:
    """A chain that replays the main branch with every check."""
    return replayed(new_chain(), walk, Skip.NOTHING)


def recovered_ahead(walk: Walk) -> Chain:
    """A chain that replays the main branch with every check. Another process recovers the signing keys in advance."""
    chain, main = new_chain(), walk.chain
    wire, head = main.state.wire, main.state.props.head_block_number
    blocks = [wire.unpack_block(wire.pack_block(block_at(main, number)))[0] for number in range(1, head + 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_prefetcher, "RECORDS_BEFORE_START", 1)
        patch.setattr(block_prefetcher, "WAIT_SECONDS", PATIENCE)
        coming = block_prefetcher.BlockPrefetcher(blocks, wire, 1, new_pool=lambda _: one_pool())
        for block in coming:
            assert all(trx.signers is not None for trx in block.transactions if trx.signatures), "the recovered keys have not arrived"
            coming.push(chain, block, Skip.NOTHING)
    return chain


@cache
def one_pool() -> Pool:
    """Return the key-recovery process shared by all walks of this process."""
    return warm_pool()(1)


def from_a_snapshot(walk: Walk) -> Chain:
    """A chain that starts from a snapshot taken halfway along the main branch."""
    wire = walk.chain.state.wire
    middle = replayed(new_chain(), walk, TRUSTED, walk.chain.state.props.head_block_number * 3 // 4)
    image = image_of(middle)
    packed = {number: wire.pack_block(block_at(walk.chain, number)) for number in range(1, middle.state.props.head_block_number + 1)}
    chain = new_chain()
    put(chain, image, packed)
    return replayed(chain, walk, TRUSTED)


def undone_and_applied_again(walk: Walk) -> Chain:
    """A chain that pops all reversible blocks, and applies them again."""
    chain = pushed(walk)
    chain.clear_pending()
    chain.pop_blocks(chain.main_branch.poppable)
    chain.clear_pending()
    return replayed(chain, walk, Skip.NOTHING)


def returned(walk: Walk) -> Chain:
    """A chain that applies all blocks, restores a savepoint taken halfway, and applies the second half again."""
    chain, middle = new_chain(), len(walk.events) // 2
    for event in walk.events[:middle]:
        apply_event(chain, event)
    savepoint = chain.savepoint()
    for _ in range(2):
        chain.restore(savepoint)
        for event in walk.events[middle:]:
            expect(event, apply_event(chain, event))
    return chain


def read_all_along(walk: Walk) -> Chain:
    """A chain that answers reads all along, then restores a savepoint. The views derived from its rows must return to the earlier state
    too.
    """
    chain, middle = new_chain(), len(walk.events) // 2

    def go_on(events: list[Event]) -> None:
        for event in events:
            if event.kind == "pop":
                replies(chain)
            expect(event, apply_event(chain, event))
        replies(chain)

    go_on(walk.events[:middle])
    savepoint = chain.savepoint()
    go_on(walk.events[middle:])
    chain.restore(savepoint)
    go_on(walk.events[middle:])
    return chain


# To add a driver, write a function and list it here. The others are compared with the first.
DRIVERS: dict[str, Driver] = {
    "pushed": pushed,
    "made by itself": made_by_itself,
    "made by trial": made_by_trial,
    "checked": checked,
    "recovered ahead": recovered_ahead,
    "trusted": trusted,
    "from a snapshot": from_a_snapshot,
    "undone and applied again": undone_and_applied_again,
    "returned": returned,
    "read all along": read_all_along,
}


def replayed(chain: Chain, walk: Walk, skip_flags: int, until: int | None = None) -> Chain:
    """Apply those blocks of the walk's main branch that the chain lacks. Each block is decoded from bytes."""
    wire = chain.state.wire
    last = walk.chain.state.props.head_block_number if until is None else until
    for number in range(chain.state.props.head_block_number + 1, last + 1):
        block: SignedBlock = wire.unpack_block(wire.pack_block(block_at(walk.chain, number)))[0]
        chain.push_block(block, skip_flags)
    return chain


def expect(event: Event, refusal: str) -> None:
    """Assert that an event was refused with the same text as in the walk, or was accepted as in the walk."""
    assert refusal == event.refusal, f"a {event.kind} has the refusal {refusal!r}, in the walk {event.refusal!r}"
