"""A session with a browser. It makes the chain, then visits each page and compares it with the node's RPC replies. It prints one line for
each check: `pass`, `fail` or `skip`, and the check's name.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.explorer import checks
from tests.explorer.browser import viewing
from tests.explorer.pages import addresses
from tests.explorer.world import Node, make, switch

WIDTHS = (360, 390, 1280, 1600)
PICTURE_WIDTHS = (390, 1280)
THEMES = ("light", "dark")


def main() -> int:
    """Run the checks. The status is 0 if all pass."""
    parser = argparse.ArgumentParser()
    parser.add_argument("chromium")
    parser.add_argument("url")
    parser.add_argument("other")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    node, other = Node(options.url), Node(options.other)
    with sync_playwright() as playwright:
        # Pages are kept in the back/forward cache, as in ordinary browsers.
        disabled = ["--disable-back-forward-cache"]
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"], ignore_default_args=disabled)
        prepare(node, other, browser)
        session = Session([*options.names, "pictures"] if options.names else [])
        pages = addresses(node)
        for name, path in pages.items():
            session.check(f"page {name}", partial(look_at, browser, options.url, path))
        for name, function in checks.CHECKS.items():
            session.check(name, partial(function, browser, node))
        if options.pictures:
            session.check("pictures", partial(take_pictures, browser, options.url, pages, options.pictures))
        browser.close()
    return session.status


class Session:
    """Runs checks and prints their results."""

    def __init__(self, names: list[str]) -> None:
        self._names = tuple(names)
        self.status = 0

    def check(self, name: str, function: Callable[[], object]) -> None:
        """Run a check if its name was requested."""
        if self._names and not name.startswith(self._names):
            return
        begun = time.perf_counter()
        try:
            figures = function()
        except Exception as error:
            self.status = 1
            lines = str(error).strip().splitlines() or [repr(error)]
            print(f"fail {name}: {' | '.join(lines)[:2000]}", flush=True)
        else:
            print(f"pass {name} ({time.perf_counter() - begun:.1f} s){f': {figures}' if figures else ''}", flush=True)


def prepare(node: Node, other: Node, browser: Browser) -> None:
    """Fill the chain of `node` with data. Near the beginning, `node` switches to the branch of `other` while a page is open."""
    with viewing(browser, node.url) as view:
        node.mine(2)
        view.open("/")
        other.send(checks.BRANCH)
        other.mine(3)
        switch(node, other)
        view.page.get_by_text("on the other branch").first.wait_for()
    make(node)


def look_at(browser: Browser, url: str, path: str) -> None:
    """Open a page at all widths, and audit it in both themes."""
    for theme in THEMES:
        with viewing(browser, url, width=1280, theme=theme) as view:
            view.open(path)
            heads = view.page.locator("h1").count()
            view.demand(*view.audit(), *([] if heads == 1 else [f"it has {heads} first headings"]))
    with viewing(browser, url) as view:
        for width in WIDTHS:
            view.page.set_viewport_size({"width": width, "height": 900})
            view.open(path)
            wide = view.excess()
            view.demand(*([f"at {width} pixels it is {wide} too wide"] if wide > 0 else []))


def take_pictures(browser: Browser, url: str, pages: dict[str, str], place: Path) -> None:
    """Take a screenshot of each page at two widths and in both themes."""
    place.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        for width in PICTURE_WIDTHS:
            with viewing(browser, url, width=width, theme=theme) as view:
                for name, path in pages.items():
                    view.open(path)
                    view.page.wait_for_timeout(300)
                    view.picture(place / f"{name.replace(' ', '-')}-{width}-{theme}.png")


if __name__ == "__main__":
    sys.exit(main())
