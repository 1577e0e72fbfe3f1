"""Records of orders on the market. Source: rpc-api.md §2.4."""

from typing import Annotated

from msgspec import Struct

from rpc.declare.record_fields import Big, ConstantField, FieldPath
from state.protocol.codec.kinds import AccountName, Time, UInt32
from state.protocol.values.asset import Price

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
    """An open order in the condenser (R-open-order), with two members that the reference never computes."""

    real_price: Annotated[str, ConstantField(NO_REAL_PRICE)]
    rewarded: Annotated[bool, ConstantField(False)]


class BookOrderView(Struct):
    """An open order as order books show it: its remaining amount, and what that is worth at its own price, rounded down."""

    price: Price
    coin: int
    sbd: int
    created: int


class BookOrderRecord(Struct):
    """An open order in the book of database_api (R-book-order), of a `BookOrderView`. The reference does not compute its real price."""

    order_price: Annotated[Price, FieldPath("price", Price)]
    real_price: Annotated[str, ConstantField(NO_REAL_PRICE)]
    coin: Big
    sbd: Big
    created: Time
