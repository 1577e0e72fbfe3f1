"""The internal market: orders, conversions of SBD, and the traded volumes for early liquidity rewards. Source: state-objects.md §7."""

from state.protocol.values.asset import NULL_PRICE, Price, price_key
from state.store import ComputedKey, Ordered, Row, Table


def sell_price_key(price: Price) -> tuple[int, int, int]:
    """Return the sort key for descending prices: the ascending key with its three parts negated."""
    base, quote, ratio = price_key(price)
    return -base, -quote, -ratio


class LimitOrder(Row):
    """An order on the market; `for_sale` is in the smallest unit of sell_price's base."""

    created: int = 0
    expiration: int = 0
    seller: str = ""
    orderid: int = 0
    for_sale: int = 0
    sell_price: Price = NULL_PRICE


class LimitOrders(Table[LimitOrder]):
    """Open orders."""

    by_expiration = Ordered("expiration")
    by_price = Ordered(ComputedKey(sell_price_key, "sell_price"))
    by_account = Ordered("seller", "orderid", unique=True, lazy=True)


class ConvertRequest(Row):
    """SBD that is going to be converted to COIN at `conversion_date`."""

    owner: str = ""
    requestid: int = 0
    amount: int = 0
    conversion_date: int = 0


class ConvertRequests(Table[ConvertRequest]):
    """Pending conversions."""

    by_conversion_date = Ordered("conversion_date")
    by_owner = Ordered("owner", "requestid", unique=True)


class LiquidityReward(Row):
    """The traded volumes of a market maker. They change only before hardfork 12."""

    owner: int = 0
    coin_volume: int = 0
    sbd_volume: int = 0
    weight: int = 0
    last_update: int = 0


class LiquidityRewards(Table[LiquidityReward]):
    """Traded volumes of market makers."""

    by_owner = Ordered("owner", unique=True)
    by_volume_weight = Ordered("-weight", "owner", unique=True)
