"""Makes the pictures of the documentation on a chain with ordinary data: `bin/test explorer --docs [DIR] [NAME]...`."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.explorer.browser import viewing
from tests.explorer.world import HOUR, Node, Op, make, order, pay, post, vote

WIDTH = 1160
COLOURS = 256
BYTES_MAX = 170_000
SETTLE_MILLISECONDS = 600
# The address and the window height of each picture.
PICTURES = {
    "home": ("/", 1000),
    "account": ("/@bob", 1000),
    "post": ("/@bob/unpaid", 1250),
    "block": ("/block/{block}", 1000),
    "market": ("/market", 1250),
    "due": ("/due", 900),
}


def main() -> int:
    """Make the pictures. The status is 0 if none exceeds its maximum size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("chromium")
    parser.add_argument("url")
    parser.add_argument("place", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.place.mkdir(parents=True, exist_ok=True)
    block = make_day(Node(options.url))
    status = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
        for name, (path, height) in PICTURES.items():
            if options.names and name not in options.names:
                continue
            with viewing(browser, options.url, width=WIDTH) as view:
                view.page.set_viewport_size({"width": WIDTH, "height": height})
                view.open(path.format(block=block))
                view.page.wait_for_timeout(SETTLE_MILLISECONDS)
                place = options.place / f"{name}.png"
                view.page.screenshot(path=place)
            with Image.open(place) as picture:
                picture.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(place, optimize=True)
            size = place.stat().st_size
            status |= size > BYTES_MAX
            print(f"{'fail' if size > BYTES_MAX else 'pass'} {place} ({size:,} bytes)", flush=True)
        browser.close()
    return int(status)


def make_day(node: Node) -> int:
    """Make a chain with a day of activity. Return the number of the block for the picture of the block page."""
    make(node, has_attacks=False)
    missing = datetime.now(UTC).replace(tzinfo=None) - datetime.fromisoformat(node.call("dev_api.get_info")["time"])
    node.advance(max(0, int(missing.total_seconds()) - HOUR // 60))
    shown = 0
    for operations in LIFE:
        for operation in operations:
            node.send(operation)
        node.mine()
        if len(operations) > 1 and not shown:
            shown = int(node.call("explorer_api.get_overview")["head_block_number"])
    node.send(order(node, "erin", 1, "12.000 COIN", "4.000 SBD"))
    node.mine()
    node.send(pay("grace", "heidi", "2.500 COIN", "for the tickets"))
    return shown


LIFE: tuple[tuple[Op, ...], ...] = (
    (
        post("grace", "rye-bread", "A rye bread that works every time", "Flour, water, salt and patience."),
        vote("ivan", "bob", "unpaid", 9000),
        pay("dave", "erin", "4.200 COIN", "lunch on Friday"),
        pay("frank", "grace", "1.000 SBD", "thank you for the bread"),
    ),
    (vote("alice", "grace", "rye-bread", 7500), vote("judy", "grace", "rye-bread", 6000)),
    (
        post("carol", "re-rye-bread", "", "Mine is in the oven.", parent=("grace", "rye-bread")),
        pay("bob", "alice", "15.000 COIN", "rent for December"),
    ),
    (pay("ivan", "frank", "0.750 SBD", "coffee"), vote("grace", "carol", "re-rye-bread", 3000)),
)

if __name__ == "__main__":
    sys.exit(main())
