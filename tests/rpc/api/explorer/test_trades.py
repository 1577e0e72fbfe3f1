"""The last trades with their parties and blocks, compared with the operations of the blocks."""

from typing import Any

import pytest

from state.plugins.market_history import MARKET_HISTORY, Trade
from state.protocol.values.asset import COIN, SBD, Asset
from state.protocol.virtual import FillOrder
from tests.helpers.api import ApiChain

START = 1_800_000_000
METHOD = "explorer_api.list_trades"


@pytest.fixture
def api() -> ApiChain:
    """A dev chain with an order of alice."""
    api = ApiChain("dev", plugins=("account_history", "debug_node_api", "market_history"))
    api.now = START
    api.call("dev_api.reset")
    api.call("dev_api.faucet", account="bob", amount="100.000 SBD")
    sell(api, "alice", 1, "50.000 COIN", "100.000 SBD")
    return api


def sell(api: ApiChain, owner: str, number: int, amount: str, wanted: str) -> None:
    """Broadcast an order that the node signs."""
    order = {"owner": owner, "orderid": number, "amount_to_sell": amount, "min_to_receive": wanted, "fill_or_kill": False}
    api.call("dev_api.broadcast_operations", operations=[["limit_order_create", order | {"expiration": "2027-02-01T00:00:00"}]])


def fills(api: ApiChain, block: int) -> list[dict[str, Any]]:
    """Return the trades in a block, newest first."""
    ops = api.call("account_history_api.get_ops_in_block", block_num=block)["ops"]
    return [one["op"]["value"] for one in reversed(ops) if one["op"]["type"] == "fill_order_operation"]


def test_trades_have_their_parties_and_blocks(api: ApiChain) -> None:
    blocks = []
    for number in range(8):
        # Slots without a block, before and after some of the trades.
        if number in (2, 3, 6):
            api.call("dev_api.advance_time", seconds=3600 * number)
        for i in range(1 + number % 2):
            sell(api, "bob", 10 * number + i, "2.000 SBD", "1.000 COIN")
        api.call("dev_api.mine", count=1 + number)
        blocks += [one["block_num"] for one in api.call(METHOD, limit=1)] * (1 + number % 2)
    found = api.call(METHOD)
    assert [one["block_num"] for one in found] == blocks[::-1]
    assert len(set(blocks)) == 8
    for one in found:
        expected = [
            (fill["current_owner"], fill["current_orderid"], fill["open_owner"], fill["open_orderid"])
            for fill in fills(api, one["block_num"])
        ]
        assert (one["taker"], one["taker_order"], one["maker"], one["maker_order"]) in expected
        assert (one["taker_paid"], one["maker_paid"]) == ("2.000 SBD", "1.000 COIN")
    assert api.call(METHOD, limit=3) == found[:3]


def test_a_pending_trade_has_no_block(api: ApiChain) -> None:
    sell(api, "bob", 5, "2.000 SBD", "1.000 COIN")
    (found,) = api.call(METHOD)
    assert (found["block_num"], found["taker"], found["maker"]) == (None, "bob", "alice")
    api.call("dev_api.mine", count=1)
    (found,) = api.call(METHOD)
    assert found["block_num"] == api.state.props.head_block_number


def test_trades_of_unknown_blocks(api: ApiChain) -> None:
    """A trade from before the first block, as a fork imports it, has neither parties nor a block."""
    trade = FillOrder(current_pays=Asset(1000, COIN), open_pays=Asset(2000, SBD))
    MARKET_HISTORY.of(api.state)._log.append(None, Trade(1_500_000_001, trade))
    (imported,) = api.call(METHOD)
    assert (imported["block_num"], imported["taker"], imported["maker"], imported["taker_paid"]) == (None, "", "", "1.000 COIN")
    assert api.refused(METHOD, limit=101)
