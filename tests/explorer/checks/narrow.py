"""Checks of pages on a narrow screen: the space before the content, tables that scroll or are stacked; and buttons that copy."""

from playwright.sync_api import Browser, Route

from tests.explorer.browser import viewing
from tests.explorer.checks.base import check, grouped, head, same, table
from tests.explorer.world import Node

WIDTH, HEIGHT = 390, 844
HEADER_MOST, FIRST_MOST = 130, 440
PAGES_WITH_TABLES = ("/market", "/tokens", "/witnesses", "/node", "/@alice")
# Names of tables that scroll sideways without a shadow at their edges.
UNMARKED = """() => [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth
  && !getComputedStyle(one).backgroundImage.includes("gradient")).map((one) => one.ariaLabel)"""
ROLES = """(table) => [table, table.tBodies[0], table.tBodies[0].rows[0], table.tBodies[0].rows[0].cells[0]].map((one) => one.role)"""


def as_fork(route: Route) -> None:
    """Answer a request as a forked chain of a source with a long name would."""
    if route.request.method != "POST":
        route.continue_()
        return
    reply = route.fetch()
    answers = reply.json()
    for answer in answers if isinstance(answers, list) else [answers]:
        if isinstance(answer.get("result"), dict) and "head_block_id" in answer["result"] and "chain_id" in answer["result"]:
            source = {"source": "https://api.some-public-node.example", "block_num": 0, "time": "2026-11-22T12:00:00", "is_complete": False}
            answer["result"] |= {"chain": "fork of steem-mainnet", "fork": source}
    route.fulfill(response=reply, json=answers)


@check
def narrow_screens_show_the_content_at_once(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url, width=WIDTH) as view:
        view.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        view.open("/")
        first = view.page.locator("main ul.list > li").first.bounding_box()
        header = view.page.locator("header.top").bounding_box()
        assert header["height"] <= HEADER_MOST, header
        assert first["y"] <= FIRST_MOST, first
        view.demand()
    with viewing(browser, node.url, width=WIDTH) as view:
        view.page.route(node.url + "/", as_fork)
        view.open("/")
        field, badge = (view.page.locator(one).bounding_box() for one in ("#search", ".top .fork"))
        assert field["width"] >= badge["width"], (field, badge)
        assert view.excess() <= 0
        view.demand()
    # A wide screen has the room to say more.
    with viewing(browser, node.url) as view:
        view.open("/")
        assert view.page.locator(".status").get_by_text("irreversible").is_visible()


@check
def narrow_tables_scroll_with_a_shadow_or_are_stacked(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url, width=WIDTH) as view:
        for path in PAGES_WITH_TABLES:
            view.open(path)
            unmarked = view.page.evaluate(UNMARKED)
            view.demand(*[f"{path}: {one}" for one in unmarked])
        view.open("/witnesses")
        stacked = view.section("All witnesses").locator("table")
        same(stacked.evaluate(ROLES), ["table", "rowgroup", "row", "cell"])
        assert stacked.evaluate("(one) => one.scrollWidth <= one.parentNode.clientWidth")
        view.demand(*view.audit())


@check
def blocks_are_listed_to_the_first(browser: Browser, node: Node) -> None:
    last = node.call("explorer_api.get_overview")["head_block_number"]
    with viewing(browser, node.url) as view:
        view.open("/blocks")
        view.page.get_by_role("cell", name=head(node), exact=True).wait_for()
        node.mine()
        view.page.get_by_role("cell", name=head(node), exact=True).wait_for()
        view.page.get_by_label("From block").fill("3")
        view.page.get_by_role("button", name="Go").click()
        view.page.wait_for_url("**/blocks?before=4")
        view.page.get_by_role("cell", name="1", exact=True).first.wait_for()
        shown = table(view.section("Newest first"), "Blocks, newest first")
        same([row[0] for row in shown], ["3", "2", "1"])
        for number, row in zip((3, 2, 1), shown, strict=True):
            block = node.call("block_api.get_block", {"block_num": number})["block"]
            count = sum(len(one["operations"]) for one in block["transactions"])
            same(row[1:5], [block["timestamp"].replace("T", " "), block["witness"], grouped(len(block["transactions"])), grouped(count)])
        view.open("/blocks?before=-5")
        same([row[0] for row in table(view.section("Newest first"), "Blocks, newest first")], ["1"])
        block = node.call("block_api.get_block", {"block_num": last})["block"]
        view.page.get_by_label("From block or time").fill(block["timestamp"].replace("T", " "))
        view.page.get_by_role("button", name="Go").click()
        view.page.wait_for_url(f"**/blocks?before={last + 1}")
        view.page.get_by_role("link", name="Newest").click()
        view.page.get_by_role("cell", name=grouped(last + 1), exact=True).wait_for()
        view.demand()


@check
def buttons_copy_the_whole_value(browser: Browser, node: Node) -> None:
    block = node.call("block_api.get_block", {"block_num": 5})["block"]
    with viewing(browser, node.url) as view:
        view.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        view.open("/block/5")
        for what, value in (("id", block["block_id"]), ("signature", block["witness_signature"]), ("key", block["signing_key"])):
            view.page.get_by_role("button", name=f"Copy the {what}", exact=True).first.click()
            view.page.get_by_role("button", name="Copied").wait_for()
            same(view.page.evaluate("navigator.clipboard.readText()"), value)
            view.page.get_by_role("button", name="Copied").wait_for(state="detached")
        view.demand()
