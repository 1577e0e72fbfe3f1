"""Records of market orders. Source: rpc-api.md §2.4."""

from typing import Annotated

from msgspec import Struct

from rpc.declare.record_fields import Big, ConstantField, FieldPath
from state.protocol.codec.kinds import AccountName, Time, UInt32
from state.protocol.values.asset import COIN, Price

NO_REAL_PRICE = "0.00000000000000000"


class LimitOrderRecord(Struct):
    """An open order (R-limit-order), read from its row."""

    id: UInt32
    created: Time
    expiration: Time
    seller: AccountName
    orderid: UInt32
    for_sale: Big
    sell_price: Price


class OpenOrderRecord(LimitOrderRecord):
    """An open order in condenser_api (R-open-order). As in the reference, two of its members are never filled."""

    real_price: Annotated[str, ConstantField(NO_REAL_PRICE)]
    rewarded: Annotated[bool, ConstantField(False)]


class BookOrderView(Struct):
    """The object from which order book records are read: the remaining amount of an open order, and its value at the order's price, rounded
    down.
    """

    price: Price
    coin: int
    sbd: int
    created: int

    @property
    def real_price(self) -> float:
        """The price of 1 COIN in the other symbol."""
        base, quote = self.price.base, self.price.quote
        return ratio(quote.amount, base.amount) if base.symbol == COIN else ratio(base.amount, quote.amount)


class BookOrderRecord(Struct):
    """An open order in database_api (R-book-order), read from a `BookOrderView`. As in the reference, `real_price` is never filled."""

    order_price: Annotated[Price, FieldPath("price", Price)]
    real_price: Annotated[str, ConstantField(NO_REAL_PRICE)]
    coin: Big
    sbd: Big
    created: Time


def ratio(amount: int, per: int) -> float:
    """Divide in double precision, as the reference does. A division by 0 results in 0."""
    return float(amount) / float(per) if per else 0.0
