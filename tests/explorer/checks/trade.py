"""Checks of the market, witness, proposal and token pages against RPC replies."""

from datetime import datetime

from playwright.sync_api import Browser

from tests.explorer.browser import viewing
from tests.explorer.checks.base import amount, check, decimal, facts, grouped, holds, money, same, table
from tests.explorer.world import Node

ROUND = 21
BLOCK_SECONDS = 3


@check
def market_shows_the_book_and_trades(browser: Browser, node: Node) -> None:
    book = node.call("condenser_api.get_order_book", [15])
    trades = node.call("condenser_api.get_recent_trades", [30])
    ticker = node.call("condenser_api.get_ticker", [])
    parties = node.call("explorer_api.list_trades", {"limit": 30})
    history = node.call("condenser_api.get_feed_history", [])["price_history"]
    with viewing(browser, node.url) as view:
        view.open("/market")
        place = view.section("Order book")
        for caption, side in (("Bids: who buys COIN", "bids"), ("Asks: who sells COIN", "asks")):
            rows = table(place, caption)
            same([float(row[0]) for row in rows], [round(float(one["real_price"]), 6) for one in book[side]])
            same([row[1] for row in rows], [decimal(one["coin"], 3) for one in book[side]])
            same([row[2] for row in rows], [decimal(one["sbd"], 3) for one in book[side]])
        rows = table(view.section("Last trades"), "Last trades")
        same([set(row[4:6]) for row in rows], [{money(one[name]) for name in ("current_pays", "open_pays")} for one in trades])
        same([[*row[1:3], row[7]] for row in rows], [[one["taker"], one["maker"], grouped(one["block_num"])] for one in parties])
        now = facts(view.section("Now"))
        holds(now["Last price"], f"{float(ticker['latest']):.6f}")
        holds(now["Lowest ask"], f"{float(ticker['lowest_ask']):.6f}")
        holds(now["Highest bid"], f"{float(ticker['highest_bid']):.6f}")
        holds(now["Price in force"], f"the median of the last {len(history)} medians" if history else "which the chain began with")
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
def feeds_and_properties_have_their_medians(browser: Browser, node: Node) -> None:
    node.mine(ROUND)  # the next round includes all publishers
    witnesses = {one["owner"]: one for one in node.call("condenser_api.get_witnesses_by_vote", ["", 100])}
    median = node.call("condenser_api.get_witness_schedule", [])["median_props"]
    with viewing(browser, node.url) as view:
        view.open("/witnesses")
        rows = table(view.section("Price feeds"), "Prices that witnesses publish")
        feeds = {name: one["sbd_exchange_rate"] for name, one in witnesses.items() if amount(one["sbd_exchange_rate"]["base"])}
        same({row[0]: row[2] for row in rows}, {name: f"{rate['base']} for {rate['quote']}" for name, rate in feeds.items()})
        same([row[1] for row in rows if row[1].startswith("median")], ["median 0.260000"])
        [due] = node.call("explorer_api.list_due", {"kinds": ["median_price"]})
        props = node.call("database_api.get_dynamic_global_properties")
        seconds = (datetime.fromisoformat(due["time"]) - datetime.fromisoformat(props["time"])).total_seconds()
        block = props["head_block_number"] + int(seconds) // BLOCK_SECONDS
        for page, title in (("/witnesses", "Price feeds"), ("/tokens", "Price feed")):
            view.open(page)
            holds(view.section(title).inner_text(), f"The next median is taken with block {grouped(block)}")
        view.open("/witnesses")
        first, *others = table(view.section("Properties"), "Properties that witnesses publish")
        for row, props in ((first, median), *((row, witnesses[row[0]]["props"]) for row in others)):
            wanted = [money(props["account_creation_fee"]), grouped(props["maximum_block_size"]), f"{props['sbd_interest_rate'] / 100:g} %"]
            same(row[1:4], wanted)
            same(row[4:6], [grouped(props["account_subsidy_budget"]), grouped(props["account_subsidy_decay"])])
        same({row[0] for row in others}, set(witnesses))
        view.demand()


@check
def proposals_and_their_voters(browser: Browser, node: Node) -> None:
    query = {"start": [], "limit": 100, "order": "by_total_votes", "order_direction": "descending", "status": "all"}
    proposals = node.call("database_api.list_proposals", query)["proposals"]
    with viewing(browser, node.url) as view:
        view.open("/proposals")
        rows = table(view.section("All proposals"), "Proposals, most votes first")
        same(len(rows), len(proposals))
        found = {int(one["proposal_id"]): one for one in proposals}
        for row in rows:
            one = found.pop(int(row[0].split("number ")[1].split(",")[0]))
            holds(row[0], one["subject"], f"number {one['proposal_id']}", f"by {one['creator']}")
            same(row[2], f"{decimal(int(one['daily_pay']['amount']), 3)} SBD")
            holds(row[1], f"{decimal(int(one['total_votes']), 6) if int(one['total_votes']) else 0} VESTS")
        assert not found
        view.open("/proposal/0")
        voters = node.call("database_api.list_proposal_votes", {"start": [0], "limit": 100, "order": "by_proposal_voter", "status": "all"})
        voting = sorted(one["voter"] for one in voters["proposal_votes"] if int(one["proposal"]["proposal_id"]) == 0)
        same(sorted(row[0] for row in table(view.section("Voters"), "Voters of the proposal")), voting)
        about = facts(view.section("The proposal"))
        one = next(one for one in proposals if int(one["proposal_id"]) == 0)
        same((about["By"], about["Paid to"]), (one["creator"], one["receiver"]))
        holds(about["From"], one["start_date"].replace("T", " "))
        holds(about["To"], one["end_date"].replace("T", " "))
        holds(about["Asks for"], f"{decimal(int(one['daily_pay']['amount']), 3)} SBD a day")
        view.demand()


@check
def tokens_show_supplies(browser: Browser, node: Node) -> None:
    props = node.call("condenser_api.get_dynamic_global_properties", [])
    token = node.call("database_api.list_smt_tokens", {"start": {}, "limit": 1, "order": "by_symbol"})["tokens"][0]["token"]
    with viewing(browser, node.url) as view:
        view.open("/tokens")
        for symbol, name in (("COIN", "current_supply"), ("SBD", "current_sbd_supply"), ("VESTS", "total_vesting_shares")):
            same(facts(view.section(symbol))["Supply"], money(props[name]))
        coin, sbd = facts(view.section("COIN")), facts(view.section("SBD"))
        holds(coin["Virtual supply"], money(props["virtual_supply"]))
        same(coin["Vesting fund"], money(props["total_vesting_fund_coin"]))
        fund = node.call("condenser_api.get_reward_fund", ["post"])
        same(coin["Waits for posts"], money(fund["reward_balance"]))
        rate = node.call("condenser_api.get_current_median_history_price", [])
        holds(coin["One is worth"], f"{amount(rate['base']) / amount(rate['quote']):.6f}")
        holds(sbd["Print rate"], f"{props['sbd_print_rate'] / 100:g} %")
        nai = token["liquid_symbol"]["nai"]
        view.open("/tokens?show=users")
        row = table(view.section("Tokens of users"), "Tokens of users")[0]
        same((row[0], row[2]), (nai, token["control_account"]))
        view.open(f"/token/{nai}")
        holds(view.text(), nai, token["control_account"])
        view.demand()
