"""The chain: refusals, which must change nothing, pending transactions, and stored blocks."""

import pytest

from state.chain.digest import state_digest
from state.protocol.errors import ChainError
from tests.conformance.play import Player
from tests.conftest import CASES


def test_a_refused_block_and_transaction_change_nothing() -> None:
    player = Player(CASES / "block_feed")
    chain = player.chain
    events = player.events()
    refused = 0
    for event in events:
        player.advance(event["height"])
        if "block" in event and not event["accepted"]:
            before = state_digest(chain.state), [trx.id for trx in chain.pending], len(chain.forks)
            with pytest.raises(ChainError):
                chain.push_block(player.wire.block_from_json(event["block"]))
            assert (state_digest(chain.state), [trx.id for trx in chain.pending]) == before[:2]
            refused += 1
        elif "block" in event:
            player.feed(event)
        elif "trx" in event:
            player.broadcast(event)
    assert refused > 10


def test_pending_transactions_are_seen_and_end_in_a_block() -> None:
    player = Player(CASES / "tx_validity")
    chain = player.chain
    event = next(e for e in player.events() if "trx" in e and e["ok"])
    player.advance(event["height"])
    base = state_digest(chain.state)
    assert player.broadcast(event) is None
    assert state_digest(chain.state) != base
    assert len(chain.pending) == 1
    chain.clear_pending()
    assert state_digest(chain.state) == base


def test_the_chain_stores_the_blocks_of_a_case() -> None:
    player = Player(CASES / "tx_validity")
    for pushed in player.blocks():
        player.chain.push_block(pushed)
    for number, (start, end) in enumerate(player.places, 1):
        block = player.chain.block_by_number(number)
        assert block is not None
        assert player.wire.pack_block(block) == player.log[start:end]
    assert player.chain.block_by_number(len(player.places) + 1) is None
