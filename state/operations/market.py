"""The market: limit orders, and conversions of SBD at the price feed. Sources: operations.md §9; wire-format.md §4.1."""

from __future__ import annotations

from state.effects.balances import adjust_balance, median_price
from state.effects.orders import apply_order, cancel_order
from state.operations.checks import require_account_name
from state.protocol import constants
from state.protocol.codec.kinds import AccountName, Bool, Codecs, Time, UInt32
from state.protocol.errors import Refused, require
from state.protocol.operation import Operation, operation
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, Asset, Price, convert, is_smt
from state.tables import State
from state.tables.market import ConvertRequest, LimitOrder

# The latest expiration of orders created before hardfork 20, which limited orders to 28 days.
EARLY_EXPIRATION_MAX = constants.HARDFORK_TIMES[20 - 1] + constants.COIN_MAX_LIMIT_ORDER_EXPIRATION


@operation(5, active="owner", protected="owner")
class LimitOrderCreate(Operation, frozen=True):
    """Create an order that sells funds for a minimum amount. The order is matched against the book at once."""

    owner: AccountName = ""
    orderid: UInt32 = 0
    amount_to_sell: Asset = Asset()
    min_to_receive: Asset = Asset()
    fill_or_kill: Bool = False
    expiration: Time = constants.TIME_MAX

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)
        require_market(self.amount_to_sell.symbol, self.min_to_receive.symbol, "min_to_receive")
        Price(self.amount_to_sell, self.min_to_receive).validate()

    def apply(self, state: State) -> None:
        # Before hardfork 20 most orders had no expiration. Bytes of the head block's id spread the expirations that they got over a
        # day, so that they don't all expire in one block.
        offset = int.from_bytes(state.props.head_block_id[16:20], "little") % constants.DAY_SECONDS
        create_order(state, self, Price(self.amount_to_sell, self.min_to_receive), EARLY_EXPIRATION_MAX + offset)


@operation(21, active="owner", protected="owner")
class LimitOrderCreate2(Operation, frozen=True):
    """Create an order that sells funds at a price. The order is matched against the book at once."""

    owner: AccountName = ""
    orderid: UInt32 = 0
    amount_to_sell: Asset = Asset()
    exchange_rate: Price = Price()
    fill_or_kill: Bool = False
    expiration: Time = constants.TIME_MAX

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)
        require(
            self.amount_to_sell.symbol == self.exchange_rate.base.symbol,
            "Sell asset must be the base of the price",
            condition="amount_to_sell.symbol == exchange_rate.base.symbol",
        )
        self.exchange_rate.validate()
        require_market(self.amount_to_sell.symbol, self.exchange_rate.quote.symbol, "exchange_rate.quote")
        require(
            convert(self.amount_to_sell, self.exchange_rate).amount > 0,
            "Amount to sell cannot round to 0 when traded",
            condition="( amount_to_sell * exchange_rate ).amount > 0",
        )

    def apply(self, state: State) -> None:
        create_order(state, self, self.exchange_rate, EARLY_EXPIRATION_MAX)


@operation(6, active="owner")
class LimitOrderCancel(Operation, frozen=True):
    """Cancel an order, and return its unsold funds."""

    owner: AccountName = ""
    orderid: UInt32 = 0

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)

    def apply(self, state: State) -> None:
        # Before hardfork 6 only the low 16 bits of the number counted.
        number = self.orderid if state.hardfork >= 6 else self.orderid & 0xFFFF
        order = state.limit_orders.by_account.find(self.owner, number)

        cancel_order(state, order)


@operation(8, active="owner")
class Convert(Operation, frozen=True):
    """Convert SBD to COIN at the median price of the following days."""

    owner: AccountName = ""
    requestid: UInt32 = 0
    amount: Asset = Asset()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)
        require(self.amount.symbol == SBD, "Can only convert SBD to COIN", condition="is_asset_type( amount, SBD_SYMBOL )")
        require(self.amount.amount > 0, "Must convert some SBD", condition="amount.amount > 0")

    def apply(self, state: State) -> None:
        adjust_balance(state, state.account(self.owner), -self.amount.amount, SBD)
        require(
            median_price(state) != NULL_PRICE,
            "Cannot convert SBD because there is no price feed.",
            condition="!fhistory.current_median_history.is_null()",
        )

        # Before hardfork 16 a conversion took a week; since then it takes half a week.
        delay = constants.COIN_CONVERSION_DELAY if state.hardfork >= 16 else constants.COIN_CONVERSION_DELAY_PRE_HF_16
        state.convert_requests.insert(
            ConvertRequest(owner=self.owner, requestid=self.requestid, amount=self.amount.amount, conversion_date=state.head_time + delay)
        )


def create_order(state: State, operation: LimitOrderCreate | LimitOrderCreate2, price: Price, early_expiration_max: int) -> None:
    """Check an order's expiration, debit the seller, insert the order and match it."""
    now, expiration = state.head_time, operation.expiration
    if expiration <= now:
        raise Refused("Limit order has to expire after head block time.", condition="o.expiration > _db.head_block_time()")
    if state.hardfork >= 20:
        if expiration > now + constants.COIN_MAX_LIMIT_ORDER_EXPIRATION:
            raise Refused(
                "Limit Order Expiration must not be more than 28 days in the future",
                condition="o.expiration <= _db.head_block_time() + COIN_MAX_LIMIT_ORDER_EXPIRATION",
            )
    else:
        # Before hardfork 20 orders could have any expiration; it is limited to a time soon after that hardfork.
        expiration = min(expiration, early_expiration_max)
    sold = operation.amount_to_sell

    adjust_balance(state, state.account(operation.owner), -sold.amount, sold.symbol)
    order = state.limit_orders.insert(
        LimitOrder(
            created=now, expiration=expiration, seller=operation.owner, orderid=operation.orderid, for_sale=sold.amount, sell_price=price
        )
    )
    gone = apply_order(state, order)
    if not gone and operation.fill_or_kill:
        raise Refused("Cancelling order because it was not filled.", condition="filled")


def require_market(sold: int, received: int, receive_field: str) -> None:
    """Refuse any market except COIN against SBD or an SMT.

    `receive_field` is the operation's field for the received amount; the condition of the refusal contains it.
    """
    allowed = {sold, received} == {COIN, SBD} or (is_smt(sold) and received == COIN) or (sold == COIN and is_smt(received))
    other = receive_field
    require(
        allowed,
        "Limit order must be for the COIN:SBD or SMT:(COIN/SBD) market",
        condition=f"( is_asset_type( amount_to_sell, COIN_SYMBOL ) && is_asset_type( {other}, SBD_SYMBOL ) ) "
        f"|| ( is_asset_type( amount_to_sell, SBD_SYMBOL ) && is_asset_type( {other}, COIN_SYMBOL ) ) "
        f"|| ( amount_to_sell.symbol.space() == asset_symbol_type::smt_nai_space && is_asset_type( {other}, COIN_SYMBOL ) ) "
        f"|| ( is_asset_type( amount_to_sell, COIN_SYMBOL ) && {other}.symbol.space() == asset_symbol_type::smt_nai_space )",
    )
