"""Records of orders on the market. Source: rpc-api.md §2.4."""

from typing import Annotated

from msgspec import Struct

from rpc.service.shown import Always, At, Big
from state.protocol.codec.kinds import AccountName, Time, UInt32
from state.protocol.values.asset import Price

NO_REAL_PRICE = "0.00000000000000000"


class LimitOrder(Struct):
    """R-limit-order, of a row."""

    id: UInt32
    created: Time
    expiration: Time
    seller: AccountName
    orderid: UInt32
    for_sale: Big
    sell_price: Price


class OpenOrder(LimitOrder):
    """R-open-order: the condenser adds two members that were never computed."""

    real_price: Annotated[str, Always(NO_REAL_PRICE)]
    rewarded: Annotated[bool, Always(False)]


class BookOrderView(Struct):
    """What an order book shows of an order: what is left of it, and what that is worth at its own price, rounded down."""

    price: Price
    coin: int
    sbd: int
    created: int


class BookOrder(Struct):
    """R-book-order of database_api, of a `BookOrderView`: its real price was never computed."""

    order_price: Annotated[Price, At("price", Price)]
    real_price: Annotated[str, Always(NO_REAL_PRICE)]
    coin: Big
    sbd: Big
    created: Time
