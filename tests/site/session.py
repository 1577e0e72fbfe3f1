"""A session with a browser: every page of the site at two widths and in both themes. Prints a line `pass` or `fail` for each page."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.explorer.browser import Faults, View, viewing

WIDTHS = (390, 1280)
THEMES = ("light", "dark")
# Pages with an additional screenshot in the dark theme.
DARK = ("index.html", "start/suites.html", "options/access.html", "chain-specs.html", "api/dev_api.html", "questions.html", "explorer.html")
# For long pages only the first part is audited, since axe-core takes minutes for thousands of table cells.
AUDITED_SIZE_MAX = 300_000


def main() -> int:
    """Check the pages. The status is 0 if all pass."""
    parser = argparse.ArgumentParser()
    parser.add_argument("chromium")
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    pages = sorted(path.relative_to(options.folder).as_posix() for path in options.folder.rglob("*.html"))
    wanted = [page for page in pages if not options.names or page.startswith(tuple(options.names))]
    status = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox", "--allow-file-access-from-files"])
        for page in wanted:
            size = (options.folder / page).stat().st_size
            status |= check(page, partial(look_at, browser, options.url, page, options.pictures, size <= AUDITED_SIZE_MAX))
        if not options.names:
            status |= check("search", partial(search, browser, options.url))
            status |= check("search in opened files", partial(search, browser, options.folder.as_uri() + "/"))
            status |= check("themes", partial(switch_theme, browser, options.url))
            status |= check("the way on a phone", partial(walk_on_a_phone, browser, options.url))
        browser.close()
    return status


def check(name: str, function: Callable[[], object]) -> int:
    """Run a check and print its result. Return 1 if it failed, else 0."""
    try:
        function()
    except Exception as error:
        print("fail", name, " ".join(str(error).split())[:1500], flush=True)
        return 1
    print("pass", name, flush=True)
    return 0


def open_page(view: View, page: str) -> None:
    """Open a page of the site and wait until it has loaded."""
    view.page.goto(view.url + page)
    view.page.wait_for_load_state("networkidle")


def look_at(browser: Browser, url: str, page: str, pictures: Path | None, is_audited: bool) -> None:
    """Check a page at each width and in each theme. Raises Faults."""
    for width in WIDTHS:
        for theme in THEMES:
            with viewing(browser, url, width=width, theme=theme) as view:
                open_page(view, page)
                # Without this, colours would be measured during a transition.
                view.page.add_style_tag(content="* { transition: none !important; animation: none !important; }")
                faults = [f"{view.excess()} pixels too wide at {width}"] if view.excess() > 0 else []
                if is_audited and width == WIDTHS[-1]:
                    faults += [f"{theme}: {fault}" for fault in view.audit()]
                if pictures is not None and (theme == "light" or page in DARK):
                    pictures.mkdir(parents=True, exist_ok=True)
                    view.picture(pictures / f"{page.removesuffix('.html').replace('/', '-')}-{width}-{theme}.png")
                view.demand(*faults)


def search(browser: Browser, url: str) -> None:
    """Search for a word and open the first result. Raises Faults."""
    with viewing(browser, url) as view:
        open_page(view, "index.html")
        view.page.keyboard.press("/")
        view.page.keyboard.type("transfer")
        found = view.page.locator("a[href*='.html']").filter(has_text="ransfer")
        found.first.wait_for()
        view.demand()


def switch_theme(browser: Browser, url: str) -> None:
    """Switch the theme with its button. The next page must keep the theme. Raises Faults."""
    with viewing(browser, url) as view:
        open_page(view, "index.html")
        schemes = {view.page.locator("body").get_attribute("data-md-color-scheme")}
        for _ in range(2):
            view.page.locator("form[data-md-component=palette] label:not([hidden])").first.click()
            schemes.add(view.page.locator("body").get_attribute("data-md-color-scheme"))
        kept = view.page.locator("body").get_attribute("data-md-color-scheme")
        open_page(view, "install.html")
        if schemes != {"default", "slate"} or view.page.locator("body").get_attribute("data-md-color-scheme") != kept:
            raise Faults([f"the themes were {schemes}, and {kept} wasn't kept"])
        view.demand()


def walk_on_a_phone(browser: Browser, url: str) -> None:
    """In a narrow window, navigate from the home page to a page of a section with the menu that slides in. Raises Faults."""
    with viewing(browser, url, width=WIDTHS[0]) as view:
        open_page(view, "index.html")
        view.page.locator("label[for=__drawer]:visible").first.click()
        view.page.locator("nav label:visible", has_text="Guides").first.click()
        view.page.locator("nav a:visible", has_text="Recipes").first.click()
        view.page.wait_for_url("**/recipes.html")
        view.demand()


if __name__ == "__main__":
    sys.exit(main())
