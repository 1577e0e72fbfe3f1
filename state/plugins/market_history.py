"""Trades of the internal market: each one, and summed up in buckets of time. It must not know who asks.
Source: block-processing.md §7.3; rpc-api.md §6.3.
"""

from bisect import bisect_left, bisect_right
from itertools import islice, takewhile
from typing import NamedTuple

from msgspec import Struct

from state.effects.arithmetic import share
from state.protocol.errors import require
from state.protocol.values.asset import COIN, INT64_MAX, SBD, Asset
from state.protocol.virtual import FillOrder
from state.store import History, Lists, Ordered, Row, Table
from state.tables import State
from state.tables.market import LimitOrder

NAME = "market_history"

BUCKET_SIZES = (15, 60, 300, 3600, 86400)
SHORTEST = BUCKET_SIZES[0]
BUCKETS_PER_SIZE = 5760
DAY = 86400


class Trade(Struct, frozen=True, gc=False, eq=False):
    """Two orders that met, at head time."""

    time: int
    operation: FillOrder


class Side(NamedTuple):
    """One side of the trades of a bucket, in the smallest unit: `high` and `low` belong to the highest and lowest price."""

    high: int
    low: int
    open: int
    close: int
    volume: int


class Bucket(Row):
    """The trades of one period: `seconds` long, from `open` on. `symbol` is that of the newest trade's other side."""

    open: int = 0
    seconds: int = 0
    symbol: int = SBD
    coin: Side = Side(0, 0, 0, 0, 0)
    non_coin: Side = Side(0, 0, 0, 0, 0)


class Buckets(Table[Bucket]):
    """Periods with trades; of each size those that began within the last 5760 periods, or a little more."""

    by_open = Ordered("seconds", "open", unique=True)


class Kept(Row):
    """What was traded in all buckets of the shortest size that are kept, in the smallest unit."""

    coin: int = 0
    non_coin: int = 0


class Sums(Table[Kept]):
    """One row."""


class MarketHistory:
    """All trades in the order of time, which grows with the chain as on the reference; the buckets; the sum of the shortest ones."""

    def __init__(self, state: State) -> None:
        self._log: Lists[None, Trade] = Lists(state.journal)
        self.buckets = Buckets(state.journal)
        self._sums = Sums(state.journal)
        self.kept = self._sums.insert(Kept())

    @property
    def trades(self) -> History[Trade]:
        """All trades, oldest first."""
        return self._log.get(None)

    def record(self, state: State, operation: FillOrder) -> None:
        """After two orders have met: enter the trade, and add it to the bucket of each size."""
        now = state.head_time
        self._log.append(None, Trade(now, operation))
        current, resting = operation.current_pays, operation.open_pays
        coin, other = (resting, current) if resting.symbol == COIN else (current, resting)
        for seconds in BUCKET_SIZES:
            bucket = self.buckets.by_open.get(seconds, now - now % seconds)
            if bucket is None:
                self._open_bucket(now - now % seconds, seconds, coin.amount, other)
            else:
                self._add_to_bucket(bucket, coin.amount, other)
                self._drop_buckets(seconds, now - seconds * BUCKETS_PER_SIZE)

    def _open_bucket(self, start: int, seconds: int, coin: int, other: Asset) -> None:
        amount = other.amount
        coins, others = Side(coin, coin, coin, coin, coin), Side(amount, amount, amount, amount, amount)
        self.buckets.insert(Bucket(open=start, seconds=seconds, symbol=other.symbol, coin=coins, non_coin=others))
        self._keep(seconds, coin, amount)

    def _add_to_bucket(self, bucket: Bucket, coin: int, other: Asset) -> None:
        """The trade is the close; it is the high or the low when its price (other side per COIN) is beyond theirs."""
        amount, coins, others = other.amount, bucket.coin, bucket.non_coin
        prices = coin, amount, coins.high, coins.low, others.high, others.low
        if min(prices) <= 0 or max(coins.volume + coin, others.volume + amount) > INT64_MAX:
            self._add_in_steps(bucket, coin, other)
            return
        is_high = others.high * coin < amount * coins.high
        is_low = others.low * coin > amount * coins.low
        self.buckets.modify(
            bucket,
            symbol=other.symbol,
            coin=with_trade(coins, coin, is_high, is_low),
            non_coin=with_trade(others, amount, is_high, is_low),
        )
        self._keep(bucket.seconds, coin, amount)

    def _add_in_steps(self, bucket: Bucket, coin: int, other: Asset) -> None:
        """Add a trade with which something can't be worked out: what comes before that stays, what comes after is left out.

        That is a volume of 2^63, or a price with a side of 0. The notice ends with it: longer buckets don't get the trade.
        """
        amount, change = other.amount, self.buckets.modify
        change(bucket, symbol=other.symbol)
        change(bucket, coin=bucket.coin._replace(volume=share(bucket.coin.volume + coin), close=coin))
        self._keep(bucket.seconds, coin, 0)
        change(bucket, non_coin=bucket.non_coin._replace(volume=share(bucket.non_coin.volume + amount), close=amount))
        self._keep(bucket.seconds, 0, amount)
        if amount * require_price(bucket.coin.high, bucket.non_coin.high) > bucket.non_coin.high * require_price(coin, amount):
            change(bucket, coin=bucket.coin._replace(high=coin), non_coin=bucket.non_coin._replace(high=amount))
        if amount * require_price(bucket.coin.low, bucket.non_coin.low) < bucket.non_coin.low * coin:
            change(bucket, coin=bucket.coin._replace(low=coin), non_coin=bucket.non_coin._replace(low=amount))

    def _keep(self, seconds: int, coin: int, other: int) -> None:
        """Count what was added to a bucket, if it is one of the shortest."""
        if seconds == SHORTEST:
            self._sums.modify(self.kept, coin=self.kept.coin + coin, non_coin=self.kept.non_coin + other)

    def _drop_buckets(self, seconds: int, before: int) -> None:
        oldest = next(self.buckets.by_open.starting(seconds), None)
        while oldest is not None and oldest.seconds == seconds and oldest.open < before:
            self.buckets.remove(oldest)
            self._keep(seconds, -oldest.coin.volume, -oldest.non_coin.volume)
            oldest = next(self.buckets.by_open.starting(seconds), None)


def buckets(state: State, seconds: int, start: int, end: int) -> list[Bucket]:
    """The buckets of exactly this size that began at `start` or later and before `end`, in ascending order."""
    found = []
    for bucket in state.plugins[NAME].buckets.by_open.starting(seconds, start):
        if bucket.seconds != seconds or bucket.open >= end:
            break
        found.append(bucket)
    return found


def last_day(state: State) -> tuple[Bucket, Bucket] | None:
    """The first and the last bucket of the shortest size that began within the 24 hours before head time, if there is any."""
    by_open = state.plugins[NAME].buckets.by_open
    first = next(by_open.starting(SHORTEST, state.head_time - DAY), None)
    last = next(by_open.before(SHORTEST + 1), None)
    if first is None or last is None or first.seconds != SHORTEST:
        return None
    return first, last


def volume(state: State) -> tuple[int, int]:
    """What was traded in all buckets of the shortest size that are kept: COIN and the other side, in the smallest unit.

    In a busy market that is 24 hours. The reference doesn't look at the time, so what a quiet market keeps counts on.
    """
    kept: Kept = state.plugins[NAME].kept
    return share(kept.coin), share(kept.non_coin)


def trade_history(state: State, start: int, end: int, limit: int) -> list[Trade]:
    """The first `limit` trades from `start` to `end`, both included, oldest first."""
    trades: History[Trade] = state.plugins[NAME].trades
    first = bisect_left(trades, start, key=lambda trade: trade.time)
    last = bisect_right(trades, end, key=lambda trade: trade.time)
    return trades[first : min(last, first + limit)]


def recent_trades(state: State, limit: int) -> list[Trade]:
    """The last `limit` trades, newest first."""
    trades: History[Trade] = state.plugins[NAME].trades
    return trades[: -limit - 1 : -1]


def orders(state: State, base: int, quote: int, limit: int) -> list[LimitOrder]:
    """The first `limit` orders that sell `base`, beginning with the best one for `quote`; orders for other symbols may follow."""
    following = state.limit_orders.by_price.starting((-base, -quote))
    return list(islice(takewhile(lambda order: order.sell_price.base.symbol == base, following), limit))


def order_book(state: State, limit: int) -> tuple[list[LimitOrder], list[LimitOrder]]:
    """Bids and asks of COIN against SBD, at most `limit` of each, best first; behind the asks come orders of COIN for other symbols."""
    return orders(state, SBD, COIN, limit), orders(state, COIN, SBD, limit)


def install(state: State) -> MarketHistory:
    """Record trades from now on."""
    plugin = MarketHistory(state)
    state.listeners.on_operation(plugin.record, FillOrder)
    return plugin


def require_price(coin: int, other: int) -> int:
    """Refuse a price with a side of 0; return the COIN side of any other."""
    require(other > 0, condition="base.amount > share_type(0)")
    require(coin > 0, condition="quote.amount > share_type(0)")
    return coin


def with_trade(side: Side, amount: int, is_high: bool, is_low: bool) -> Side:
    """A side of a bucket after one more trade."""
    return Side(amount if is_high else side.high, amount if is_low else side.low, side.open, amount, side.volume + amount)
