"""Checks of page connections: many tabs, reloads, back navigation, background tabs, and an unreachable node."""

import re
import time
import urllib.request
from collections.abc import Callable

from playwright.sync_api import Browser, Route, WebSocket, WebSocketRoute

from tests.explorer.browser import WAIT_MILLISECONDS, View, viewing
from tests.explorer.checks.base import check, head, same, sees
from tests.explorer.world import Node, pay

TABS = 12
RELOADS = 20
BACKGROUND_MILLISECONDS = 61_000
# Records how a page was displayed: true if it came from the back/forward cache.
NOTE_SHOWN = "addEventListener('pageshow', (event) => (window.shown ??= []).push(event.persisted))"
# Stops rendering a page, or continues.
STOP = """(isStopped) => {
  window.draw ??= requestAnimationFrame.bind(window);
  window.undrawn ??= [];
  window.requestAnimationFrame = isStopped ? (drawn) => undrawn.push(drawn) : draw;
  if (!isStopped) undrawn.splice(0).forEach(draw);
}"""
# Imitates a browser, which doesn't render background tabs.
HIDE = f"""(isHidden) => {{
  ({STOP})(isHidden);
  Object.defineProperty(document, "hidden", {{value: isHidden, configurable: true}});
  document.dispatchEvent(new Event("visibilitychange"));
}}"""


def used(node: Node, kind: str) -> int:
    """Return the number of resources of this kind that clients use, according to the node."""
    with urllib.request.urlopen(f"{node.url}/metrics") as reply:
        found = re.search(rf'coind_client_resources_used{{kind="{kind}"}} (\d+)', reply.read().decode())
    assert found is not None
    return int(found[1])


def until(count: Callable[[], int], wanted: int) -> None:
    """Wait until a count is reached. The node detects a disconnect when the browser closes the connection."""
    end = time.monotonic() + WAIT_MILLISECONDS / 1000
    while (now := count()) != wanted:
        assert time.monotonic() < end, f"{now} is not {wanted}"
        time.sleep(0.05)


@check
def twelve_tabs_hear_of_blocks(browser: Browser, node: Node) -> None:
    until(lambda: used(node, "sockets"), 0)
    with viewing(browser, node.url) as view:
        tabs = [view, *(View(view.page.context.new_page(), node.url) for _ in range(TABS - 1))]
        for tab in tabs:
            tab.open("/")
            tab.page.get_by_text("live", exact=True).wait_for()
        same((used(node, "sockets"), used(node, "streams")), (TABS, 0))
        node.mine()
        for tab in tabs:
            sees(tab.page, head(node))
        for i in range(RELOADS):
            tabs[i % 2].page.reload(wait_until="load" if i % 3 else "commit")
        node.mine()
        for tab in tabs:
            sees(tab.page, head(node))
        until(lambda: used(node, "sockets"), TABS)
        for tab in tabs:
            tab.demand()
    until(lambda: used(node, "sockets"), 0)


@check
def the_way_back_holds_nothing(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.page.add_init_script(NOTE_SHOWN)
        for number in range(8):
            view.open(f"/?account=bob&n={number}")
            view.page.get_by_text("live", exact=True).wait_for()
        until(lambda: used(node, "sockets"), 1)
        for number in (6, 5, 4):
            view.page.evaluate("setTimeout(() => history.back())")
            view.page.wait_for_function(f"location.search.endsWith('n={number}')")
            same(view.page.evaluate("window.shown"), [False, True])
            node.mine()
            sees(view.page, head(node))
        until(lambda: used(node, "sockets"), 1)
        view.demand()


@check
def the_background_holds_nothing_for_long(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.page.clock.install()
        view.open("/")
        view.page.get_by_text("live", exact=True).wait_for()
        view.page.evaluate(HIDE, True)
        view.page.wait_for_timeout(300)
        asked = len(view.requests)
        node.mine()
        view.page.wait_for_timeout(500)
        same(view.requests[asked:], [])
        same(used(node, "sockets"), 1)
        view.page.clock.fast_forward(BACKGROUND_MILLISECONDS)
        until(lambda: used(node, "sockets"), 0)
        node.mine(3)
        view.page.evaluate(HIDE, False)
        sees(view.page, head(node))
        view.section("Blocks").get_by_text(head(node)).first.wait_for()  # the list of blocks comes after the head
        same(used(node, "sockets"), 1)
        view.demand()


@check
def a_lost_connection_is_shown_and_found_again(browser: Browser, node: Node) -> None:
    routes: list[WebSocketRoute] = []
    is_away = [False]

    def connect(route: WebSocketRoute) -> None:
        if is_away[0]:
            route.close()
        else:
            route.connect_to_server()
            routes.append(route)

    with viewing(browser, node.url) as view:
        view.page.route_web_socket(re.compile("^ws:"), connect)
        view.open("/")
        view.page.get_by_text("live", exact=True).wait_for()
        is_away[0] = True
        routes[-1].close()
        view.page.get_by_text("no connection", exact=True).wait_for()
        node.mine()
        # Calls still succeed, so the page updates at its reconnect interval.
        view.page.locator(".status dl").get_by_text(head(node), exact=True).first.wait_for()
        is_away[0] = False
        view.page.get_by_text("live", exact=True).wait_for()
        node.mine()
        sees(view.page, head(node))
        view.demand()


@check
def a_page_hears_of_each_revert(browser: Browser, node: Node) -> None:
    sockets: list[WebSocket] = []
    moment = node.call("dev_api.snapshot")["id"]
    number = node.call("explorer_api.get_overview")["head_block_number"] + 1
    with viewing(browser, node.url) as view:
        view.page.on("websocket", lambda socket: sockets.append(socket))
        view.open(f"/block/{number}")
        view.page.get_by_text("live", exact=True).wait_for()
        for memo in ("the first", "the second", "the third"):
            # The page is rendered once the block has been replaced.
            view.page.evaluate(STOP, True)
            with sockets[-1].expect_event("framereceived", lambda text, memo=memo: memo in text and '"block":' in text):
                node.call("dev_api.revert", {"id": moment})
                node.send(pay("alice", "bob", "0.001 COIN", memo))
                node.mine()
            view.page.evaluate(STOP, False)
            view.page.locator("main .sentence").get_by_text(memo).wait_for()
        view.demand()


@check
def a_slow_node_is_waited_for(browser: Browser, node: Node) -> None:
    held: list[Route] = []
    is_slow = [True]

    def answer(route: Route) -> None:
        if is_slow[0] and route.request.method == "POST":
            held.append(route)
        else:
            route.continue_()

    with viewing(browser, node.url) as view:
        view.page.route(f"{node.url}/", answer)
        view.page.goto(node.url)
        view.page.get_by_text("Loading…", exact=True).wait_for()
        is_slow[0] = False
        for route in held:
            route.continue_()
        view.settle()
        sees(view.page, head(node))
        view.demand()
