"""`coind show market` and `orders`."""

from typing import Any

from node.cli.remote import Remote
from node.cli.show.reply_fields import amount_text, decimal_text, member, ratio, symbol, units
from node.runtime.output import say, write_pairs, write_table

PRICE_PLACES = 6
AMOUNT_PLACES = 3
PERCENT_PLACES = 2


def ask_market(remote: Remote, count: int) -> Any:
    """Return the ticker, the order book and recent trades of the internal market."""
    return {
        "ticker": remote.call("condenser_api.get_ticker", []),
        "order_book": remote.call("condenser_api.get_order_book", [count]),
        "trades": remote.call("condenser_api.get_recent_trades", [count]),
    }


def write_market(remote: Remote, market: Any) -> None:
    """Print the ticker, the order book and recent trades of the internal market."""
    spec, ticker = remote.spec, market["ticker"]
    coin, debt = spec.coin_symbol, spec.debt_symbol
    write_pairs(
        [
            ("last price", f"{price(ticker['latest'])} {debt} for 1 {coin}"),
            ("highest bid", price(ticker["highest_bid"])),
            ("lowest ask", price(ticker["lowest_ask"])),
            ("change", f"{decimal_text(ticker['percent_change'], PERCENT_PLACES)}% in a day"),
            ("volume", f"{member(ticker, 'coin_volume', remote)}, {member(ticker, 'sbd_volume', remote)} in a day"),
        ],
        title=f"{coin} / {debt}",
    )
    for side, title in (("bids", f"bids: {debt} offered for {coin}"), ("asks", f"asks: {coin} offered for {debt}")):
        say("")
        rows = [order_row(order, remote) for order in market["order_book"][side]]
        write_table([">price", f">{coin}", f">{debt}"], rows, title=title)
    say("")
    trades = [(trade["date"], trade["current_pays"], trade["open_pays"]) for trade in market["trades"]]
    write_table(["time", ">taker pays", ">maker pays"], trades, title="last trades")


def order_row(order: dict[str, Any], remote: Remote) -> list[object]:
    """Return the table row of an order in the order book."""
    coins, debts = (int(member(order, name, remote, 0)) for name in ("coin", "sbd"))
    return [ratio(debts, coins, PRICE_PLACES), *(amount_text(amount, AMOUNT_PLACES, "").rstrip() for amount in (coins, debts))]


def price(text: Any) -> str:
    """Format a price with six decimals."""
    return decimal_text(text, PRICE_PLACES)


def order_price(selling: dict[str, str], remote: Remote) -> str:
    """Return the price of an order in debt tokens per coin, no matter which of the two it sells."""
    base, quote = selling["base"], selling["quote"]
    coins, debts = (quote, base) if symbol(quote) == remote.spec.coin_symbol else (base, quote)
    return ratio(units(debts), units(coins), PRICE_PLACES)


def write_orders(remote: Remote, orders: Any) -> None:
    """Print open orders."""
    rows = [
        (
            order["orderid"],
            order["sell_price"]["base"],
            order["sell_price"]["quote"],
            order_price(order["sell_price"], remote),
            order["expiration"],
        )
        for order in orders
    ]
    write_table([">order", ">sells", ">wants", ">price", "expires"], rows, empty="no open orders")
