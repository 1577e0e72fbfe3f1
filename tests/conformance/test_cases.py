"""Plays every recorded case in this process: blocks, accepted and refused broadcasts with their texts, fed blocks, and all served queries.
Then undoes and reapplies each block, checking the invariants each time.
"""

import pytest

from state.chain.digest import state_digest, table_bytes
from state.chain.invariants import validate_invariants
from state.store import Table
from tests.conformance.play import Play, Player
from tests.conftest import CASES, case_names

SHORT = 200
EVERY = 50
EVERY_EMPTY = 5

# Expected differences, each given by a part of its description: deliberate ones (docs/differences.md), and errors that only parsing a
# request can raise.
DECIDED = (
    "object graph too deep",  # raised while the body is parsed
    "Cannot retrieve more than 1000 tags at a time.",  # the specification allows 100
    'condenser_api.get_state ["/payout_comments/"]',  # the reference continues with other posts
)


@pytest.mark.parametrize("case", case_names())
def test_recorded_events_have_the_same_outcome(case: str) -> None:
    played = Play(CASES / case, ("",))
    played.run()
    assert [line for line in played.wrong if not any(part in line for part in DECIDED)] == []
    assert played.tally["broadcasts"] + played.tally["queries"] > 0


def whole_digest(player: Player) -> tuple[str, dict[str, int]]:
    """Return the state digest and a hash of every table of every plugin."""
    hashes = {}
    for name, kept in player.chain.state.plugins.items():
        for field, table in vars(kept).items() if hasattr(kept, "__dict__") else ():
            if isinstance(table, Table):
                hashes[f"{name}.{field}"] = hash((table.next_id, *table_bytes(table)))
    return state_digest(player.chain.state), hashes


@pytest.mark.parametrize("case", case_names())
def test_reapplied_block_gives_the_same_state(case: str) -> None:
    player = Player(CASES / case)
    chain = player.chain
    is_short = len(player.places) < SHORT
    for block in player.blocks():
        every = EVERY if not is_short else 1 if block.transactions else EVERY_EMPTY
        if block.number % every or block.number == 1:  # the first block can't be popped
            chain.push_block(block)
            continue
        before = whole_digest(player)
        chain.push_block(block)
        after = whole_digest(player)
        assert before != after
        validate_invariants(chain.state)
        chain.pop_block()
        chain.clear_pending()
        assert whole_digest(player) == before
        chain.push_block(block)
        assert whole_digest(player) == after
    for _, table in chain.state.tables():
        table.check()
