"""Open orders by account and price."""

from typing import Any

import pytest

from rpc.api import database_lists
from state.protocol.values.asset import COIN, SBD, Asset, Price, symbol_from_digits
from state.tables.market import LimitOrder
from tests.helpers.api import ApiChain

TOKEN = symbol_from_digits(11_108_188, 0)


@pytest.fixture
def api() -> ApiChain:
    """A chain with asks at 0.5 and 0.4, bids at 0.3 and 0.35, and an order that sells COIN for a token."""
    api = ApiChain()
    orders = [
        ("alice", 7, Price(Asset(1000, COIN), Asset(500, SBD)), 800),
        ("alice", 3, Price(Asset(1000, COIN), Asset(400, SBD)), 1000),
        ("bob", 1, Price(Asset(300, SBD), Asset(1000, COIN)), 300),
        ("bob", 2, Price(Asset(350, SBD), Asset(1000, COIN)), 351),
        ("carol", 1, Price(Asset(10, COIN), Asset(3, TOKEN)), 10),
    ]
    for seller, number, price, for_sale in orders:
        row = LimitOrder(seller=seller, orderid=number, sell_price=price, for_sale=for_sale, created=60, expiration=90)
        api.state.limit_orders.insert(row)
    return api


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def test_the_orders_of_an_account_are_bounded(api: ApiChain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_lists, "WHOLE_LIST_MAX", 1)
    assert [row["orderid"] for row in api.call("condenser_api.get_open_orders", "alice")] == [3]


def nai(amount: int, digits: str) -> dict[str, Any]:
    return {"amount": str(amount), "precision": 3, "nai": digits}


SBD_NAI, COIN_NAI = "@@000000013", "@@000000021"


def test_list_limit_orders(api: ApiChain) -> None:
    def listed(order: str, start: Any = None, **arguments: Any) -> list[int]:
        given = {} if start is None else {"start": start}
        return ids(api.call("database_api.list_limit_orders", order=order, **given, **arguments)["orders"])

    # COIN is the greater symbol, so orders that sell COIN come first, starting with the one that gives the most COIN per unit received.
    assert listed("by_price") == [1, 0, 4, 3, 2]
    assert listed("by_price", [{"base": nai(10, COIN_NAI), "quote": nai(5, SBD_NAI)}, 0]) == [0, 4, 3, 2]
    assert listed("by_price", [{"base": nai(10, COIN_NAI), "quote": nai(5, SBD_NAI)}, 1]) == [4, 3, 2]
    assert listed("by_price", [{"base": nai(1, SBD_NAI), "quote": nai(3, COIN_NAI)}], limit=1) == [2]
    assert listed("by_price", []) == [1, 0, 4, 3, 2]
    # A start price with a quote of 0 is higher than any price of this market. One with a base of 0 is lower than all.
    assert listed("by_price", [{"base": nai(1, SBD_NAI), "quote": nai(0, COIN_NAI)}]) == [3, 2]
    assert listed("by_price", [{"base": nai(1, COIN_NAI), "quote": nai(0, SBD_NAI)}]) == [1, 0, 4, 3, 2]
    assert listed("by_price", [{"base": nai(0, COIN_NAI), "quote": nai(1, SBD_NAI)}]) == [4, 3, 2]
    assert listed("by_account", ["alice", 4]) == [0, 2, 3, 4]
