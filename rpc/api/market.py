"""The internal market of COIN and SBD: what was traded, and what is on offer. Source: rpc-api.md §3.2.8, §3.10, §5.1, §6.3."""

from collections.abc import Iterator
from typing import Annotated, TypedDict

from rpc.records.market import Bucket, PricedOrder, PricedOrderView, Ticker, TokenBucket, Trade, Volume
from rpc.service.arguments import Limit, Timestamp, UInt32
from rpc.service.method import method
from rpc.service.show import Json, Of, Show
from state.plugins import market_history
from state.plugins.market_history import MARKET_HISTORY
from state.protocol.values.asset import COIN, Asset, convert
from state.tables import State
from state.tables.market import LimitOrder

OFF = ("_market_history_api", "market_history_api_plugin not enabled.")

BucketJson = Annotated[Json, Of(TokenBucket)]
TickerJson = Annotated[Json, Of(Ticker)]
VolumeJson = Annotated[Json, Of(Volume)]
OrderJson = Annotated[Json, Of(PricedOrder)]
TradeJson = Annotated[Json, Of(Trade)]
BookLimit = Annotated[UInt32, Limit(500)]
TradesLimit = Annotated[UInt32, Limit(1000)]


class Buckets(TypedDict):
    """Buckets under their name."""

    buckets: list[BucketJson]


class BucketSizes(TypedDict):
    """Sizes of buckets, in seconds."""

    bucket_sizes: list[UInt32]


class OrderBook(TypedDict):
    """Both sides of the market."""

    bids: list[OrderJson]
    asks: list[OrderJson]


class Trades(TypedDict):
    """Trades under their name."""

    trades: list[TradeJson]


@method("market_history_api.get_market_history", plugin=MARKET_HISTORY)
def get_market_history(state: State, show: Show, /, bucket_seconds: UInt32, start: Timestamp, end: Timestamp) -> Buckets:
    """What was traded, summed up in periods of a size, of those that began from `start` to before `end`."""
    return {"buckets": find_buckets(state, show, bucket_seconds, start, end)}


@method("condenser_api.get_market_history", plugin=MARKET_HISTORY, not_enabled=OFF)
def find_buckets(state: State, show: Show, /, bucket_seconds: UInt32, start: Timestamp, end: Timestamp) -> list[BucketJson]:
    """What was traded, summed up in periods of a size, of those that began from `start` to before `end`."""
    record = TokenBucket if state.spec.smt else Bucket
    return show.each(record, market_history.buckets(state, bucket_seconds, start, end))


@method("market_history_api.get_market_history_buckets", plugin=MARKET_HISTORY)
def get_market_history_buckets(_state: State) -> BucketSizes:
    """The sizes of the periods in which trades are summed up, in seconds."""
    return {"bucket_sizes": bucket_sizes(_state)}


@method("condenser_api.get_market_history_buckets", plugin=MARKET_HISTORY, not_enabled=OFF)
def bucket_sizes(_state: State) -> list[UInt32]:
    """The sizes of the periods in which trades are summed up, in seconds."""
    return list(market_history.BUCKET_SIZES)


@method("market_history_api.get_volume", plugin=MARKET_HISTORY)
@method("condenser_api.get_volume", plugin=MARKET_HISTORY, not_enabled=OFF)
def get_volume(state: State, show: Show, /) -> VolumeJson:
    """What was traded in the shortest periods that are kept; in a busy market those are the last 24 hours."""
    volume: Json = show(Volume, Volume(*market_history.volume(state)))
    return volume


@method("market_history_api.get_ticker", plugin=MARKET_HISTORY)
@method("condenser_api.get_ticker", plugin=MARKET_HISTORY, not_enabled=OFF)
def get_ticker(state: State, show: Show, /) -> TickerJson:
    """The latest price, its change within 24 hours in percent, the best offers, and what was traded."""
    opened = latest = change = 0.0
    day = market_history.last_day(state)
    if day is not None:
        first, last = day
        opened, latest = ratio(first.non_coin.open, first.coin.open), ratio(last.non_coin.close, last.coin.close)
    if opened:
        change = (latest - opened) / opened * 100
    bids, asks = market_history.order_book(state, 1)
    best_ask, best_bid = (next((real_price(order) for order in side), 0.0) for side in (asks, bids))
    ticker: Json = show(Ticker, Ticker(latest, best_ask, best_bid, change, *market_history.volume(state)))
    return ticker


@method("market_history_api.get_order_book", plugin=MARKET_HISTORY)
@method("condenser_api.get_order_book", plugin=MARKET_HISTORY, not_enabled=OFF)
def get_order_book(state: State, show: Show, /, limit: BookLimit = 500) -> OrderBook:
    """What is on offer, at most `limit` orders on each side, best first; behind the asks come orders of COIN for tokens."""
    bids, asks = market_history.order_book(state, limit)
    return {"bids": show.each(PricedOrder, priced(bids)), "asks": show.each(PricedOrder, priced(asks))}


@method("market_history_api.get_trade_history", plugin=MARKET_HISTORY)
def get_trade_history(state: State, show: Show, /, start: Timestamp, end: Timestamp, limit: TradesLimit = 1000) -> Trades:
    """The first `limit` trades from `start` to `end`, both included, oldest first."""
    return {"trades": find_trades(state, show, start, end, limit)}


@method("condenser_api.get_trade_history", plugin=MARKET_HISTORY, not_enabled=OFF)
def find_trades(state: State, show: Show, /, start: Timestamp, end: Timestamp, limit: TradesLimit = 1000) -> list[TradeJson]:
    """The first `limit` trades from `start` to `end`, both included, oldest first."""
    return show.each(Trade, market_history.trade_history(state, start, end, limit))


@method("market_history_api.get_recent_trades", plugin=MARKET_HISTORY)
def get_recent_trades(state: State, show: Show, /, limit: TradesLimit = 1000) -> Trades:
    """The last `limit` trades, newest first."""
    return {"trades": find_recent_trades(state, show, limit)}


@method("condenser_api.get_recent_trades", plugin=MARKET_HISTORY, not_enabled=OFF)
def find_recent_trades(state: State, show: Show, /, limit: TradesLimit = 1000) -> list[TradeJson]:
    """The last `limit` trades, newest first."""
    return show.each(Trade, market_history.recent_trades(state, limit))


def priced(orders: list[LimitOrder]) -> Iterator[PricedOrderView]:
    """What is left of each order, on both sides, with its price."""
    for order in orders:
        price = order.sell_price
        left = Asset(order.for_sale, price.base.symbol)
        worth = convert(left, price)
        coin, other = (left, worth) if left.symbol == COIN else (worth, left)
        yield PricedOrderView(price, coin.amount, other.amount, order.created, real_price(order))


def real_price(order: LimitOrder) -> float:
    """An order's price in the other symbol per COIN."""
    base, quote = order.sell_price.base, order.sell_price.quote
    return ratio(quote.amount, base.amount) if base.symbol == COIN else ratio(base.amount, quote.amount)


def ratio(amount: int, per: int) -> float:
    """A quotient in double precision, as the reference has it; 0 by 0."""
    return float(amount) / float(per) if per else 0.0
