"""The plugin market_history: trades, buckets, volumes, highs and lows, and dropped buckets."""

from random import Random

from state.plugins.market_history import (
    BUCKET_SIZES,
    BUCKETS_PER_SIZE,
    MARKET_HISTORY,
    Bucket,
    BucketSide,
    MarketHistory,
    Trade,
    buckets,
    last_day,
    order_book,
    recent_trades,
    trade_history,
    volume,
)
from state.protocol.constants import DAY_SECONDS
from state.protocol.values.asset import COIN, SBD, Asset, Price, symbol_from_digits
from state.protocol.virtual import FillOrder
from state.tables import State
from state.tables.market import LimitOrder
from tests.helpers.chains import genesis_state
from tests.helpers.snapshots import snapshot

TOKEN = symbol_from_digits(12_345_678, 0)


def data_of(state: State) -> MarketHistory:
    """Return the plugin's data."""
    plugin: MarketHistory = MARKET_HISTORY.of(state)
    return plugin


def fill(current: Asset, resting: Asset) -> FillOrder:
    """Return the virtual operation of a trade. `current` is paid by the newer order, `resting` by the older one."""
    return FillOrder(current_owner="alice", current_pays=current, open_owner="bob", open_pays=resting)


def trade(state: State, coin: int, other: int, symbol: int = SBD, *, seconds: int = 0) -> None:
    """Record a trade, `seconds` after genesis."""
    state.set_props(time=state.spec.constants.COIN_GENESIS_TIME + seconds)
    data_of(state).record(state, fill(Asset(coin, COIN), Asset(other, symbol)))


# ------------------------------------------------------------------ direct trades


def side(*values: int) -> BucketSide:
    """Return a side of a bucket with these values, in the order of its fields."""
    return BucketSide(**dict(zip(BucketSide._fields, values, strict=True)))


def smallest(state: State) -> Bucket:
    """Return the newest 15-second bucket."""
    return buckets(state, 15, 0, state.head_time + 1)[-1]


def in_ends_of_day(state: State) -> list[int]:
    """Return the COIN volume of the first and of the last bucket in the last 24 hours."""
    return [bucket.coin.volume for bucket in last_day(state) or ()]


def test_one_trade_is_all_of_its_buckets() -> None:
    state = genesis_state(MARKET_HISTORY.name)
    trade(state, 1000, 250, seconds=3601)
    start = state.spec.constants.COIN_GENESIS_TIME
    assert start % DAY_SECONDS == 0
    found = [bucket for seconds in BUCKET_SIZES for bucket in buckets(state, seconds, 0, state.head_time + 1)]
    assert [(b.seconds, b.open - start) for b in found] == [(15, 3600), (60, 3600), (300, 3600), (3600, 3600), (86400, 0)]
    assert [b.id for b in found] == [0, 1, 2, 3, 4]
    for bucket in found:
        assert (bucket.coin, bucket.non_coin) == (side(1000, 1000, 1000, 1000, 1000), side(250, 250, 250, 250, 250))
        assert bucket.symbol == SBD


def test_highs_and_lows_are_prices_and_not_amounts() -> None:
    state = genesis_state(MARKET_HISTORY.name)
    trade(state, 1000, 250)
    trade(state, 4000, 1000)  # the same price
    assert smallest(state).coin == side(1000, 1000, 1000, 4000, 5000)
    trade(state, 10, 3)  # higher
    assert (smallest(state).coin, smallest(state).non_coin) == (side(10, 1000, 1000, 10, 5010), side(3, 250, 250, 3, 1253))
    trade(state, 9, 1)  # lower
    assert (smallest(state).coin, smallest(state).non_coin) == (side(10, 9, 1000, 9, 5019), side(3, 1, 250, 1, 1254))
    # The comparison is exact, where doubles would not be.
    trade(state, 2**60, 2**60 // 9)
    assert smallest(state).coin.low == 2**60
    assert len(buckets(state, 15, 0, state.head_time + 1)) == 1


def test_either_order_may_be_the_one_that_sells_coin() -> None:
    one, other = genesis_state(MARKET_HISTORY.name), genesis_state(MARKET_HISTORY.name)
    data_of(one).record(one, fill(Asset(1000, COIN), Asset(250, SBD)))
    data_of(other).record(other, fill(Asset(250, SBD), Asset(1000, COIN)))
    assert snapshot(data_of(one))["buckets"] == snapshot(data_of(other))["buckets"]
    assert recent_trades(one, 1)[0].operation != recent_trades(other, 1)[0].operation


def test_tokens_share_the_buckets() -> None:
    state = genesis_state(MARKET_HISTORY.name)
    trade(state, 1000, 250)
    trade(state, 1000, 7, TOKEN)
    assert smallest(state).symbol == TOKEN
    assert smallest(state).non_coin == side(250, 7, 250, 7, 257)


def test_old_buckets_go_when_a_bucket_gets_a_further_trade() -> None:
    state = genesis_state(MARKET_HISTORY.name)
    retained_seconds = 15 * BUCKETS_PER_SIZE
    trade(state, 1, 1)
    trade(state, 1, 1, seconds=15)
    trade(state, 1, 1, seconds=retained_seconds + 15)  # a new bucket: nothing goes
    opens = [bucket.open for bucket in buckets(state, 15, 0, state.head_time)]
    assert len(opens) == 2
    trade(state, 1, 1, seconds=retained_seconds + 15)
    # A bucket whose age equals the limit is kept.
    assert [bucket.open for bucket in buckets(state, 15, 0, state.head_time)] == opens[1:]
    assert len(buckets(state, 60, 0, state.head_time + 1)) == 2
    assert volume(state) == (3, 3)
    assert in_ends_of_day(state) == [1, 2]


def test_volume_includes_old_buckets_and_the_ticker_does_not() -> None:
    state = genesis_state(MARKET_HISTORY.name)
    assert volume(state) == (0, 0)
    assert last_day(state) is None
    trade(state, 5, 2)
    state.set_props(time=state.head_time + DAY_SECONDS)
    assert in_ends_of_day(state) == [5, 5]
    state.set_props(time=state.head_time + 1)
    assert last_day(state) is None
    assert volume(state) == (5, 2)


def test_the_volume_is_that_of_the_buckets_after_random_undos() -> None:
    state, random = genesis_state(MARKET_HISTORY.name), Random(7)
    seen = now = 0
    for _ in range(300):
        mark = state.journal.position()
        before, time, earlier = volume(state), state.head_time, now
        for _ in range(random.randrange(4)):
            now += random.choice((0, 0, 15, 15 * BUCKETS_PER_SIZE // 3, 15 * BUCKETS_PER_SIZE))
            trade(state, random.randrange(1, 1000), random.randrange(1, 1000), random.choice((SBD, TOKEN)), seconds=now)
        if random.random() < 0.3:
            state.journal.undo(mark)
            now = earlier
            assert (volume(state), state.head_time) == (before, time)
        found = buckets(state, 15, 0, state.head_time + 1)
        seen = max(seen, len(found))
        assert volume(state) == (sum(b.coin.volume for b in found), sum(b.non_coin.volume for b in found))
    assert 1 < seen < 100


def test_trades_by_time() -> None:
    state = genesis_state(MARKET_HISTORY.name)
    start = state.head_time
    for number, seconds in enumerate((0, 3, 3, 3, 9), 1):
        trade(state, number, 1, seconds=seconds)

    def coins(found: list[Trade]) -> list[int]:
        return [item.operation.current_pays.amount for item in found]

    assert coins(trade_history(state, 0, start + 100, 1000)) == [1, 2, 3, 4, 5]
    assert coins(trade_history(state, start + 3, start + 3, 1000)) == [2, 3, 4]
    assert coins(trade_history(state, start + 1, start + 9, 2)) == [2, 3]
    assert coins(trade_history(state, start + 4, start + 8, 10)) == []
    assert coins(trade_history(state, start + 9, start, 10)) == []
    assert coins(recent_trades(state, 2)) == [5, 4]
    assert coins(recent_trades(state, 1000)) == [5, 4, 3, 2, 1]
    assert recent_trades(state, 0) == trade_history(state, 0, start + 100, 0) == []
    assert recent_trades(genesis_state(MARKET_HISTORY.name), 10) == trade_history(genesis_state(MARKET_HISTORY.name), 0, start, 10) == []


def test_buckets_by_time() -> None:
    state = genesis_state(MARKET_HISTORY.name)
    start = state.head_time
    for seconds in (0, 15, 30):
        trade(state, 1, 1, seconds=seconds)

    def opens(size: int, begin: int, end: int) -> list[int]:
        return [bucket.open - start for bucket in buckets(state, size, begin, end)]

    assert opens(15, start, start + 30) == [0, 15]
    assert opens(15, start + 1, start + 31) == [15, 30]
    assert opens(60, 0, start + 1) == [0]
    assert opens(16, 0, start + 100) == []
    assert opens(15, start + 31, start + 100) == []


def test_order_book_begins_with_the_best_prices_and_ends_with_other_symbols() -> None:
    state = genesis_state(MARKET_HISTORY.name)

    def order(number: int, sold: Asset, wanted: Asset) -> None:
        state.limit_orders.insert(LimitOrder(seller="alice", orderid=number, for_sale=sold.amount, sell_price=Price(sold, wanted)))

    for number, coin in enumerate((10, 8, 9), 1):
        order(number, Asset(2, SBD), Asset(coin, COIN))
        order(number + 10, Asset(coin, COIN), Asset(2, SBD))
    order(20, Asset(1, COIN), Asset(1, TOKEN))
    order(21, Asset(1, TOKEN), Asset(1, COIN))

    bids, asks = order_book(state, 500)
    assert [bid.orderid for bid in bids] == [2, 3, 1]
    assert [ask.orderid for ask in asks] == [11, 13, 12, 20]
    bids, asks = order_book(state, 2)
    assert ([bid.orderid for bid in bids], [ask.orderid for ask in asks]) == ([2, 3], [11, 13])
    assert order_book(state, 0) == ([], [])
