"""The digest of the state after recorded cases. Users compare digests of different versions, so they must not change."""

import pytest

from state.chain.digest import state_digest
from tests.conformance.play import CASES, Player

DIGESTS = {
    "rewards": "3e938a1850ac579d1163898938279fc563b83f3750731e922ef99cb0964050d3",
    "communities": "757a60eebdf4be7921f13741cccb497d424dc9128cb218fe194b711bb6c80c4e",
    "smt_tokens": "4169f3cd226cc175c68afb6160876aa158e20953fc1bdc7d33334210082e7544",
    "escrow_paths": "4d213d0b0e7f213fd16d492b0b19276a017169426e730966240e21e98dafb9c4",
}


@pytest.mark.parametrize("case", DIGESTS)
def test_the_digest_of_a_recorded_case_stays_the_same(case: str) -> None:
    player = Player(CASES / case)
    for block in player.blocks():
        player.chain.push_block(block)
    assert state_digest(player.chain.state) == DIGESTS[case]
