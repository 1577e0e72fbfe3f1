"""Matching and cancellation of market orders. Source: operations.md §9.4, §17.1.

Prices are compared as products of their amounts, without division. The older order of a trade sets the price.
"""

from state.effects.balances import adjust_balance
from state.effects.mana import wrapped
from state.effects.operation_events import emit
from state.protocol.constants import COIN_LIQUIDITY_TIMEOUT_SEC, COIN_MIN_LIQUIDITY_REWARD_PERIOD_SEC
from state.protocol.values.asset import COIN, Asset, Price
from state.protocol.values.integers import WORD128
from state.protocol.virtual import FillOrder
from state.tables import State
from state.tables.market import LimitOrder, LiquidityReward

MIN_AGE_SINCE_HARDFORK_10 = 1800
TRADE_UNITS, END_UNITS = 10, 3


def apply_order(state: State, order: LimitOrder) -> bool:
    """Match a new order against the other side of the book, best price first. Return whether the order is gone."""
    price = order.sell_price
    by_price, market = state.limit_orders.by_price, (-price.quote.symbol, -price.base.symbol)
    while True:
        best = next(by_price.starting(market), None)
        if best is None or not meet(price, best.sell_price):
            return False
        if trade(state, order, best):
            return True


def cancel_order(state: State, order: LimitOrder) -> None:
    """Return the unsold amount of an order to its seller, and remove the order."""
    give_back(state, order, order.for_sale)


def meet(new: Price, old: Price) -> bool:
    """Whether a new order can trade with an order of the book: the market is the same, the side opposite, and the price acceptable."""
    return (
        old.base.symbol == new.quote.symbol
        and old.quote.symbol == new.base.symbol
        and old.base.amount * new.base.amount >= new.quote.amount * old.quote.amount
    )


def trade(state: State, new: LimitOrder, old: LimitOrder) -> bool:
    """Fill two orders at the price of the older one until one is filled completely. Return whether the new order is gone.

    Both traded amounts are rounded down, so the partially filled order pays slightly less than its price. The reference asserts that the
    symbols match and that one side is filled, which follows from the arithmetic.
    """
    state.work.spend(TRADE_UNITS, "trades")
    base, quote = old.sell_price.base, old.sell_price.quote
    worth = old.for_sale * quote.amount // base.amount
    if new.for_sale <= worth:
        new_pays, old_pays = new.for_sale, new.for_sale * base.amount // quote.amount
    else:
        new_pays, old_pays = worth, old.for_sale
    assert new.for_sale == new_pays or old.for_sale == old_pays
    if state.hardfork < 12:
        count_liquidity(state, new, old, new_pays, old_pays)
    emit(
        state,
        FillOrder(
            current_owner=new.seller,
            current_orderid=new.orderid,
            current_pays=Asset(new_pays, quote.symbol),
            open_owner=old.seller,
            open_orderid=old.orderid,
            open_pays=Asset(old_pays, base.symbol),
        ),
    )
    # The virtual operation precedes the balance changes, and the new order is filled first. Both are visible in the history.
    gone = fill(state, new, new_pays, old_pays)
    fill(state, old, old_pays, new_pays)
    return gone


def fill(state: State, order: LimitOrder, pays: int, receives: int) -> bool:
    """Credit an order's seller and subtract the sold amount. Return whether the order is gone.

    A remainder that would buy less than the smallest unit at the order's own price can't be traded, and is returned to the seller.
    """
    price = order.sell_price
    adjust_balance(state, state.account(order.seller), receives, price.quote.symbol)
    left = order.for_sale - pays
    if left == 0:
        state.limit_orders.remove(order)
        return True
    if left * price.quote.amount // price.base.amount == 0:
        give_back(state, order, left)
        return True
    state.limit_orders.modify(order, for_sale=left)
    return False


def give_back(state: State, order: LimitOrder, amount: int) -> None:
    """Return the unsold amount of an order to its seller, and remove the order."""
    state.work.spend(END_UNITS, "ended orders")
    adjust_balance(state, state.account(order.seller), amount, order.sell_price.base.symbol)
    state.limit_orders.remove(order)


def count_liquidity(state: State, new: LimitOrder, old: LimitOrder, new_pays: int, old_pays: int) -> None:
    """Before hardfork 12: add a trade's volume to the older order's seller, and subtract it from the new order's seller."""
    # Only orders that have been in the book for half an hour count. Before hardfork 10 a minute was enough.
    least = MIN_AGE_SINCE_HARDFORK_10 if state.hardfork >= 10 else COIN_MIN_LIQUIDITY_REWARD_PERIOD_SEC
    if state.head_time - old.created < least:
        return
    sells_sbd = old.sell_price.quote.symbol == COIN
    coin = new_pays if sells_sbd else old_pays
    adjust_liquidity(state, old.seller, coin, sells_sbd)
    adjust_liquidity(state, new.seller, -coin, sells_sbd)


def adjust_liquidity(state: State, owner: str, volume: int, sells_sbd: bool) -> None:
    """Change one of a market maker's two volumes: COIN bought with SBD, or COIN sold."""
    account, now = state.account(owner).id, state.head_time
    record = state.liquidity_rewards.by_owner.get(account)
    if record is None:
        coin, sbd = (volume, 0) if sells_sbd else (0, volume)
        # Hardfork 9 made the smaller volume the weight of new records. Since hardfork 10 this applies to all records.
        weight = liquidity_weight(coin, sbd, smaller=state.hardfork >= 9)
        row = LiquidityReward(owner=account, coin_volume=coin, sbd_volume=sbd, weight=weight, last_update=now)
        state.liquidity_rewards.insert(row)
        return
    coin, sbd = record.coin_volume, record.sbd_volume
    if now - record.last_update >= COIN_LIQUIDITY_TIMEOUT_SEC:
        coin = sbd = 0
    # Volumes wrap at 64 bits.
    coin, sbd = (wrapped(coin + volume), sbd) if sells_sbd else (coin, wrapped(sbd + volume))
    weight = liquidity_weight(coin, sbd, smaller=state.hardfork >= 10)
    state.liquidity_rewards.modify(record, coin_volume=coin, sbd_volume=sbd, weight=weight, last_update=now)


def liquidity_weight(coin: int, sbd: int, smaller: bool) -> int:
    """Return the weight of two volumes: 0 unless both are positive, else the smaller one, or their product in 64 bits."""
    if coin <= 0 or sbd <= 0:
        return 0
    return min(coin, sbd) if smaller else wrapped(coin * sbd) % WORD128
