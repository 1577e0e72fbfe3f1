"""Export of a recorded chain's rows, import into a fresh state, and the remaining blocks on it."""

import pytest

from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.portable import export_rows, import_world, pack_batch, shown_digest, unpack_batch
from tests.conformance.play import CASES, Player

CASES_AND_HEIGHTS = [
    ("walk_random", (150, 700)),
    ("walk_hardforks", (400,)),
    ("rewards", (30, 90)),
    ("smt_tokens", (15, 35)),
    ("communities", (20,)),
]


def copied(player: Player) -> Chain:
    """Return a chain that begins at the head of the player's chain, with an imported copy of its rows."""
    chain, fresh = player.chain, Player(player.folder, plugins=()).chain
    head = chain.head
    assert head is not None
    batch = unpack_batch(pack_batch(export_rows(chain.state)))
    import_world(fresh.state, batch, is_complete=True, next_proposal_id=chain.state.proposals.next_id)
    fresh.state.hardfork_times[:] = chain.state.hardfork_times
    blocks = list(player.blocks())
    fresh.start_at(head, lambda number: player.wire.pack_block(blocks[number - 1]), is_changed_by_hand=False, settled_edits=0)
    return fresh


@pytest.mark.parametrize(("case", "heights"), CASES_AND_HEIGHTS)
def test_an_imported_copy_continues_like_the_original(case: str, heights: tuple[int, ...]) -> None:
    player = Player(CASES / case, plugins=())
    blocks = list(player.blocks())
    copies: list[Chain] = []
    for height, block in enumerate(blocks, 1):
        player.chain.push_block(block)
        for copy in copies:
            copy.push_block(block)
        if height % 50 == 0 or height == len(blocks):
            wanted = shown_digest(player.chain.state)
            for copy in copies:
                assert shown_digest(copy.state) == wanted
        if height in heights:
            copies.append(copied(player))
            validate_invariants(copies[-1].state)
            assert shown_digest(copies[-1].state) == shown_digest(player.chain.state)
    assert len(copies) == len(heights), len(blocks)
