"""A page of the explorer in a browser, and the faults it records: console errors, requests to other hosts, horizontal scrolling, and
findings of axe-core.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page, Request

WAIT_MILLISECONDS = 15_000
GRAVE = ("serious", "critical")
# The browser's message when navigation cancels a request, which is not a fault.
LEFT = "net::ERR_ABORTED"


class Faults(Exception):
    """Errors of a page. `lines` contains one text for each."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("; ".join(lines))


class View:
    """A page of a node's explorer. The view records the errors that occur on the page."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.faults: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(WAIT_MILLISECONDS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"error in the page: {error}"))
        page.on("request", self._request)
        page.on("requestfailed", self._failed)
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((self.url, self.url.replace("http:", "ws:"), "data:", f"blob:{self.url}")):
            self.faults.append(f"request to {request.url}")

    def _failed(self, request: Request) -> None:
        if request.failure != LEFT:
            self.faults.append(f"request failed: {request.url} {request.failure}")

    def open(self, path: str) -> None:
        """Open a path of the explorer and wait until the page is rendered."""
        self.page.goto(self.url + path)
        self.settle()

    def settle(self) -> None:
        """Wait until the page is rendered and no longer shows "Loading…"."""
        self.page.wait_for_selector("main h1, main [role=alert]")
        for place in self.page.get_by_text("Loading…", exact=True).all():
            place.wait_for(state="detached")

    def text(self, selector: str = "main") -> str:
        """The visible text of an element."""
        found: str = self.page.locator(selector).first.inner_text()
        return found

    def section(self, title: str) -> Any:
        """The card with this title."""
        return self.page.locator(f'section[aria-label="{title}"]').first

    def excess(self) -> int:
        """The number of pixels by which the page is wider than the window."""
        found: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return found

    def audit(self) -> list[str]:
        """Return the accessibility problems that axe-core rates as serious."""
        found = Axe().run(self.page).response["violations"]
        return [f"{one['id']}: {one['help']} ({one['nodes'][0]['html'][:120]})" for one in found if one["impact"] in GRAVE]

    def picture(self, place: Path) -> None:
        """Take a screenshot of the whole page."""
        self.page.screenshot(path=place, full_page=True)

    def demand(self, *more: str) -> None:
        """Raise Faults if errors were recorded or `more` contains any."""
        lines, self.faults = [*self.faults, *more], []
        if lines:
            raise Faults(lines)


@contextmanager
def viewing(browser: Browser, url: str, *, width: int = 1280, theme: str = "light") -> Iterator[View]:
    """Open a view in a new window for the duration of the context."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce")
    try:
        yield View(context.new_page(), url)
    finally:
        try:
            context.close()
        except Error:
            return
