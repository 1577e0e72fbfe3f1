"""What pages show, compared with what the node says by RPC."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser

from tests.explorer.browser import viewing
from tests.explorer.world import Node, Refused, pay

BRANCH = pay("alice", "bob", "7.777 COIN", "on the other branch")
Check = Callable[[Browser, Node], None]
CHECKS: dict[str, Check] = {}


def check(function: Check) -> Check:
    """Declare a check; its name is that of the function, in words."""
    CHECKS[function.__name__.replace("_", " ")] = function
    return function


def grouped(number: int | str) -> str:
    """A number with commas."""
    whole, point, rest = str(number).partition(".")
    return f"{int(whole):,}{point}{rest}"


def money(text: str) -> str:
    """An amount as pages write it."""
    number, symbol = text.split()
    return f"{grouped(number)} {symbol}"


def same(found: object, wanted: object) -> None:
    """Demand that two things are equal."""
    assert found == wanted, f"{found!r} is not {wanted!r}"


def holds(text: str, *wanted: str) -> None:
    """Demand that a text has these in it."""
    missing = [one for one in wanted if one not in text]
    assert not missing, f"{missing} not in {text[:1500]!r}"


@check
def header_shows_the_head(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.open("/")
        node.mine()
        head = node.call("explorer_api.get_overview")["head_block_number"]
        view.page.locator(".status dl").get_by_text(grouped(head), exact=True).wait_for()
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
        view.page.get_by_text("This moment is kept").wait_for()
        view.page.get_by_role("button", name="Mine").click()
        view.page.get_by_text("Head was block").wait_for()
        same(node.call("dev_api.get_info")["head_block_number"], before["head_block_number"] + 1)
        view.page.get_by_role("button", name="Revert to").last.click()
        view.page.get_by_text(f"is block {grouped(before['head_block_number'])}").wait_for()
        same(node.call("dev_api.get_info")["head_block_id"], before["head_block_id"])
        view.demand()


@check
def due_leaps_to_just_before(browser: Browser, node: Node) -> None:
    due = node.call("explorer_api.list_due", {"kinds": ["order_expiration"]})[0]
    moment = node.call("dev_api.snapshot")["id"]
    with viewing(browser, node.url) as view:
        view.open("/due?kind=order_expiration")
        holds(view.text(), due["amount"], due["account"])
        view.page.get_by_role("button", name="Leap to just before").first.click()
        view.page.get_by_text("The chain's time is").wait_for()
        left = node.call("explorer_api.list_due", {"kinds": ["order_expiration"]})[0]
        same(left, due)
        assert node.call("dev_api.get_info")["time"] <= due["time"]
        view.demand()
    node.call("dev_api.revert", {"id": moment})


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
    """A page of another origin has no rights; so a proxy stands for another machine."""
    with viewing(browser, node.url) as view:
        view.page.set_extra_http_headers({"x-forwarded-for": "10.0.0.1"})
        view.open("/")
        assert view.page.get_by_text("Drive", exact=True).count() == 0
        holds(view.text(), "Refusals are shown on the machine of the node")
        view.demand()


@check
def another_site_cannot_press_the_buttons(browser: Browser, node: Node) -> None:
    """A page of another origin calls, and shows the explorer in a frame: neither does anything."""
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
