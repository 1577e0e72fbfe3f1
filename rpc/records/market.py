"""Records of trades and of the order book. Source: rpc-api.md §2.4, §6.3."""

from typing import Annotated

from msgspec import Struct

from rpc.declare.record_fields import Big, CoinAmount, DebtAmount, FieldPath, RealNumber
from state.protocol.codec.kinds import Symbol, Time, UInt32
from state.protocol.values.asset import Asset, Price


class BucketSideRecord(Struct):
    """Amounts of one asset in a bucket: those that form the highest, lowest, first and last price, and the traded volume."""

    high: Big
    low: Big
    open: Big
    close: Big
    volume: Big


class BucketRecord(Struct):
    """Totals of the trades in a period of time (R-bucket), read from the bucket's row."""

    id: UInt32
    open: Time
    seconds: UInt32
    coin: BucketSideRecord
    non_coin: BucketSideRecord


class TokenBucketRecord(BucketRecord):
    """Totals of the trades in a period of time, on a chain with tokens (R-bucket). `symbol` is the symbol traded against COIN."""

    symbol: Symbol


class VolumeRecord(Struct):
    """Traded amounts of COIN and SBD (R-volume)."""

    coin_volume: CoinAmount
    sbd_volume: DebtAmount


class TickerRecord(Struct):
    """Prices in SBD per COIN, and the traded amounts (R-ticker)."""

    latest: RealNumber
    lowest_ask: RealNumber
    highest_bid: RealNumber
    percent_change: RealNumber
    coin_volume: CoinAmount
    sbd_volume: DebtAmount


class PricedOrderRecord(Struct):
    """An open order in the order books of market_history_api and condenser_api (R-book-order), read from a `BookOrderView`."""

    order_price: Annotated[Price, FieldPath("price", Price)]
    real_price: RealNumber
    coin: Big
    sbd: Big
    created: Time


class TradeRecord(Struct):
    """A trade (R-trade), read from a trade of the plugin market_history: the amounts that the newer and the older order paid."""

    date: Annotated[int, FieldPath("time", Time)]
    current_pays: Annotated[Asset, FieldPath("operation.current_pays", Asset)]
    open_pays: Annotated[Asset, FieldPath("operation.open_pays", Asset)]
