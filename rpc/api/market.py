"""The internal market for COIN and SBD: past trades, the order book, prices. Source: rpc-api.md §3.2.8, §3.10, §5.1, §6.3."""

from typing import Annotated, TypedDict

from rpc.api.orders import book_order
from rpc.declare.arguments import MaxValue, Timestamp, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.market import BucketRecord, PricedOrderRecord, TickerRecord, TokenBucketRecord, TradeRecord, VolumeRecord
from rpc.records.orders import ratio
from state.plugins import market_history
from state.plugins.market_history import MARKET_HISTORY
from state.tables import State

OFF = ("_market_history_api", "market_history_api_plugin not enabled.")

OrderJson = Annotated[Json, ShowsRecord(PricedOrderRecord)]
BookLimit = Annotated[UInt32, MaxValue(500)]
TradesLimit = Annotated[UInt32, MaxValue(1000)]


class OrderBook(TypedDict):
    """Order book: open orders on both sides of the market."""

    bids: list[OrderJson]
    asks: list[OrderJson]


@method("market_history_api.get_market_history", key="buckets", plugin=MARKET_HISTORY, record=TokenBucketRecord)
@method("condenser_api.get_market_history", plugin=MARKET_HISTORY, not_enabled=OFF, record=TokenBucketRecord)
def get_market_history(state: State, show: RecordEncoder, /, bucket_seconds: UInt32, start: Timestamp, end: Timestamp) -> list[Json]:
    """Return the buckets that begin at `start` or later and before `end`. A bucket holds the totals of all trades in `bucket_seconds`."""
    record = TokenBucketRecord if state.spec.smt else BucketRecord
    return show.each(record, market_history.buckets(state, bucket_seconds, start, end))


@method("market_history_api.get_market_history_buckets", key="bucket_sizes", plugin=MARKET_HISTORY)
@method("condenser_api.get_market_history_buckets", plugin=MARKET_HISTORY, not_enabled=OFF)
def get_market_history_buckets(_state: State) -> list[UInt32]:
    """Return the available bucket sizes, in seconds."""
    return list(market_history.BUCKET_SIZES)


@method("market_history_api.get_volume", plugin=MARKET_HISTORY, record=VolumeRecord)
@method("condenser_api.get_volume", plugin=MARKET_HISTORY, not_enabled=OFF, record=VolumeRecord)
def get_volume(state: State, show: RecordEncoder, /) -> Json:
    """Return the traded volume in all retained buckets of the smallest size. In a busy market they cover the last 24 hours."""
    return show(VolumeRecord, VolumeRecord(*market_history.volume(state)))


@method("market_history_api.get_ticker", plugin=MARKET_HISTORY, record=TickerRecord)
@method("condenser_api.get_ticker", plugin=MARKET_HISTORY, not_enabled=OFF, record=TickerRecord)
def get_ticker(state: State, show: RecordEncoder, /) -> Json:
    """Return the latest price, its change within 24 hours in percent, the best bid and ask, and the volume."""
    opened = latest = change = 0.0
    day = market_history.last_day(state)
    if day is not None:
        first, last = day
        opened, latest = ratio(first.non_coin.open, first.coin.open), ratio(last.non_coin.close, last.coin.close)
    if opened:
        change = (latest - opened) / opened * 100
    bids, asks = market_history.order_book(state, 1)
    best_ask, best_bid = (next((book_order(order).real_price for order in side), 0.0) for side in (asks, bids))
    return show(TickerRecord, TickerRecord(latest, best_ask, best_bid, change, *market_history.volume(state)))


@method("market_history_api.get_order_book", plugin=MARKET_HISTORY)
@method("condenser_api.get_order_book", plugin=MARKET_HISTORY, not_enabled=OFF)
def get_order_book(state: State, show: RecordEncoder, /, limit: BookLimit = 500) -> OrderBook:
    """Return at most `limit` open orders on each side, best price first. Orders that sell COIN for tokens come after those that sell it for
    SBD.
    """
    bids, asks = market_history.order_book(state, limit)
    return {"bids": show.each(PricedOrderRecord, map(book_order, bids)), "asks": show.each(PricedOrderRecord, map(book_order, asks))}


@method("market_history_api.get_trade_history", key="trades", plugin=MARKET_HISTORY, record=TradeRecord)
@method("condenser_api.get_trade_history", plugin=MARKET_HISTORY, not_enabled=OFF, record=TradeRecord)
def get_trade_history(state: State, show: RecordEncoder, /, start: Timestamp, end: Timestamp, limit: TradesLimit = 1000) -> list[Json]:
    """List the first `limit` trades between `start` and `end`, both inclusive, oldest first."""
    return show.each(TradeRecord, market_history.trade_history(state, start, end, limit))


@method("market_history_api.get_recent_trades", key="trades", plugin=MARKET_HISTORY, record=TradeRecord)
@method("condenser_api.get_recent_trades", plugin=MARKET_HISTORY, not_enabled=OFF, record=TradeRecord)
def get_recent_trades(state: State, show: RecordEncoder, /, limit: TradesLimit = 1000) -> list[Json]:
    """List the last `limit` trades, newest first."""
    return show.each(TradeRecord, market_history.recent_trades(state, limit))
