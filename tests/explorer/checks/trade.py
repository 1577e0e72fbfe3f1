"""The market, witnesses, proposals and tokens, compared with what the node says by RPC."""

from playwright.sync_api import Browser

from tests.explorer.browser import viewing
from tests.explorer.checks.base import check, facts, grouped, holds, money, same, table
from tests.explorer.world import Node


@check
def market_shows_the_book_and_trades(browser: Browser, node: Node) -> None:
    book = node.call("condenser_api.get_order_book", [15])
    trades = node.call("condenser_api.get_recent_trades", [30])
    ticker = node.call("condenser_api.get_ticker", [])
    with viewing(browser, node.url) as view:
        view.open("/market")
        place = view.section("Order book")
        for caption, side in (("Bids: who buys COIN", "bids"), ("Asks: who sells COIN", "asks")):
            rows = table(place, caption)
            same([float(row[0]) for row in rows], [round(float(one["real_price"]), 6) for one in book[side]])
            same([row[1] for row in rows], [grouped(f"{one['coin'] / 1000:.3f}") for one in book[side]])
        same(len(table(view.section("Last trades"), "Last trades")), len(trades))
        pays = {money(trades[0][name]) for name in ("current_pays", "open_pays")}
        same(set(table(view.section("Last trades"), "Last trades")[0][3:5]), pays)
        now = facts(view.section("Now"))
        holds(now["Last price"], f"{float(ticker['latest']):.6f}")
        holds(now["Lowest ask"], f"{float(ticker['lowest_ask']):.6f}")
        holds(now["Highest bid"], f"{float(ticker['highest_bid']):.6f}")
        view.demand()


@check
def witnesses_stand_by_votes(browser: Browser, node: Node) -> None:
    witnesses = node.call("condenser_api.get_witnesses_by_vote", ["", 100])
    with viewing(browser, node.url) as view:
        view.open("/witnesses")
        rows = table(view.section("All witnesses"), "Witnesses by votes")
        for row, witness in zip(rows, witnesses, strict=True):
            assert row[0].startswith(witness["owner"]), (row, witness["owner"])
            same(row[3], grouped(witness["total_missed"]))
            same(row[4], grouped(witness["last_confirmed_block_num"]) if witness["last_confirmed_block_num"] else "none")
        active = {name for name in node.call("condenser_api.get_active_witnesses", []) if name}
        holds(view.section("This round").inner_text(), *active)
        view.demand()


@check
def proposals_and_their_voters(browser: Browser, node: Node) -> None:
    query = {"start": [], "limit": 100, "order": "by_total_votes", "order_direction": "descending", "status": "all"}
    proposals = node.call("database_api.list_proposals", query)["proposals"]
    with viewing(browser, node.url) as view:
        view.open("/proposals")
        rows = table(view.section("All proposals"), "Proposals, most votes first")
        same(len(rows), len(proposals))
        holds(view.text(), *[one["subject"] for one in proposals])
        view.open("/proposal/0")
        same([row[0] for row in table(view.section("Voters"), "Voters of the proposal")], ["carol", "dave"])
        view.demand()


@check
def tokens_show_supplies(browser: Browser, node: Node) -> None:
    props = node.call("condenser_api.get_dynamic_global_properties", [])
    token = node.call("database_api.list_smt_tokens", {"start": {}, "limit": 1, "order": "by_symbol"})["tokens"][0]["token"]
    with viewing(browser, node.url) as view:
        view.open("/tokens")
        for symbol, name in (("COIN", "current_supply"), ("SBD", "current_sbd_supply"), ("VESTS", "total_vesting_shares")):
            same(facts(view.section(symbol))["Supply"], money(props[name]))
        nai = token["liquid_symbol"]["nai"]
        view.open("/tokens?show=users")
        row = table(view.section("Tokens of users"), "Tokens of users")[0]
        same((row[0], row[2]), (nai, token["control_account"]))
        view.open(f"/token/{nai}")
        holds(view.text(), nai, token["control_account"])
        view.demand()
