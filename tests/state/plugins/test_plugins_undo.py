"""Each plugin's data on a recorded case: popping a block restores the data, and applying the block again has the same result."""

import pytest

from state.plugins.registry import PLUGINS
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.snapshots import snapshot

CASE_OF = {
    "account_by_key": "accounts_update",
    "account_history": "market_orders",
    "communities": "communities",
    "follow": "follows",
    "market_history": "market_days",
    "rc": "rc_limits",
    "reputation": "reputations",
    "tags": "discussions",
    "transaction_status": "tx_validity",
}


@pytest.mark.parametrize("name", PLUGINS)
def test_reapplied_block_gives_the_same_data(name: str) -> None:
    player = Player(CASES / CASE_OF[name])
    chain, plugin, changes = player.chain, player.chain.state.plugins[name], 0
    for block in player.blocks():
        before = snapshot(plugin)
        chain.push_block(block)
        after = snapshot(plugin)
        changes += before != after
        if block.number > 1:  # the first block can't be popped
            chain.pop_block()
            chain.clear_pending()
            assert snapshot(plugin) == before
            chain.push_block(block)
            assert snapshot(plugin) == after
    assert changes > 5
