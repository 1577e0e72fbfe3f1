"""The plugin `market_history`: the trades of the internal market, individually and summed in time buckets.
Source: block-processing.md §7.3; rpc-api.md §6.3.
"""

from bisect import bisect_left, bisect_right
from itertools import islice, takewhile
from typing import NamedTuple

from msgspec import Struct

from state.effects.arithmetic import share
from state.plugins.plugin import Plugin, ranged
from state.portable import Batch, Portable, declare
from state.portable.exports import exported_rows
from state.protocol.constants import DAY_SECONDS
from state.protocol.errors import require
from state.protocol.values.asset import COIN, SBD, Asset
from state.protocol.values.integers import INT64_MAX
from state.protocol.virtual import FillOrder
from state.store import AppendList, AppendLists, Ordered, Row, Setter, Table
from state.store.serializers import ListsPart, SnapshotPart, tables
from state.tables import State
from state.tables.market import LimitOrder

NO_COIN = Asset(0, COIN)
BUCKET_SIZES = (15, 60, 300, 3600, 86400)
SHORTEST = BUCKET_SIZES[0]
BUCKETS_PER_SIZE = 5760


class Trade(Struct, frozen=True, gc=False, eq=False):
    """A match of two orders, with the head time at the match."""

    time: int
    operation: FillOrder


class TradeRow(Row):
    """The portable row of a trade, with the amounts that methods show. `number` is its position, 0 for the oldest trade that is here."""

    number: int = 0
    time: int = 0
    current_pays: Asset = NO_COIN
    open_pays: Asset = NO_COIN


TRADES = declare("market_history/trades", Portable(row=TradeRow, key=("number",)))


class BucketSide(NamedTuple):
    """One side of the trades of a bucket, in the smallest unit.

    `high` and `low` are the amounts of the trades with the highest and the lowest price, not the largest and the smallest amounts.
    """

    high: int
    low: int
    open: int
    close: int
    volume: int


class Bucket(Row):
    """Trades of a period of `seconds` that starts at `open`.

    `symbol` is the symbol that was traded for COIN in the newest trade. Trades of COIN for different symbols share a bucket, as on the
    reference.
    """

    open: int = 0
    seconds: int = 0
    symbol: int = SBD
    coin: BucketSide = BucketSide(0, 0, 0, 0, 0)
    non_coin: BucketSide = BucketSide(0, 0, 0, 0, 0)


BUCKETS = declare("market_history/buckets", Portable(row=Bucket, key=("seconds", "open")))


class Buckets(Table[Bucket]):
    """The buckets of all periods with trades. When a trade is added to an existing bucket, buckets of its size older than 5,760 periods are
    dropped.
    """

    by_open = Ordered("seconds", "open", unique=True)
    set_trades = Setter("symbol", "coin", "non_coin")


class BucketVolume(Row):
    """Volume of all retained buckets of the shortest size, in the smallest unit."""

    coin: int = 0
    non_coin: int = 0


class VolumeTotals(Table[BucketVolume]):
    """Table of one row, the volume totals."""

    set_volume = Setter("coin", "non_coin")


class MarketHistory:
    """The plugin's data: all trades by time, the buckets and their volume totals. As on the reference, the trades grow with the chain.

    The totals are updated with each bucket, so that `get_volume` doesn't have to add up 5,760 buckets.
    """

    def __init__(self, state: State) -> None:
        self._log: AppendLists[None, Trade] = AppendLists(state.journal)
        self.buckets = Buckets(state.journal)
        self._sums = VolumeTotals(state.journal)
        self.kept = self._sums.insert(BucketVolume())

    @property
    def trades(self) -> AppendList[Trade]:
        """All trades, oldest first."""
        return self._log.get(None)

    def import_rows(self, batch: Batch) -> None:
        """Add buckets, and the trades that follow those that are here. Trades have only the amounts that methods show."""
        for values in batch.get("market_history/buckets", ()):
            bucket = Bucket(**values)
            ranged((*bucket.coin, *bucket.non_coin), 0, INT64_MAX)
            if bucket.seconds not in BUCKET_SIZES or bucket.open % bucket.seconds:
                raise ValueError(f"no bucket of {bucket.seconds} seconds begins at {bucket.open}")
            if self.buckets.by_open.get(bucket.seconds, bucket.open) is None:
                self.buckets.insert(bucket)
                self._keep(bucket.seconds, bucket.coin.volume, bucket.non_coin.volume)
        for values in batch.get("market_history/trades", ()):
            row = TradeRow(**values)
            if row.number != self.trades.next:
                continue
            if self.trades and row.time < self.trades[-1].time:
                raise ValueError(f"a trade at {row.time} after one at {self.trades[-1].time}")
            ranged((row.current_pays.amount, row.open_pays.amount), 0, INT64_MAX)
            self._log.append(None, Trade(row.time, FillOrder(current_pays=row.current_pays, open_pays=row.open_pays)))

    def export_rows(self, state: State) -> Batch:
        """Return the portable rows of all buckets and trades."""
        trades = [
            TradeRow(number=number, time=trade.time, current_pays=trade.operation.current_pays, open_pays=trade.operation.open_pays)
            for number, trade in enumerate(self.trades)
        ]
        return {
            "market_history/buckets": exported_rows(state, self.buckets, BUCKETS),
            "market_history/trades": exported_rows(state, trades, TRADES),
        }

    def record(self, state: State, operation: FillOrder) -> None:
        """Add a trade to the log and to the bucket of each size, after two orders were matched."""
        now = state.head_time
        self._log.append(None, Trade(now, operation))
        current, resting = operation.current_pays, operation.open_pays
        coin, other = (resting, current) if resting.symbol == COIN else (current, resting)
        # Head time is the time of the previous block, so a trade in the first block of a period goes into the previous bucket.
        for seconds in BUCKET_SIZES:
            bucket = self.buckets.by_open.get(seconds, now - now % seconds)
            if bucket is None:
                self._open_bucket(now - now % seconds, seconds, coin.amount, other)
            else:
                self._add_to_bucket(bucket, coin.amount, other)
                # Old buckets are dropped only here, as on the reference. A market with few trades therefore keeps them for longer.
                self._drop_buckets(seconds, now - seconds * BUCKETS_PER_SIZE)

    def _open_bucket(self, start: int, seconds: int, coin: int, other: Asset) -> None:
        amount = other.amount
        coins, others = BucketSide(coin, coin, coin, coin, coin), BucketSide(amount, amount, amount, amount, amount)
        self.buckets.insert(Bucket(open=start, seconds=seconds, symbol=other.symbol, coin=coins, non_coin=others))
        self._keep(seconds, coin, amount)

    def _add_to_bucket(self, bucket: Bucket, coin: int, other: Asset) -> None:
        """Set the closing price of a bucket to that of a trade, and its high or low if the trade's price exceeds it.

        The price is the amount paid for one COIN. Cross products compare two prices without a division.
        """
        amount, coins, others = other.amount, bucket.coin, bucket.non_coin
        prices = coin, amount, coins.high, coins.low, others.high, others.low
        if min(prices) <= 0 or max(coins.volume + coin, others.volume + amount) > INT64_MAX:
            self._add_in_steps(bucket, coin, other)
            return
        is_high = others.high * coin < amount * coins.high
        is_low = others.low * coin > amount * coins.low
        self.buckets.set_trades(bucket, other.symbol, with_trade(coins, coin, is_high, is_low), with_trade(others, amount, is_high, is_low))
        self._keep(bucket.seconds, coin, amount)

    def _add_in_steps(self, bucket: Bucket, coin: int, other: Asset) -> None:
        """Add a trade that leads to a volume of 2^63, or to a price with a side of 0.

        Raises: Refused at the step that fails. As on the reference, the steps before it remain in effect, and the trade isn't added to the
        buckets of longer periods.
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
        """Add volume to the totals if `seconds` is the shortest bucket size. Volume of dropped buckets is negative."""
        if seconds == SHORTEST:
            self._sums.set_volume(self.kept, self.kept.coin + coin, self.kept.non_coin + other)

    def _drop_buckets(self, seconds: int, before: int) -> None:
        oldest = next(self.buckets.by_open.starting(seconds), None)
        while oldest is not None and oldest.seconds == seconds and oldest.open < before:
            self.buckets.remove(oldest)
            self._keep(seconds, -oldest.coin.volume, -oldest.non_coin.volume)
            oldest = next(self.buckets.by_open.starting(seconds), None)


def buckets(state: State, seconds: int, start: int, end: int) -> list[Bucket]:
    """Return the buckets of this size that begin at `start` or later and before `end`, in ascending order."""
    found = []
    for bucket in MARKET_HISTORY.of(state).buckets.by_open.starting(seconds, start):
        if bucket.seconds != seconds or bucket.open >= end:
            break
        found.append(bucket)
    return found


def last_day(state: State) -> tuple[Bucket, Bucket] | None:
    """Return the first and the last bucket of the shortest size in the 24 hours before head time. Return None if there are no buckets."""
    by_open = MARKET_HISTORY.of(state).buckets.by_open
    first = next(by_open.starting(SHORTEST, state.head_time - DAY_SECONDS), None)
    last = next(by_open.before(SHORTEST + 1), None)
    if first is None or last is None or first.seconds != SHORTEST:
        return None
    return first, last


def volume(state: State) -> tuple[int, int]:
    """Return the volume of all retained buckets of the shortest size: COIN and the other side, in the smallest unit.

    In a busy market these buckets cover 24 hours. As on the reference, which ignores the times of buckets, the volume of a quiet market
    includes older trades.
    """
    sums = MARKET_HISTORY.of(state).kept
    return share(sums.coin), share(sums.non_coin)


def trade_history(state: State, start: int, end: int, limit: int) -> list[Trade]:
    """Return the first `limit` trades from `start` to `end`, both included, oldest first."""
    trades = MARKET_HISTORY.of(state).trades
    first = bisect_left(trades, start, key=lambda trade: trade.time)
    last = bisect_right(trades, end, key=lambda trade: trade.time)
    return trades[first : min(last, first + limit)]


def recent_trades(state: State, limit: int) -> list[Trade]:
    """Return the last `limit` trades, newest first."""
    trades = MARKET_HISTORY.of(state).trades
    return trades[: -limit - 1 : -1]


def orders(state: State, base: int, quote: int, limit: int) -> list[LimitOrder]:
    """Return the first `limit` orders that sell `base`, best price in `quote` first. Orders that ask for other symbols can follow."""
    following = state.limit_orders.by_price.starting((-base, -quote))
    return list(islice(takewhile(lambda order: order.sell_price.base.symbol == base, following), limit))


def order_book(state: State, limit: int) -> tuple[list[LimitOrder], list[LimitOrder]]:
    """Return at most `limit` bids and asks of COIN in SBD, best first. Orders of COIN for other symbols follow the asks."""
    return orders(state, SBD, COIN, limit), orders(state, COIN, SBD, limit)


def install(state: State) -> MarketHistory:
    """Create the plugin's tables and register its listeners."""
    kept = MarketHistory(state)
    state.listeners.on_operation(kept.record, FillOrder)
    return kept


def require_price(coin: int, other: int) -> int:
    """Return the COIN amount of a trade for use in a price. Raises: Refused if either amount is 0."""
    require(other > 0, condition="base.amount > share_type(0)")
    require(coin > 0, condition="quote.amount > share_type(0)")
    return coin


def with_trade(side: BucketSide, amount: int, is_high: bool, is_low: bool) -> BucketSide:
    """Return one side of a bucket after a trade is added."""
    return BucketSide(amount if is_high else side.high, amount if is_low else side.low, side.open, amount, side.volume + amount)


def parts(state: State, kept: MarketHistory) -> dict[str, SnapshotPart]:
    """Return the snapshot parts of the plugin's data."""
    return {"_log": ListsPart(kept._log, None, Trade)} | tables(kept, "buckets", "_sums")


def restored(kept: MarketHistory) -> None:
    """After the tables were restored, look up the row of volume totals again."""
    kept.kept = next(iter(kept._sums))


MARKET_HISTORY = Plugin(
    "market_history",
    MarketHistory,
    install,
    serves=("market_history_api",),
    parts=parts,
    unsaved=("kept",),
    on_restored=restored,
    import_rows=lambda state, kept, batch: kept.import_rows(batch),
    export_rows=lambda state, kept: kept.export_rows(state),
)
