"""`coind show market` and `orders`."""

from typing import Any

from node.commands.output import write_note, write_pairs, write_table
from node.commands.remote import Remote
from node.commands.show.reading import amount_text, member

PRICE_PLACES = 6
AMOUNT_PLACES = 3
PERCENT_PLACES = 2


def ask_market(remote: Remote, count: int) -> Any:
    """Return ticker, order book and last trades."""
    return {
        "ticker": remote.call("condenser_api.get_ticker", []),
        "order_book": remote.call("condenser_api.get_order_book", [count]),
        "trades": remote.call("condenser_api.get_recent_trades", [count]),
    }


def write_market(remote: Remote, market: Any) -> None:
    """Print the market."""
    spec, ticker = remote.spec, market["ticker"]
    coin, debt = spec.coin_symbol, spec.debt_symbol
    write_pairs(
        [
            ("last price", f"{price(ticker['latest'])} {debt} for 1 {coin}"),
            ("highest bid", price(ticker["highest_bid"])),
            ("lowest ask", price(ticker["lowest_ask"])),
            ("change", f"{rounded(ticker['percent_change'], PERCENT_PLACES)}% in a day"),
            ("volume", f"{member(ticker, 'coin_volume', remote)}, {member(ticker, 'sbd_volume', remote)} in a day"),
        ],
        title=f"{coin} / {debt}",
    )
    for side, title in (("bids", f"bids: {debt} offered for {coin}"), ("asks", f"asks: {coin} offered for {debt}")):
        write_note("")
        rows = [order_row(order, coin, debt, remote) for order in market["order_book"][side]]
        write_table([">price", f">{coin}", f">{debt}"], rows, title=title)
    write_note("")
    trades = [(trade["date"], trade["current_pays"], trade["open_pays"]) for trade in market["trades"]]
    write_table(["time", ">taker pays", ">maker pays"], trades, title="last trades")


def order_row(order: dict[str, Any], coin: str, debt: str, remote: Remote) -> list[object]:
    """Return the row of an order in the book."""
    amounts = [amount_text(int(member(order, name, remote, 0)), AMOUNT_PLACES, "").rstrip() for name in (COIN_SIDE, DEBT_SIDE)]
    return [price(order["real_price"]), *amounts]


COIN_SIDE, DEBT_SIDE = "coin", "sbd"


def price(text: Any) -> str:
    """Return a price with six decimals."""
    return rounded(text, PRICE_PLACES)


def rounded(text: Any, places: int) -> str:
    """Return a decimal number, which nodes write with many places, with fewer of them."""
    whole, _, fraction = str(text).partition(".")
    return f"{whole}.{fraction[:places].ljust(places, '0')}"


def ask_orders(remote: Remote, name: str) -> Any:
    """Return the open orders of an account."""
    return remote.call("condenser_api.get_open_orders", [name])


def write_orders(remote: Remote, orders: Any) -> None:
    """Print open orders."""
    rows = [
        (order["orderid"], order["sell_price"]["base"], order["sell_price"]["quote"], price(order["real_price"]), order["expiration"])
        for order in orders
    ]
    write_table([">order", ">sells", ">wants", ">price", "expires"], rows, empty="no open orders")
