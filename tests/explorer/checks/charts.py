"""Checks of charts: ranges that are chosen by dragging, linked charts, and the files that are saved of them."""

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from tests.explorer.browser import View, viewing
from tests.explorer.checks.base import check, same
from tests.explorer.world import Node

CANDLES, VOLUME = 0, 1  # the charts of the card
HOUR, MINUTE = 3600, 60
# A finger that moves over a third of the chart, and the event that ends its touch.
SWIPE = """(place, end) => {
    const { left, top, width } = place.getBoundingClientRect();
    const touch = (name, share) => place.dispatchEvent(new PointerEvent(name,
        { pointerType: "touch", bubbles: true, clientX: left + share * width, clientY: top + 9 }));
    touch("pointerdown", 0.3);
    for (const share of [0.4, 0.5, 0.6]) touch("pointermove", share);
    touch(end, 0.6);
}"""
PIXELS_APART = 3  # the plots of two charts can begin at different pixels


@check
def charts_are_zoomed_together(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.open("/market")
        card = view.section("Price over time")
        card.locator("canvas").nth(VOLUME).wait_for()
        whole = ranges(card)
        drag(view, card.locator(".u-over").nth(CANDLES), 0.3, 0.6)
        card.get_by_role("button", name="Whole range").first.wait_for()
        zoomed = ranges(card)
        pixel = (whole[CANDLES][1] - whole[CANDLES][0]) / card.locator(".u-over").nth(CANDLES).bounding_box()["width"]
        for low, high in zoomed:
            assert whole[CANDLES][0] < low < high < whole[CANDLES][1], (whole, zoomed)
        assert all(abs(a - b) < PIXELS_APART * pixel for a, b in zip(*zoomed, strict=True)), zoomed
        # The range stays when the charts are drawn again.
        card.evaluate("(card) => card.querySelectorAll('canvas').forEach((one) => one.classList.add('old'))")
        view.page.get_by_role("button", name="Dark colours").click()
        card.locator("canvas:not(.old)").nth(VOLUME).wait_for()
        same(ranges(card), zoomed)
        card.locator(".u-over").nth(VOLUME).dblclick()
        card.get_by_role("button", name="Whole range").first.wait_for(state="detached")
        same(ranges(card), whole)
        drag(view, card.locator(".u-over").nth(VOLUME), 0.2, 0.5)
        card.get_by_role("button", name="Whole range").nth(CANDLES).click()
        card.get_by_role("button", name="Whole range").first.wait_for(state="detached")
        same(ranges(card), whole)
        finger = card.locator(".u-over").nth(VOLUME)
        for end, is_zoomed in (("pointercancel", False), ("pointerup", True)):
            finger.evaluate(SWIPE, end)
            same(ranges(card) != whole, is_zoomed)
        view.demand()


@check
def charts_are_saved(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.open("/market")
        card = view.section("Price over time")
        lines = list(csv.reader(saved(view, card.get_by_role("button", name="Save as CSV").nth(CANDLES), ".csv").read_text().splitlines()))
        end = node.call("condenser_api.get_dynamic_global_properties", [])["time"]
        query = {"bucket_seconds": HOUR, "start": "2000-01-01T00:00:00", "end": end}
        buckets = node.call("market_history_api.get_market_history", query)["buckets"]
        parts = ("open", "high", "low", "close")
        same(lines[0], ["time", *(f"Price {part}" for part in parts)])
        same([row[0] for row in lines[1:]], [f"{one['open']}Z" for one in buckets])
        for row, one in zip(lines[1:], buckets, strict=True):
            same([float(value) for value in row[1:]], [one["non_coin"][part] / one["coin"][part] for part in parts])
        picture = saved(view, card.get_by_role("button", name="Save as PNG").nth(CANDLES), ".png").read_bytes()
        assert picture.startswith(b"\x89PNG"), picture[:20]
        view.demand()


@check
def node_charts_agree_with_its_history(browser: Browser, node: Node) -> None:
    with viewing(browser, node.url) as view:
        view.open("/node")
        for title, name in (("Blocks over time", "blocks"), ("Transactions over time", "transactions"), ("Calls over time", "calls")):
            card = view.section(title)
            card.locator("canvas").wait_for()
            _, *rows = csv.reader(saved(view, card.get_by_role("button", name="Save as CSV"), ".csv").read_text().splitlines())
            found = view.page.evaluate("fetch('/metrics/history').then((reply) => reply.json())")
            times = [datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for seconds in found["time"]]
            same([row[0] for row in rows], times[1 : len(rows) + 1])
            seconds = MINUTE if name == "blocks" else 1
            for i, row in enumerate(rows):
                made = (found[name][i + 1] - found[name][i]) * seconds / (found["time"][i + 1] - found["time"][i])
                assert abs(float(row[1]) - made) < 1e-9, (title, i, row, made)
        view.demand()


def ranges(card: Any) -> list[tuple[float, float]]:
    """Return the range of the x axis of each chart in a card."""
    texts = card.evaluate("(card) => [...card.querySelectorAll('.picture')].map((one) => one.dataset.range)")
    return [(float(low), float(high)) for low, high in (text.split() for text in texts)]


def drag(view: View, place: Any, begin: float, end: float) -> None:
    """Drag the mouse over an element, between two shares of its width."""
    place.scroll_into_view_if_needed()
    box, mouse = place.bounding_box(), view.page.mouse
    middle = box["y"] + box["height"] / 2
    mouse.move(box["x"] + begin * box["width"], middle)
    mouse.down()
    mouse.move(box["x"] + end * box["width"], middle, steps=4)
    mouse.up()


def saved(view: View, button: Any, ending: str) -> Path:
    """Press a button that saves a file, and return the file."""
    with view.page.expect_download() as download:
        button.click()
    assert download.value.suggested_filename.endswith(ending), download.value.suggested_filename
    return Path(download.value.path())
