"""The plugin transaction_status: every status, and the limit on the number of blocks for which it keeps statuses."""

import pytest

from state.plugins.transaction_status import BLOCK_DEPTH, MARGIN, TRANSACTION_STATUS, Status, TransactionStatus, find_transaction, ids_in
from state.protocol.errors import Refused
from state.protocol.transaction import SignedBlock
from state.tables import State
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.snapshots import snapshot

UNKNOWN_ID = bytes(range(20))
HOUR = 3600


def data_of(player: Player) -> TransactionStatus:
    """Return the plugin's data."""
    plugin: TransactionStatus = TRANSACTION_STATUS.of(player.chain.state)
    return plugin


def find(player: Player, trx_id: bytes, expiration: int | None = None) -> tuple[Status, int | None]:
    """Return the status of a transaction on the player's chain."""
    return find_transaction(player.chain.state, trx_id, expiration, lambda number: time_of(player, number))


def time_of(player: Player, number: int) -> int:
    """Return the time of a block of the main branch."""
    block = player.chain.block_by_number(number)
    assert block is not None
    return block.timestamp


def test_from_waiting_to_irreversible() -> None:
    player = Player(CASES / "tx_validity")
    event = next(e for e in player.events() if "trx" in e and "settle" in e["trx"]["operations"][0]["value"].get("memo", ""))
    player.advance(event["height"])
    assert player.broadcast(event) is None
    trx_id = player.chain.pending[0].id
    assert find(player, trx_id) == (Status.WITHIN_MEMPOOL, None)
    player.advance(event["height"] + 1)
    number = event["height"] + 1
    assert find(player, trx_id) == (Status.WITHIN_REVERSIBLE_BLOCK, number)
    player.chain.pop_block()
    assert find(player, trx_id) == (Status.UNKNOWN, None)
    player.advance(len(player.places))
    assert player.chain.state.props.last_irreversible_block_num >= number
    assert find(player, trx_id) == (Status.WITHIN_IRREVERSIBLE_BLOCK, number)


def test_a_refused_block_leaves_nothing() -> None:
    """A block that is refused before or after its transactions are applied leaves no status. Later transactions stay pending."""
    player = Player(CASES / "tx_validity")
    event = next(e for e in player.events() if "trx" in e and "settle" in e["trx"]["operations"][0]["value"].get("memo", ""))
    player.advance(event["height"])
    chain, status = player.chain, data_of(player)
    before = dict(status.block_of), dict(status.by_block)

    def refuse(state: State, block: SignedBlock) -> None:
        raise Refused("not this one", condition="false")

    def refuse_next() -> None:
        with pytest.raises(Refused, match="not this one"):
            player.advance(event["height"] + 1)

    chain.state.listeners.after_block.append(refuse)
    refuse_next()
    chain.state.listeners.after_block.remove(refuse)
    assert (dict(status.block_of), status.by_block) == before
    chain.state.listeners.before_block.append(refuse)
    refuse_next()
    chain.state.listeners.before_block.remove(refuse)
    assert (dict(status.block_of), status.by_block) == before
    assert player.broadcast(event) is None
    assert find(player, chain.pending[0].id) == (Status.WITHIN_MEMPOOL, None)


def test_the_status_of_an_unknown_transaction_by_its_expiration() -> None:
    player = Player(CASES / "tx_validity")
    state = player.chain.state
    assert find(player, UNKNOWN_ID, 1) == (Status.UNKNOWN, None)
    player.advance(len(player.places))
    first, head = time_of(player, 1), state.head_time
    irreversible = time_of(player, state.props.last_irreversible_block_num)
    assert find(player, UNKNOWN_ID) == (Status.UNKNOWN, None)
    assert find(player, UNKNOWN_ID, first + HOUR - 1) == (Status.TOO_OLD, None)
    assert irreversible < head < first + HOUR
    data_of(player).depth = 1
    # With a depth of one block, an expiration within an hour of that block is ahead of the irreversible block.
    assert data_of(player).earliest(state) == state.props.head_block_number
    assert find(player, UNKNOWN_ID, head) == (Status.TOO_OLD, None)
    assert find(player, UNKNOWN_ID, head + HOUR) == (Status.UNKNOWN, None)


def test_expired_after_or_before_the_irreversible_block() -> None:
    player = Player(CASES / "savings_interest")
    state = player.chain.state
    player.advance(len(player.places))
    irreversible = time_of(player, state.props.last_irreversible_block_num)
    assert time_of(player, 1) + HOUR <= irreversible < state.head_time
    assert find(player, UNKNOWN_ID, irreversible) == (Status.EXPIRED_IRREVERSIBLE, None)
    assert find(player, UNKNOWN_ID, irreversible + 1) == (Status.EXPIRED_REVERSIBLE, None)
    assert find(player, UNKNOWN_ID, state.head_time) == (Status.UNKNOWN, None)


def test_old_transactions_are_dropped() -> None:
    player = Player(CASES / "tx_validity")
    plugin = data_of(player)
    plugin.depth = 20
    for block in player.blocks():
        before = snapshot(plugin)
        player.chain.push_block(block)
        after = snapshot(plugin)
        if block.number > 1:
            player.chain.pop_block()
            player.chain.clear_pending()
            assert snapshot(plugin) == before
            player.chain.push_block(block)
            assert snapshot(plugin) == after
        assert all(number > block.number - plugin.depth for number in plugin.by_block)
        assert dict(plugin.block_of) == {trx_id: number for number, ids in plugin.by_block.items() for trx_id in ids_in(ids)}
    assert plugin.earliest(player.chain.state) == len(player.places) - 19


def test_an_hour_of_blocks_is_added_to_the_depth() -> None:
    state = Player(CASES / "tx_validity").chain.state
    assert MARGIN == 1200
    assert TransactionStatus(state).depth == BLOCK_DEPTH + MARGIN == 65_200
