"""Checks of the home, block, transaction, due items, refusals and node pages against RPC replies."""

from datetime import datetime
from typing import Any

from playwright.sync_api import Browser

from tests.explorer.browser import viewing
from tests.explorer.checks.base import amount, check, facts, grouped, head, holds, money, passed_on, same, sees, table
from tests.explorer.world import Node, Refused, pay

# Due items of these kinds are displayed with an amount.
AMOUNTS = ("conversion", "order_expiration", "payout", "power_down", "savings")


@check
def header_shows_the_head(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.open("/")
        node.mine()
        head = node.call("explorer_api.get_overview")["head_block_number"]
        view.page.locator(".status dl").get_by_text(grouped(head), exact=True).wait_for()
        view.demand()


@check
def header_suggests_while_typing(browser: Browser, node: Node) -> None:
    found = node.call("explorer_api.find", {"text": "al"})
    with viewing(browser, node.url) as view:
        view.open("/console")
        field, suggestions = view.page.get_by_role("combobox", name="Find a block"), view.page.get_by_role("option")
        field.type("al")
        suggestions.first.wait_for()
        same([text.split()[-1] for text in suggestions.all_inner_texts()], [hit["account"] for hit in found][:8])
        view.demand(*view.audit())
        field.press("Escape")
        suggestions.first.wait_for(state="detached")
        field.type("ice")
        suggestions.first.wait_for()
        field.press("ArrowDown")
        same(suggestions.first.get_attribute("aria-selected"), "true")
        field.press("Enter")
        view.page.wait_for_url("**/@alice")
        field.type("bob")
        suggestions.first.click()
        view.page.wait_for_url("**/@bob")
        same(field.input_value(), "")
        view.demand()


@check
def home_shows_what_comes_without_being_loaded_anew(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.open("/")
        node.send(pay("alice", "carol", "1.234 COIN", "just now"))
        view.section("Waiting for a block").get_by_text("just now").wait_for()
        node.mine()
        view.section("Operations").get_by_text("just now").wait_for()
        try:
            node.send(pay("alice", "carol", "88888888.000 COIN"))
        except Refused as refused:
            why = refused.error["data"]["explain"]["why"]
        view.section("Refused").get_by_text(why[:60]).first.wait_for()
        view.demand()


@check
def home_can_be_filtered(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        node.send(
            pay("alice", "dave", "3.210 COIN", "filtered"),
            ["account_witness_vote", {"account": "dave", "witness": "erin", "approve": True}],
        )
        node.mine()
        view.open("/?theme=witnesses")
        view.section("Operations").get_by_text("voted for the witness").first.wait_for()
        assert "filtered" not in view.section("Operations").inner_text()
        view.open("/?account=dave")
        holds(view.section("Operations").inner_text(), "filtered", "voted for the witness")
        node.send(["account_witness_vote", {"account": "dave", "witness": "erin", "approve": False}])
        view.demand()


@check
def block_shows_what_the_node_says(browser: Browser, node: Node) -> None:
    number = node.call("explorer_api.get_overview")["head_block_number"] - 1
    block = node.call("block_api.get_block", {"block_num": number})["block"]
    with viewing(browser, node.url) as view:
        view.open(f"/block/{number}")
        holds(
            view.section("Header").inner_text(), block["block_id"], block["witness"], block["transaction_merkle_root"], block["signing_key"]
        )
        view.open(f"/block/{block['block_id']}")
        holds(view.text("h1"), grouped(number))
        view.open("/block/999999999")
        holds(view.text(), "The chain ends at block")
        view.demand()


@check
def drive_makes_blocks_and_returns(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.open("/")
        before = node.call("dev_api.get_info")
        view.page.get_by_text("Drive", exact=True).click()
        view.page.get_by_role("button", name="Snapshot").click()
        view.page.get_by_text("is taken").wait_for()
        view.page.get_by_role("button", name="Mine").click()
        view.page.get_by_text("Head was block").wait_for()
        same(node.call("dev_api.get_info")["head_block_number"], before["head_block_number"] + 1)
        view.page.get_by_role("button", name="Revert to").last.click()
        view.page.get_by_text(f"is block {grouped(before['head_block_number'])}").wait_for()
        same(node.call("dev_api.get_info")["head_block_id"], before["head_block_id"])
        view.demand()


@check
def due_advances_to_just_before(browser: Browser, node: Node) -> None:
    due = node.call("explorer_api.list_due", {"kinds": ["order_expiration"]})[0]
    moment = node.call("dev_api.snapshot")["id"]
    with viewing(browser, node.url) as view:
        view.open("/due?kind=order_expiration")
        holds(view.text(), due["amount"], due["account"])
        view.page.get_by_role("button", name="Advance to just before").first.click()
        view.page.get_by_text("The chain's time is").wait_for()
        left = node.call("explorer_api.list_due", {"kinds": ["order_expiration"]})[0]
        same(left, due)
        assert node.call("dev_api.get_info")["time"] <= due["time"]
        view.demand()
    node.call("dev_api.revert", {"id": moment})


@check
def due_is_what_the_node_says_in_order(browser: Browser, node: Node) -> None:
    due = node.call("explorer_api.list_due", {"limit": 500})
    assert {"payout", "order_expiration", "savings", "conversion", "escrow_ratification", "maintenance"} <= {one["kind"] for one in due}, (
        due
    )
    with viewing(browser, node.url) as view:
        view.open("/due")
        shown = view.page.locator("main ol.timeline > li").all_inner_texts()
        same([text.split()[0] for text in shown], [one["time"][11:] for one in due][: len(shown)])
        for text, one in zip(shown, due, strict=False):
            holds(text, *([money(one["amount"])] if one["kind"] in AMOUNTS else []), *filter(None, [one["account"]]))
        view.demand()


@check
def node_shows_its_tables(browser: Browser, node: Node) -> None:
    accounts = node.call("condenser_api.get_account_count", [])
    with viewing(browser, node.url) as view:
        view.open("/node")
        row = view.section("Memory by table").locator("tr", has_text="chain").filter(has_text="accounts").first
        row.wait_for()
        holds(row.inner_text(), grouped(accounts))
        view.demand()


@check
def other_machines_see_everything_but_what_drives(browser: Browser, node: Node) -> None:
    """A browser that is connected through a proxy has no local rights, like one on another machine."""
    with passed_on(node.url) as url, viewing(browser, url) as view:
        view.open("/")
        node.mine()
        sees(view.page, head(node))
        assert view.page.get_by_text("Drive", exact=True).count() == 0
        holds(view.text(), "Refusals are shown on the machine of the node")
        view.demand()


@check
def another_site_cannot_press_the_buttons(browser: Browser, node: Node) -> None:
    """A page of another origin can neither call the node nor frame the explorer."""
    before = node.call("dev_api.get_info")["head_block_number"]
    body = '{"jsonrpc":"2.0","id":1,"method":"dev_api.mine","params":{"count":1}}'
    context = browser.new_context()
    page = context.new_page()
    page.route("http://evil.example/**", lambda route: route.fulfill(body="<h1>x</h1>", content_type="text/html"))
    page.goto("http://evil.example/")
    script = """async ([url, body]) => {
        const tries = [{}, {mode: "no-cors"}, {headers: {"content-type": "application/json"}}];
        const answers = [];
        for (const more of tries) answers.push(await fetch(url, {method: "POST", body, ...more}).then((r) => r.text()).catch(String));
        const frame = document.createElement("iframe");
        frame.src = url + "/due";
        document.body.append(frame);
        await new Promise((done) => setTimeout(done, 1000));
        return answers;
    }"""
    answers: list[Any] = page.evaluate(script, [node.url, body])
    context.close()
    same(node.call("dev_api.get_info")["head_block_number"], before)
    assert not any('"result"' in answer for answer in answers), answers


@check
def transaction_shows_what_the_node_says(browser: Browser, node: Node) -> None:
    entries = node.call("condenser_api.get_account_history", ["alice", -1, 100])
    sent = next(entry for _, entry in reversed(entries) if entry["op"][0] == "transfer")
    transaction = node.call("condenser_api.get_transaction", [sent["trx_id"]])
    reply = node.call("explorer_api.get_transaction", {"id": sent["trx_id"]})
    wire = {
        name: transaction[name] for name in ("ref_block_num", "ref_block_prefix", "expiration", "operations", "extensions", "signatures")
    }
    with viewing(browser, node.url) as view:
        view.open(f"/transaction/{sent['trx_id']}")
        about = facts(view.section("Facts"))
        same(about["Id"], sent["trx_id"])
        holds(about["Block"], grouped(sent["block"]), f"transaction {sent['trx_in_block'] + 1} in it")
        key = node.call("condenser_api.get_accounts", [["alice"]])[0]["active"]["key_auths"][0][0]
        holds(view.section("Signatures").inner_text(), key, "active of alice", "satisfied")
        shown = view.page.locator(".bytes [role=option]").all_text_contents()
        same("".join("".join(shown).split()), node.call("condenser_api.get_transaction_hex", [wire]))
        rows = table(view.section("Bytes"), "The fields in the order of the bytes")
        same([row[0] for row in rows], [field["path"] for field in reply["fields"]])
        ends = [int(row[1]) + int(row[2]) for row in rows]
        same([int(row[1]) for row in rows[1:]], ends[:-1])
        same(ends[-1], reply["size"])
        view.demand()


@check
def changes_of_a_block_are_the_state_before_and_after(browser: Browser, node: Node) -> None:
    before = node.call("condenser_api.get_accounts", [["alice"]])[0]["balance"]
    node.send(pay("alice", "bob", "2.345 COIN", "changes"))
    node.mine()
    after = node.call("condenser_api.get_accounts", [["alice"]])[0]["balance"]
    head = node.call("explorer_api.get_overview")["head_block_number"]
    with viewing(browser, node.url) as view:
        view.open(f"/block/{head}")
        view.section("What it changed").get_by_role("button", name="Show").click()
        view.section("What it changed").locator(".changes").wait_for()
        rows = table(view.section("What it changed"), "Rows of accounts before and after the block")
        assert ["alice", "balance", money(before), money(after)] in rows, rows
        same(amount(before) - amount(after), 2345)
        view.demand()


@check
def block_shows_the_slots_missed_before_it(browser: Browser, node: Node) -> None:
    node.advance(31)
    node.mine()
    overview = node.call("explorer_api.get_overview")
    with viewing(browser, node.url) as view:
        for number in range(overview["head_block_number"] - 2, overview["head_block_number"] + 1):
            one, other = (node.call("block_api.get_block_header", {"block_num": n})["timestamp"] for n in (number - 1, number))
            seconds = (datetime.fromisoformat(other) - datetime.fromisoformat(one)).total_seconds()
            view.open(f"/block/{number}")
            same(facts(view.section("Header"))["Missed slots before"], grouped(int(seconds / overview["block_interval"]) - 1))
        view.demand()


@check
def refusals_are_those_of_the_node(browser: Browser, node: Node) -> None:
    refused = node.call("dev_api.list_refused", {"limit": 1000})
    with viewing(browser, node.url) as view:
        view.open("/refused")
        holds(
            view.section("Newest first").inner_text(), f"{len(refused)} of {len(refused)}", *[one["explain"]["why"] for one in refused[:5]]
        )
        one = refused[0]
        view.open(f"/refused/{one['id']}")
        holds(view.section("Why it was refused").inner_text(), one["explain"]["why"], one["message"].strip(), one["explain"]["rule"])
        now = node.call("dev_api.explain_transaction", {"trx": one["transaction"]})
        shown = view.page.locator(".bytes [role=option]").all_text_contents()
        same("".join("".join(shown).split()), now["hex"])
        view.demand()
