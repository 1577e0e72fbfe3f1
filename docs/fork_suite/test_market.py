"""The internal market with the orders of the source."""

from datetime import datetime, timedelta


def orders(chain, name):
    return {order["orderid"]: order for order in chain.call("condenser_api.get_open_orders", [name])}


def sell(chain, owner, number, amount, wanted):
    """Put an order that lasts for an hour."""
    expiration = datetime.fromisoformat(chain.info()["head_block_time"]) + timedelta(hours=1)
    order = {"owner": owner, "orderid": number, "amount_to_sell": amount, "min_to_receive": wanted}
    chain.broadcast("limit_order_create", {**order, "fill_or_kill": False, "expiration": expiration.isoformat()})


def test_an_account_has_its_open_orders(coin_chain):
    judy = orders(coin_chain, "judy")
    assert judy[1]["sell_price"] == {"base": "150.000 COIN", "quote": "45.000 SBD"}


def test_an_order_fills_one_of_the_source(coin_chain):
    before = orders(coin_chain, "judy")[1]["for_sale"]
    sell(coin_chain, "alice", 901, "400.000 SBD", "400.000 COIN")
    after = orders(coin_chain, "judy")
    assert 1 not in after or after[1]["for_sale"] < before


def test_an_order_can_be_cancelled(coin_chain):
    [before] = coin_chain.call("condenser_api.get_accounts", [["judy"]])
    coin_chain.broadcast("limit_order_cancel", {"owner": "judy", "orderid": 1})
    [after] = coin_chain.call("condenser_api.get_accounts", [["judy"]])
    assert 1 not in orders(coin_chain, "judy")
    assert float(after["balance"].split()[0]) > float(before["balance"].split()[0])


def test_an_order_expires(coin_chain):
    sell(coin_chain, "carol", 902, "1.000 COIN", "900.000 SBD")
    assert 902 in orders(coin_chain, "carol")
    coin_chain.advance(2 * 3600)
    assert 902 not in orders(coin_chain, "carol")
