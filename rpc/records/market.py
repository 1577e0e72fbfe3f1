"""Records of what was traded, and of the market as it stands. Source: rpc-api.md §2.4, §6.3."""

from typing import Annotated

from msgspec import Struct

from rpc.records.orders import BookOrderView
from rpc.service.shown import At, Big, CoinAmount, DebtAmount, RealNumber
from state.protocol.codec.kinds import Symbol, Time, UInt32
from state.protocol.values.asset import Asset, Price


class BucketSide(Struct):
    """One side of the trades of a bucket."""

    high: Big
    low: Big
    open: Big
    close: Big
    volume: Big


class Bucket(Struct):
    """R-bucket, of a row."""

    id: UInt32
    open: Time
    seconds: UInt32
    coin: BucketSide
    non_coin: BucketSide


class TokenBucket(Bucket):
    """R-bucket of a chain with tokens: both groups tell what was traded against COIN."""

    symbol: Symbol


class Volume(Struct):
    """R-volume, of this record itself."""

    coin_volume: CoinAmount
    sbd_volume: DebtAmount


class Ticker(Struct):
    """R-ticker, of this record itself; prices are SBD per COIN."""

    latest: RealNumber
    lowest_ask: RealNumber
    highest_bid: RealNumber
    percent_change: RealNumber
    coin_volume: CoinAmount
    sbd_volume: DebtAmount


class PricedOrderView(BookOrderView):
    """What an order book shows of an order, with its price as a number."""

    real_price: float


class PricedOrder(Struct):
    """R-book-order of market_history_api and the condenser, of a `PricedOrderView`."""

    order_price: Annotated[Price, At("price", Price)]
    real_price: RealNumber
    coin: Big
    sbd: Big
    created: Time


class Trade(Struct):
    """R-trade, of a trade of the plugin market_history: what the newer order has paid, and the one that was there."""

    date: Annotated[int, At("time", Time)]
    current_pays: Annotated[Asset, At("operation.current_pays", Asset)]
    open_pays: Annotated[Asset, At("operation.open_pays", Asset)]
