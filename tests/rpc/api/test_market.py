"""Trades, buckets, the ticker and the order book, in both groups."""

from typing import Any

import pytest

from state.plugins.market_history import MARKET_HISTORY
from state.protocol.values.asset import COIN, SBD, Asset, Price, symbol_from_digits
from state.protocol.values.text import time_text
from state.protocol.virtual import FillOrder
from state.tables.market import LimitOrder
from tests.helpers.api import NOW, ApiChain

TOKEN = symbol_from_digits(12_345_678, 3)
NOTHING = "0.00000000000000000"
GROUPS = ["condenser_api", "market_history_api"]


@pytest.fixture
def api() -> ApiChain:
    """A chain whose head time is NOW."""
    api = ApiChain(plugins=[MARKET_HISTORY.name])
    api.state.set_props(time=NOW)
    return api


def trade(api: ApiChain, coin: int, debt: int, later: int = 0) -> None:
    """Record a trade of COIN for SBD, some seconds later."""
    api.state.set_props(time=api.state.head_time + later)
    trade = FillOrder(current_owner="alice", current_pays=Asset(debt, SBD), open_owner="bob", open_pays=Asset(coin, COIN))
    MARKET_HISTORY.of(api.state).record(api.state, trade)


def order(api: ApiChain, base: Asset, quote: Asset, for_sale: int | None = None) -> None:
    """An open order."""
    price, left = Price(base, quote), base.amount if for_sale is None else for_sale
    orders = api.state.limit_orders
    orders.insert(LimitOrder(created=NOW, seller="alice", orderid=len(orders), for_sale=left, sell_price=price))


def ask(api: ApiChain, group: str, method: str, *values: Any, key: str = "") -> Any:
    """The reply of either group, without the name around it."""
    if group == "condenser_api":
        return api.call(f"{group}.{method}", *values)
    names = {"get_market_history": ["bucket_seconds", "start", "end"], "get_trade_history": ["start", "end", "limit"]}.get(
        method, ["limit"]
    )
    reply = api.call(f"{group}.{method}", **dict(zip(names, values, strict=False)))
    return reply[key] if key else reply


@pytest.mark.parametrize("group", GROUPS)
def test_buckets(api: ApiChain, group: str) -> None:
    assert ask(api, group, "get_market_history_buckets", key="bucket_sizes") == [15, 60, 300, 3600, 86400]
    trade(api, 1000, 500)
    trade(api, 2000, 1500, later=14)
    trade(api, 10**10, 10**10, later=1)
    first, second = ask(api, group, "get_market_history", 15, time_text(NOW), time_text(NOW + 16), key="buckets")
    assert first["coin"] == {"high": 2000, "low": 1000, "open": 1000, "close": 2000, "volume": 3000}
    assert first["non_coin"] == {"high": 1500, "low": 500, "open": 500, "close": 1500, "volume": 2000}
    assert (first["open"], first["seconds"], first["symbol"]) == (time_text(NOW), 15, {"nai": "@@000000013", "decimals": 3})
    assert second["coin"]["volume"] == str(10**10)
    assert ask(api, group, "get_market_history", 15, time_text(NOW + 1), time_text(NOW + 15), key="buckets") == []
    assert ask(api, group, "get_market_history", 17, time_text(0), time_text(NOW + 99), key="buckets") == []


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
    """Opening and latest price are those of the last 24 hours; older trades count only as volume."""
    trade(api, 1000, 500)
    trade(api, 1000, 1000, later=86400)
    trade(api, 1000, 1500, later=60)
    assert api.call("condenser_api.get_ticker")["percent_change"] == "50.00000000000000000"
    api.state.set_props(time=api.state.head_time + 86400 + 15)
    assert api.call("condenser_api.get_ticker")["latest"] == NOTHING
    assert api.call("condenser_api.get_volume")["coin_volume"] == "3.000 COIN"


def test_order_book(api: ApiChain) -> None:
    order(api, Asset(3000, COIN), Asset(1000, SBD), for_sale=100)
    order(api, Asset(1000, COIN), Asset(2000, SBD))
    order(api, Asset(1000, SBD), Asset(4000, COIN))
    order(api, Asset(1000, SBD), Asset(3001, COIN), for_sale=10)
    order(api, Asset(1000, COIN), Asset(10, TOKEN))
    book = api.call("market_history_api.get_order_book")
    assert [(row["coin"], row["sbd"], row["real_price"][:8]) for row in book["bids"]] == [(30, 10, "0.333222"), (4000, 1000, "0.250000")]
    assert [(row["coin"], row["sbd"], row["real_price"][:8]) for row in book["asks"]] == [
        (100, 33, "0.333333"),
        (1000, 2000, "2.000000"),
        (1000, 10, "0.010000"),  # for a token, behind all others
    ]
    assert book["asks"][0]["created"] == time_text(NOW)
    short = api.call("market_history_api.get_order_book", limit=1)
    assert short == {side: rows[:1] for side, rows in book.items()}
    old = api.call("condenser_api.get_order_book", 2)
    assert [row["real_price"] for row in old["asks"]] == [row["real_price"] for row in book["asks"][:2]]
    assert old["bids"][0]["order_price"] == {"base": "1.000 SBD", "quote": "3.001 COIN"}


@pytest.mark.parametrize("group", GROUPS)
def test_trades(api: ApiChain, group: str) -> None:
    for coin in (1000, 2000, 3000, 4000):
        trade(api, coin, 500, later=3)

    def coins(trades: list[Any]) -> list[int]:
        texts = [item["open_pays"] for item in trades]
        return [int(text["amount"]) if isinstance(text, dict) else round(float(text.split()[0]) * 1000) for text in texts]

    between = time_text(NOW + 6), time_text(NOW + 9)
    assert coins(ask(api, group, "get_trade_history", *between, key="trades")) == [2000, 3000]
    assert coins(ask(api, group, "get_trade_history", *between, 1, key="trades")) == [2000]
    assert coins(ask(api, group, "get_recent_trades", key="trades")) == [4000, 3000, 2000, 1000]
    (newest,) = ask(api, group, "get_recent_trades", 1, key="trades")
    assert newest["date"] == time_text(NOW + 12)
    assert newest["current_pays"] in ("0.500 SBD", {"amount": "500", "precision": 3, "nai": "@@000000013"})


@pytest.mark.parametrize("group", GROUPS)
def test_limits(api: ApiChain, group: str) -> None:
    for method, values, most in (
        ("get_order_book", (501,), 500),
        ("get_recent_trades", (1001,), 1000),
        ("get_trade_history", (time_text(0), time_text(NOW), 1001), 1000),
    ):
        with pytest.raises(Exception, match=rf"args.limit <= {most}: "):
            ask(api, group, method, *values)


def test_without_the_plugin() -> None:
    api = ApiChain(plugins=[])
    text = "Assert Exception:_market_history_api: market_history_api_plugin not enabled."
    assert api.refused("condenser_api.get_ticker") == (-32003, text)
    assert api.refused("market_history_api.get_ticker")[0] == -32002
