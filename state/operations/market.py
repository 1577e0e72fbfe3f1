"""The market: limit orders, and conversions of SBD at the price feed.

Declarations and what can be refused without state. Sources: operations.md §9; wire-format.md §4.1.
"""

from __future__ import annotations

from state.operations.checks import require_account_name
from state.protocol.asset import COIN, SBD, Asset, Price, convert, is_smt
from state.protocol.codec import Codecs
from state.protocol.constants import TIME_MAX
from state.protocol.errors import require
from state.protocol.kinds import AccountName, Bool, Time, UInt32
from state.protocol.operation import Operation, operation


@operation(5, active="owner")
class LimitOrderCreate(Operation, frozen=True):
    """Offer funds for a minimum of others; what matches is traded at once."""

    owner: AccountName = ""
    orderid: UInt32 = 0
    amount_to_sell: Asset = Asset()
    min_to_receive: Asset = Asset()
    fill_or_kill: Bool = False
    expiration: Time = TIME_MAX

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)
        require_market(self.amount_to_sell.symbol, self.min_to_receive.symbol, "min_to_receive")
        Price(self.amount_to_sell, self.min_to_receive).validate()


@operation(21, active="owner")
class LimitOrderCreate2(Operation, frozen=True):
    """Offer funds at a price; what matches is traded at once."""

    owner: AccountName = ""
    orderid: UInt32 = 0
    amount_to_sell: Asset = Asset()
    exchange_rate: Price = Price()
    fill_or_kill: Bool = False
    expiration: Time = TIME_MAX

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


@operation(6, active="owner")
class LimitOrderCancel(Operation, frozen=True):
    """Take back what is left of an order."""

    owner: AccountName = ""
    orderid: UInt32 = 0

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)


@operation(8, active="owner")
class Convert(Operation, frozen=True):
    """Turn SBD into COIN at the median price of the days that follow."""

    owner: AccountName = ""
    requestid: UInt32 = 0
    amount: Asset = Asset()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)
        require(self.amount.symbol == SBD, "Can only convert SBD to COIN", condition="is_asset_type( amount, SBD_SYMBOL )")
        require(self.amount.amount > 0, "Must convert some SBD", condition="amount.amount > 0")


def require_market(sold: int, received: int, receive_field: str) -> None:
    """COIN against SBD or against an SMT, in either role; `receive_field` names the other side in the condition."""
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
