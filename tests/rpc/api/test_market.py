"""The market ticker in condenser_api and market_history_api, and trade buckets on a chain without tokens."""

import pytest

from state.plugins.market_history import MARKET_HISTORY
from state.protocol.values.asset import COIN, SBD, Asset, Price
from state.protocol.values.text import time_text
from state.protocol.virtual import FillOrder
from state.tables.market import LimitOrder
from tests.helpers.api import NOW, ApiChain

NOTHING = "0.00000000000000000"
GROUPS = ["condenser_api", "market_history_api"]


@pytest.fixture
def api() -> ApiChain:
    """A chain whose head time is NOW."""
    api = ApiChain(plugins=[MARKET_HISTORY.name])
    api.state.set_props(time=NOW)
    return api


def trade(api: ApiChain, coin: int, debt: int, later: int = 0) -> None:
    """Move the head time forward by `later` seconds, and record a trade of COIN for SBD."""
    api.state.set_props(time=api.state.head_time + later)
    trade = FillOrder(current_owner="alice", current_pays=Asset(debt, SBD), open_owner="bob", open_pays=Asset(coin, COIN))
    MARKET_HISTORY.of(api.state).record(api.state, trade)


def order(api: ApiChain, base: Asset, quote: Asset, for_sale: int | None = None) -> None:
    """Insert an open order."""
    price, left = Price(base, quote), base.amount if for_sale is None else for_sale
    orders = api.state.limit_orders
    orders.insert(LimitOrder(created=NOW, seller="alice", orderid=len(orders), for_sale=left, sell_price=price))


def test_a_chain_without_tokens_names_no_symbol() -> None:
    api = ApiChain("steem-mainnet", plugins=[MARKET_HISTORY.name])
    api.state.set_props(time=NOW)
    trade(api, 1000, 500)
    (bucket,) = api.call("condenser_api.get_market_history", 60, time_text(0), time_text(NOW + 1))
    assert list(bucket) == ["id", "open", "seconds", "steem", "non_steem"]


def test_ticker_and_volume(api: ApiChain) -> None:
    old, named = (f"{group}.get_ticker" for group in GROUPS)
    empty = dict.fromkeys(("latest", "lowest_ask", "highest_bid", "percent_change"), NOTHING)
    assert api.call(old) == empty | {"coin_volume": "0.000 COIN", "sbd_volume": "0.000 SBD"}
    trade(api, 1000, 500)
    trade(api, 1000, 600, later=15)
    trade(api, 1000, 750, later=60)
    order(api, Asset(1000, COIN), Asset(800, SBD))
    order(api, Asset(700, SBD), Asset(1000, COIN))
    ticker = api.call(old)
    assert {name: round(float(ticker[name]), 12) for name in empty} == {
        "latest": 0.75,
        "lowest_ask": 0.8,
        "highest_bid": 0.7,
        "percent_change": 50.0,
    }
    assert (ticker["coin_volume"], ticker["sbd_volume"]) == ("3.000 COIN", "1.850 SBD")
    shown = api.call(named)
    assert shown["latest"] == "0.75000000000000000"
    assert (shown["coin_volume"]["amount"], shown["sbd_volume"]["nai"]) == ("3000", "@@000000013")
    assert api.call("condenser_api.get_volume") == {"coin_volume": "3.000 COIN", "sbd_volume": "1.850 SBD"}
    assert api.call("market_history_api.get_volume")["sbd_volume"]["amount"] == "1850"


def test_the_ticker_looks_back_a_day(api: ApiChain) -> None:
    """The opening and latest prices come from trades of the last 24 hours. Older trades don't change them."""
    trade(api, 1000, 500)
    trade(api, 1000, 1000, later=86400)
    trade(api, 1000, 1500, later=60)
    assert api.call("condenser_api.get_ticker")["percent_change"] == "50.00000000000000000"
    api.state.set_props(time=api.state.head_time + 86400 + 15)
    assert api.call("condenser_api.get_ticker")["latest"] == NOTHING
    assert api.call("condenser_api.get_volume")["coin_volume"] == "3.000 COIN"
