"""What operations of orders and conversions refuse without state, each by one change of an accepted operation."""

from typing import Any

from state.operations import market
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, Price
from tests.helpers.refused import NULL_BASE, NULL_QUOTE, SMT, SMT_VESTING, Change, Rows, refusal_tests


def not_traded(other: str) -> str:
    """The condition and text for a pair that is not traded."""
    sides = [("is", "COIN", "SBD"), ("is", "SBD", "COIN"), ("smt", "", "COIN"), ("tms", "COIN", "")]
    smt = "{}.symbol.space() == asset_symbol_type::smt_nai_space"
    shown = []
    for kind, sold, received in sides:
        first = smt.format("amount_to_sell") if kind == "smt" else f"is_asset_type( amount_to_sell, {sold}_SYMBOL )"
        second = smt.format(other) if kind == "tms" else f"is_asset_type( {other}, {received}_SYMBOL )"
        shown.append(f"( {first} && {second} )")
    return " || ".join(shown) + ": Limit order must be for the COIN:SBD or SMT:(COIN/SBD) market"


def orders(**changes: Any) -> dict[str, Any]:
    """Changes of limit_order_create2 that keep the sold symbol that of the price's base."""
    rate = Price(Asset(changes.pop("base", 1000), changes["symbol"]), Asset(changes.pop("quote", 1000), changes.pop("quote_symbol", SBD)))
    return {"amount_to_sell": Asset(changes.pop("amount", 1000), changes.pop("symbol")), "exchange_rate": rate}


REFUSALS: dict[str, Rows] = {
    "limit_order_create": [
        *(
            ({"amount_to_sell": Asset(1, sold), "min_to_receive": Asset(1, received)}, not_traded("min_to_receive"))
            for sold, received in ((COIN, COIN), (COIN, VESTS), (VESTS, SBD), (SMT, SBD), (SBD, SMT), (SMT, SMT + 32))
        ),
        ({"amount_to_sell": Asset(0, COIN), "min_to_receive": Asset(1, SBD)}, NULL_BASE),
        ({"amount_to_sell": Asset(1, COIN), "min_to_receive": Asset(0, SBD)}, NULL_QUOTE),
    ],
    "limit_order_create2": [
        (
            {"amount_to_sell": Asset(1, SBD), "exchange_rate": Price(Asset(1), Asset(1, SBD))},
            "amount_to_sell.symbol == exchange_rate.base.symbol: Sell asset must be the base of the price",
        ),
        (orders(symbol=COIN, base=0), NULL_BASE),
        (orders(symbol=COIN, quote=0), NULL_QUOTE),
        (orders(symbol=SBD), "base.symbol != quote.symbol: "),
        (orders(symbol=SMT), not_traded("exchange_rate.quote")),
        (
            orders(symbol=COIN, amount=1, base=2000),
            "( amount_to_sell * exchange_rate ).amount > 0: Amount to sell cannot round to 0 when traded",
        ),
    ],
    "limit_order_cancel": [],
    "convert": [
        ({"amount": Asset(1)}, "is_asset_type( amount, SBD_SYMBOL ): Can only convert SBD to COIN"),
        ({"amount": Asset(0, SBD)}, "amount.amount > 0: Must convert some SBD"),
    ],
}

# Fields that hold an account's name; with a question mark those that may be empty.
NAMES = {
    "limit_order_create": "owner",
    "limit_order_cancel": "owner",
    "convert": "owner",
    "limit_order_create2": "owner",
}


ACCEPTED: list[tuple[str, Change]] = [
    *(
        ("limit_order_create", {"amount_to_sell": Asset(1, sold), "min_to_receive": Asset(1, received)})
        for sold, received in ((COIN, SBD), (SBD, COIN), (SMT, COIN), (COIN, SMT), (COIN, SMT_VESTING))
    ),
    ("limit_order_create2", orders(symbol=COIN, amount=1)),
]


test_refusal, test_accepted = refusal_tests(market, NAMES, REFUSALS, ACCEPTED)
