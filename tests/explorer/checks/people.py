"""Accounts, posts and communities, compared with what the node says by RPC."""

from playwright.sync_api import Browser

from tests.explorer.browser import viewing
from tests.explorer.checks.base import amount, check, decimal, facts, grouped, holds, money, same, table
from tests.explorer.world import COMMUNITY, MODERATORS, Node


@check
def account_shows_its_balances_and_their_sum(browser: Browser, node: Node) -> None:
    account = node.call("condenser_api.get_accounts", [["alice"]])[0]
    props = node.call("condenser_api.get_dynamic_global_properties", [])
    with viewing(browser, node.url) as view:
        view.open("/@alice")
        view.section("Balances").get_by_text("In open orders").first.wait_for()
        *rows, together = table(view.section("Balances"), "What the account owns and what it is worth")
        shown = [tuple(row[:2]) for row in rows]
        for words, name in (
            ("Liquid", "balance"),
            ("Liquid", "sbd_balance"),
            ("Vesting", "vesting_shares"),
            ("Savings", "savings_balance"),
        ):
            assert (words, money(account[name])) in shown, (words, account[name], shown)
        vests = next(row for row in rows if row[0] == "Vesting")
        worth = amount(account["vesting_shares"]) * amount(props["total_vesting_fund_coin"]) // amount(props["total_vesting_shares"])
        same(vests[2], decimal(worth, 3))
        for column in (2, 3):
            same(together[column], decimal(sum(int(row[column].replace(",", "").replace(".", "")) for row in rows), 3))
        holds(view.section("Balances").inner_text(), f"Worth {together[2]} COIN or {together[3]} SBD together")
        view.demand()


@check
def account_shows_its_vests_and_bars(browser: Browser, node: Node) -> None:
    account = node.call("condenser_api.get_accounts", [["carol"]])[0]
    own, given, got = (amount(account[f"{name}vesting_shares"]) for name in ("", "delegated_", "received_"))
    credits = node.call("rc_api.find_rc_accounts", {"accounts": ["carol"]})["rc_accounts"][0]
    with viewing(browser, node.url) as view:
        view.open("/@carol")
        rows = table(view.section("VESTS"), "VESTS of the account, with delegations")
        same([row[1] for row in rows[:4]], [decimal(own, 6), "−" + decimal(given, 6), decimal(got, 6), decimal(own - given + got, 6)])
        holds(view.section("Mana").inner_text(), f"of {decimal(own - given + got, 6)}", f"of {grouped(credits['max_rc'])}")
        same(view.section("Mana").locator(".bar").count(), 3)
        view.demand()


@check
def account_shows_who_may_sign(browser: Browser, node: Node) -> None:
    account = node.call("condenser_api.get_accounts", [["shared.fund"]])[0]
    wanted = [
        [role, name, str(weight), str(account[role]["weight_threshold"])]
        for role in ("owner", "active", "posting")
        for name, weight in [*account[role]["account_auths"], *account[role]["key_auths"]]
    ]
    with viewing(browser, node.url) as view:
        view.open("/@shared.fund?tab=authorities")
        same(table(view.section("Who may sign"), "Keys and accounts that may sign, with their weights"), wanted)
        view.demand()


@check
def account_history_goes_back_page_by_page(browser: Browser, node: Node) -> None:
    history = node.call("account_history_api.get_account_history", {"account": "judy", "start": -1, "limit": 100})["history"]
    wanted = [f"no. {grouped(number)}" for number, _ in reversed(history)]
    with viewing(browser, node.url) as view:
        view.open("/@judy?tab=history")
        for part in (wanted[:50], wanted[50:100]):
            places = view.section("History").locator("[title='number in this history']")
            places.filter(has_text=part[0]).first.wait_for()
            same(places.all_text_contents(), part)
            view.page.get_by_role("button", name="Older").click()
        view.open("/@nobody.here")
        holds(view.text(), "There is no account named nobody.here")
        view.demand()


@check
def post_shows_its_payout_votes_and_replies(browser: Browser, node: Node) -> None:
    post = node.call("condenser_api.get_content", ["bob", "unpaid"])
    with viewing(browser, node.url) as view:
        view.open("/@bob/unpaid")
        assert amount(post["pending_payout_value"]) > 0, post
        pending = view.section("Pending payout")
        holds(pending.inner_text(), money(post["pending_payout_value"]), "agrees")
        rows = {row[0]: (row[1], row[2]) for row in table(view.section("Votes"), "Votes")}
        wanted = {
            vote["voter"]: (f"{vote['percent'] / 100:g} %".replace("-", "−"), grouped(vote["rshares"]).replace("-", "−"))
            for vote in post["active_votes"]
        }
        same(rows, wanted)
        replies = node.call("condenser_api.get_content_replies", ["bob", "unpaid"])
        same(view.section("Replies").locator("li").count(), len(replies))
        holds(view.section("Replies").inner_text(), *[reply["body"] for reply in replies])
        paid = node.call("condenser_api.get_content", ["alice", "paid"])
        view.open("/@alice/paid")
        shown = facts(view.section("Paid"))
        same((shown["To the author"], shown["To curators"]), (money(paid["total_payout_value"]), money(paid["curator_payout_value"])))
        view.demand()


@check
def lists_of_posts_have_the_order_of_the_node(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        for order in ("trending", "created", "hot"):
            posts = node.call(f"condenser_api.get_discussions_by_{order}", [{"tag": "", "limit": 20}])
            view.open(f"/posts/{order}")
            links = view.page.locator("main table td:first-child .wide > a")
            found = [link.get_attribute("href") for link in links.all()]
            assert posts, order
            same(found[: len(posts)], [f"/@{one['author']}/{one['permlink']}" for one in posts])
        view.demand()


@check
def community_shows_its_team_and_posts(browser: Browser, node: Node) -> None:
    roles = node.call("bridge.list_community_roles", {"community": COMMUNITY})
    subscribers = node.call("bridge.list_subscribers", {"community": COMMUNITY})
    with viewing(browser, node.url) as view:
        view.open("/communities")
        holds(view.text(), COMMUNITY)
        view.open(f"/community/{COMMUNITY}")
        same(table(view.section("All roles"), "All roles"), [row[:3] for row in roles])
        same({row[0] for row in table(view.section("Team"), "Team")}, {COMMUNITY, *MODERATORS})
        same([row[0] for row in table(view.section("Subscribers"), "Subscribers")], [row[0] for row in subscribers])
        holds(view.section("Posts").inner_text(), "In a community")
        view.demand()
