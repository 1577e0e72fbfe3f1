"""Complete copies of recorded chains: the rest of the blocks, and the recorded events after the copy, have the same outcomes on both."""

from pathlib import Path

import pytest

from state.chain.invariants import validate_invariants
from state.portable import shown_digest
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.fork.copies import CopiedPlayer, copied, copied_chain

# Cases with the heights at which they are copied, all from hardfork 20 on.
FEW = {"rewards": (60,), "smt_tokens": (25,), "walk_random": (2200,)}


@pytest.mark.parametrize(("case", "height"), [(case, height) for case, heights in FEW.items() for height in heights])
def test_the_rest_of_a_recorded_chain_has_the_same_effect_on_a_copy(case: str, height: int, tmp_path: Path) -> None:
    player = Player(CASES / case, ())
    player.advance(height)
    chain = copied_chain(copied(player, tmp_path), tmp_path)
    copy = CopiedPlayer(CASES / case, chain, ())
    assert chain.base == height
    assert shown_digest(chain.state) == shown_digest(player.chain.state)
    for number in range(height + 1, len(player.places) + 1):
        player.advance(number)
        copy.advance(number)
        if number % 50 == 0:
            assert shown_digest(chain.state) == shown_digest(player.chain.state), number
    assert shown_digest(chain.state) == shown_digest(player.chain.state)
    for name, table in player.chain.state.tables():
        if name not in ("transactions", "block_summaries", "account_metadata", "comment_contents", "liquidity_rewards"):
            assert [row.id for row in table] == [row.id for row in dict(chain.state.tables())[name]], name
    validate_invariants(chain.state)
