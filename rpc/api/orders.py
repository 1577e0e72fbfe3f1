"""Open market orders, from the chain's own tables. Source: rpc-api.md §3.2.4, §3.7, §3.8, §6.3."""

from typing import Annotated, TypedDict

from rpc.api.database_lists import By, ListLimit, declare_list, few, whole
from rpc.declare.arguments import AccountName, Int64, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.orders import BookOrderRecord, BookOrderView, LimitOrderRecord, OpenOrderRecord
from state.plugins import market_history
from state.protocol.values.asset import COIN, Asset, Price, convert
from state.tables import State, market

BOOK_LIMIT = 500
SYMBOLS = 2
"""Number of leading parts of a price's key that identify its market."""

BookOrderJson = Annotated[Json, ShowsRecord(BookOrderRecord)]


class Book(TypedDict):
    """Order book: open orders on both sides of the market."""

    asks: list[BookOrderJson]
    bids: list[BookOrderJson]


@method("database_api.find_limit_orders", key="orders", record=LimitOrderRecord)
def find_limit_orders(state: State, show: RecordEncoder, /, account: AccountName = "") -> list[Json]:
    """Return the open orders of an account, ordered by number."""
    return show.each(LimitOrderRecord, few(state.limit_orders.by_account, account))


@method("condenser_api.get_open_orders", record=OpenOrderRecord)
def get_open_orders(state: State, show: RecordEncoder, /, account: AccountName) -> list[Json]:
    """Return at most 10,000 open orders of an account, ordered by number."""
    return show.each(OpenOrderRecord, whole(state.limit_orders.by_account, account))


@method("database_api.get_order_book")
def get_order_book(state: State, show: RecordEncoder, /, limit: ListLimit = BOOK_LIMIT) -> Book:
    """Return the best orders that sell COIN (`asks`) and SBD (`bids`). Orders that sell COIN for tokens come last in `asks`."""
    bids, asks = market_history.order_book(state, limit)
    return {"asks": show.each(BookOrderRecord, map(book_order, asks)), "bids": show.each(BookOrderRecord, map(book_order, bids))}


def book_order(order: market.LimitOrder) -> BookOrderView:
    """Return an order's remaining amount, and the value of this amount in the other symbol."""
    price = order.sell_price
    left = Asset(order.for_sale, price.base.symbol)
    worth = convert(left, price)
    coin, other = (left, worth) if left.symbol == COIN else (worth, left)
    return BookOrderView(price, coin.amount, other.amount, order.created)


def price_place(_state: State, price: Price, order_id: int) -> tuple[object, int]:
    """Convert a price and a record id to a key of the index by price. A price with a quote of 0 sorts after all others."""
    key = market.sell_price_key(price)
    return key if price.quote.amount else key[:SYMBOLS], order_id


declare_list(
    "database_api.list_limit_orders",
    "List open orders, ordered by market, price (highest first) and record id, or by seller and number.",
    key="orders",
    record=LimitOrderRecord,
    by_price=By(lambda state: state.limit_orders.by_price, tuple[Price, Int64], price_place),
    by_account=By(lambda state: state.limit_orders.by_account, tuple[AccountName, UInt32]),
)
