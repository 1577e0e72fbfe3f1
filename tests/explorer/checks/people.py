"""Checks of account, post and community pages against RPC replies."""

from contextlib import suppress
from datetime import datetime

from playwright.sync_api import Browser

from tests.explorer.browser import viewing
from tests.explorer.checks.base import amount, check, decimal, facts, grouped, holds, money, same, table
from tests.explorer.world import COMMUNITY, COMMUNITY_TITLE, DAY, MEMBER_TITLES, Node, Refused, custom, post, vote

FILLED_AFTER = 5 * DAY


def time_of(shown: str) -> str:
    """Return the time at the start of a text in the node's format."""
    return "T".join(shown.split()[:2])


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
def account_shows_how_full_its_bars_are(browser: Browser, node: Node) -> None:
    """Compare the displayed manabars with values computed from the account's row. Mana regenerates within five days."""
    account = node.call("condenser_api.get_accounts", [["carol"]])[0]
    own, given, got = (amount(account[f"{name}vesting_shares"]) for name in ("", "delegated_", "received_"))
    whole = own - given + got
    now = datetime.fromisoformat(node.call("explorer_api.get_overview")["time"] + "+00:00").timestamp()
    with viewing(browser, node.url) as view:
        view.open("/@carol")
        for words, name, full in (("Voting", "voting_manabar", whole), ("Downvotes", "downvote_manabar", whole // 4)):
            bar = account[name]
            mana = min(full, int(bar["current_mana"]) + full * int(now - bar["last_update_time"]) // FILLED_AFTER)
            shown = view.section("Mana").get_by_role("img", name=f"{words}:").or_(view.section("Mana").locator(f"[aria-label^='{words}:']"))
            found = float(str(shown.first.get_attribute("aria-label")).split(": ")[1].split(" %")[0])
            assert abs(found - 100 * mana / full) <= 0.2, (words, found, 100 * mana / full)
        view.demand()


@check
def account_shows_what_it_has_open(browser: Browser, node: Node) -> None:
    orders = node.call("condenser_api.get_open_orders", ["alice"])
    leaving = node.call("condenser_api.get_savings_withdraw_from", ["alice"])
    conversions = node.call("condenser_api.get_conversion_requests", ["alice"])
    escrow = node.call("condenser_api.get_escrow", ["alice", 3])
    assert orders
    assert leaving
    assert conversions
    with viewing(browser, node.url) as view:
        view.open("/@alice?tab=open")
        rows = table(view.section("Open orders"), "Orders of this account that are open")
        same([row[:2] for row in rows], [[str(one["orderid"]), f"{decimal(one['for_sale'], 3)} COIN"] for one in orders])
        same([row[2].split()[1] for row in rows], [one["sell_price"]["quote"].split()[1] for one in orders])
        rows = table(view.section("Withdrawals from savings"), "Withdrawals from savings, of this account and to it")
        wanted = [[str(one["request_id"]), one["from"], one["to"], money(one["amount"])] for one in leaving]
        same([row[:4] for row in rows], wanted)
        rows = table(view.section("Conversions"), "Conversions that are under way")
        same([row[:2] for row in rows], [[str(one["requestid"]), money(one["amount"])] for one in conversions])
        (row,) = table(view.section("Escrows"), "Escrows that this account opened")
        same(row[:5], ["3", "bob", "judy", "1.000 SBD, 3.000 COIN", escrow["pending_fee"]])
        same(row[5], "bob has not agreed judy has not agreed")
        due = [time_of(row[0]) for row in table(view.section("What is due when"), "What is due for this account, soonest first")]
        same(due, sorted(due))
        for one in (*(order["expiration"] for order in orders), leaving[0]["complete"], conversions[0]["conversion_date"]):
            assert one in due, (one, due)
        view.demand()


@check
def account_shows_its_delegations(browser: Browser, node: Node) -> None:
    given = node.call("condenser_api.get_vesting_delegations", ["carol", "", 100])
    assert len(given) > 1
    with viewing(browser, node.url) as view:
        view.open("/@carol?tab=delegations")
        rows = table(view.section("Delegated to others"), "Delegations to others")
        same([row[:2] for row in rows], [[one["delegatee"], money(one["vesting_shares"])] for one in given])
        view.open("/@grace?tab=delegations")
        got = node.call("condenser_api.get_accounts", [["grace"]])[0]["received_vesting_shares"]
        holds(view.section("Received from others").inner_text(), money(got))
        view.demand()


@check
def account_shows_rewards_to_claim(browser: Browser, node: Node) -> None:
    names = ("reward_coin_balance", "reward_sbd_balance", "reward_vesting_balance")
    with viewing(browser, node.url) as view:
        for name in ("alice", "bob", "carol", "heidi"):
            account = node.call("condenser_api.get_accounts", [[name]])[0]
            view.open(f"/@{name}")
            shown = [row[1] for row in table(view.section("Balances"), "What the account owns and what it is worth") if "claim" in row[0]]
            same(shown, [money(account[field]) for field in names if amount(account[field])])
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


SYMBOLS = {"@@000000013": "SBD", "@@000000021": "COIN"}


@check
def account_history_sums_transfers(browser: Browser, node: Node) -> None:
    history = node.call("account_history_api.get_account_history", {"account": "bob", "start": -1, "limit": 1000})["history"]
    transfers = [entry["op"]["value"] for _, entry in history if entry["op"]["type"] == "transfer_operation"]
    with viewing(browser, node.url) as view:
        view.open("/@bob?tab=history&theme=money")
        said = view.section("History").get_by_text("Transfers on this page").inner_text()
        for mine, others, word in (("from", "to", "paid"), ("to", "from", "received")):
            sums: dict[str, int] = {}
            for value in reversed(transfers):
                if value[mine] == "bob" != value[others]:
                    sums[value["amount"]["nai"]] = sums.get(value["amount"]["nai"], 0) + int(value["amount"]["amount"])
            texts = [f"{grouped(size // 1000)}.{size % 1000:03} {SYMBOLS[nai]}" for nai, size in sums.items()]
            holds(said, f"{word} {' and '.join(texts) or 'nothing'}")
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
def what_applications_send_is_told_by_who_signed_it(browser: Browser, node: Node) -> None:
    follow = {"follower": "heidi", "following": "erin", "what": ["blog"]}
    node.send(custom("heidi", "follow", ["follow", follow]))
    node.send(custom("heidi", "follow", ["follow", {**follow, "what": []}]), custom("heidi", "notes", ["follow", follow]))
    node.mine()
    with viewing(browser, node.url) as view:
        view.open("/@heidi?tab=history")
        said = view.section("History").locator(".sentence").all_inner_texts()
        assert said[0].startswith('heidi sent notes: ["follow"'), said[0]
        same(said[1:3], ["heidi unfollowed erin", "heidi followed erin"])
        view.demand()


@check
def sentences_name_posts_and_communities_by_their_titles(browser: Browser, node: Node) -> None:
    follow = ["follow", {"follower": "ivan", "following": "bob", "what": ["blog"]}]
    node.send(vote("ivan", "bob", "unpaid"))
    node.mine()
    node.send(vote("ivan", "erin", "re-unpaid"), custom("ivan", "follow", follow))
    node.send(custom("ivan", "community", ["subscribe", {"community": COMMUNITY}]))
    node.mine()
    with viewing(browser, node.url) as view:
        view.open("/@ivan?tab=history")
        sentences = view.section("History").locator(".sentence")
        sentences.get_by_text("a reply to What I did today").first.wait_for()
        same(
            sentences.all_inner_texts()[:4],
            [
                f"ivan subscribed to {COMMUNITY_TITLE}",
                "ivan followed bob",
                "ivan voted 100 % for a reply to What I did today by erin",
                "ivan voted 100 % for What I did today by bob",
            ],
        )
        same(sentences.nth(3).locator("a.post").get_attribute("title"), "bob/unpaid")
        same(sentences.nth(0).get_by_role("link", name=COMMUNITY_TITLE).get_attribute("href"), f"/community/{COMMUNITY}")
        view.demand()


@check
def titles_follow_edits_and_undone_blocks(browser: Browser, node: Node) -> None:
    node.send(vote("ivan", "erin", "re-unpaid", 4000), custom("ivan", "community", ["subscribe", {"community": COMMUNITY}]))
    node.mine()
    snapshot = node.call("dev_api.snapshot")["id"]
    with viewing(browser, node.url) as view:
        view.open("/@ivan?tab=history")
        sentences = view.section("History").locator(".sentence")
        shown = ("ivan voted 40 % for a reply to What I did today by erin", f"subscribed to {COMMUNITY_TITLE}")
        edited = ("ivan voted 40 % for a reply to What I did since by erin", "subscribed to The market place")
        for text in shown:
            sentences.get_by_text(text).first.wait_for()
        node.send(post("bob", "unpaid", "What I did since", "Not *much*.", metadata={"tags": ["life"]}))
        node.send(custom(COMMUNITY, "community", ["updateProps", {"community": COMMUNITY, "props": {"title": "The market place"}}]))
        node.mine()
        for text in edited:
            sentences.get_by_text(text).first.wait_for()
        node.call("dev_api.revert", {"id": snapshot})
        for text in shown:
            sentences.get_by_text(text).first.wait_for()
        view.demand()


@check
def transaction_tells_what_communities_ignore(browser: Browser, node: Node) -> None:
    role = ["setRole", {"community": COMMUNITY, "account": "dave", "role": "mod"}]
    ignored, followed = node.send(custom("ivan", "community", role)), node.send(custom(COMMUNITY, "community", role))
    node.mine()
    with viewing(browser, node.url) as view:
        view.open(f"/transaction/{ignored}")
        view.section("What it says").get_by_text("only mods and up can alter roles").wait_for()
        view.open(f"/transaction/{followed}")
        view.page.wait_for_load_state("networkidle")
        same(view.section("What it says").locator(".note").count(), 0)
        view.demand()


@check
def account_of_a_witness_shows_its_voters(browser: Browser, node: Node) -> None:
    witness = node.call("condenser_api.get_witness_by_account", ["erin"])
    voters = node.call("database_api.list_witness_votes", {"start": ["erin", ""], "limit": 100, "order": "by_witness_account"})["votes"]
    with viewing(browser, node.url) as view:
        view.open("/@erin")
        view.section("Account").get_by_role("link", name="missed blocks").click()
        shown = facts(view.section("As a witness"))
        same(shown["Voters"], ", ".join(one["account"] for one in voters if one["witness"] == "erin"))
        rate = witness["sbd_exchange_rate"]
        holds(shown["Price feed"], f"{rate['base']} for {rate['quote']}")
        view.demand()


@check
def what_was_refused_is_told_as_an_attempt(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.open("/refused?account=alice")
        said = view.page.locator("main .sentence").all_inner_texts()
        for wanted in ("alice tried to pay bob 99,999,999.000 COIN", "alice tried to take back order 4000"):
            assert wanted in said, (wanted, said)
        view.demand()


@check
def a_wrong_author_leaves_other_posts_their_titles(browser: Browser, node: Node) -> None:
    header = {"ref_block_num": 0, "ref_block_prefix": 0, "expiration": "2030-01-01T00:00:00", "extensions": [], "signatures": []}
    for author, permlink in (("bob", "unpaid"), (["bob"], "hello")):
        with suppress(Refused):
            operation = ["delete_comment", {"author": author, "permlink": permlink}]
            node.call("condenser_api.broadcast_transaction", [header | {"operations": [operation]}])
    with viewing(browser, node.url) as view:
        view.open("/refused")
        view.page.locator("main .sentence").get_by_text("bob tried to delete What I did today").wait_for()
        view.demand()


@check
def account_shows_its_followers(browser: Browser, node: Node) -> None:
    followers = node.call("condenser_api.get_followers", ["bob", "", "blog", 100])
    followed = node.call("condenser_api.get_following", ["carol", "", "blog", 100])
    node.send(custom("carol", "follow", ["follow", {"follower": "carol", "following": "judy", "what": ["ignore"]}]))
    node.mine()
    assert followers
    assert followed
    with viewing(browser, node.url) as view:
        view.open("/@bob")
        same(facts(view.section("Account"))["Followers"], str(len(followers)))
        view.open("/@bob?tab=followers")
        same(table(view.section("Followers"), "Followers"), [[one["follower"]] for one in followers])
        view.open("/@carol?tab=followers")
        same(table(view.section("Follows"), "Follows"), [[one["following"]] for one in followed])
        same(table(view.section("Mutes"), "Mutes"), [["judy"]])
        view.demand()


@check
def account_counts_its_escrows(browser: Browser, node: Node) -> None:
    escrow = node.call("condenser_api.get_escrow", ["alice", 3])
    wanted = [[money(escrow["coin_balance"]), escrow["pending_fee"]], [money(escrow["sbd_balance"])]]
    with viewing(browser, node.url) as view:
        view.open("/@alice")
        view.section("Balances").get_by_text("In escrows").first.wait_for()
        shown = [row[1] for row in table(view.section("Balances"), "What the account owns and what it is worth") if row[0] == "In escrows"]
        coins = sum(amount(one.replace(",", "")) for one in wanted[0])
        same(shown, [f"{decimal(coins, 3)} COIN", wanted[1][0]])
        view.demand()


@check
def texts_have_tags_and_task_lists(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.open("/@bob/hello")
        text = view.section("Text")
        text.locator("a.tag").wait_for()
        same(text.locator("a.tag").get_attribute("href"), "/posts/trending/life")
        same([one for one in text.locator("li").all_inner_texts() if "do" in one], ["☐ to do", "☑ done"])
        view.demand()


@check
def texts_load_pictures_only_on_request(browser: Browser, node: Node) -> None:
    sources = [f"https://example.com/{name}.png" for name in ("linked", "picture")]
    with viewing(browser, node.url) as view:
        for source in sources:
            view.page.route(
                source, lambda route: route.fulfill(content_type="image/svg+xml", body='<svg xmlns="http://www.w3.org/2000/svg"/>')
            )
        view.open("/@bob/hello")
        button = view.section("Text").get_by_role("link", name="Load pictures from other sites")
        button.wait_for()
        same(view.page.locator("main img").count(), 0)
        view.demand()
        button.click()
        view.page.wait_for_url("**/@bob/hello?pictures=shown")
        view.section("Text").locator("img").nth(1).wait_for(state="attached")
        view.page.wait_for_load_state("networkidle")
        same(sorted(view.faults), [f"request to {source}" for source in sources])
        view.faults.clear()
        view.section("Facts").get_by_role("link", name="bob").click()
        view.page.wait_for_url("**/@bob")
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
def community_shows_its_roles_and_posts(browser: Browser, node: Node) -> None:
    roles = node.call("bridge.list_community_roles", {"community": COMMUNITY})
    subscribers = node.call("bridge.list_subscribers", {"community": COMMUNITY})
    with viewing(browser, node.url) as view:
        view.open("/communities")
        holds(view.text(), COMMUNITY)
        view.open(f"/community/{COMMUNITY}")
        same(table(view.section("All roles"), "All roles"), [row[:3] for row in roles])
        shown = [(row[0], row[2]) for row in table(view.section("Subscribers"), "Subscribers")]
        same(shown, [(row[0], row[2] or "") for row in subscribers])
        view.section("Posts").locator(".badge").get_by_text(MEMBER_TITLES["carol"]).wait_for()
        holds(view.section("Posts").inner_text(), "In a community")
        view.open("/@carol/in-a-community")
        view.section("Replies").locator(".badge").get_by_text(MEMBER_TITLES["dave"]).wait_for()
        view.demand()
