"""The built documentation site: all links and pictures have targets, and nothing is loaded from other hosts. `bin/test site` runs it."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from bin.site.__main__ import MARK, build

SITE_SIZE_MAX = 30_000_000
# Markdown syntax that may appear in the text of a page without being code.
LEFT_OVER = re.compile(r"\]\([^)]*\)|\*\*\w|^\s*\|[ -]+\|", re.MULTILINE)
# Pages that only links lead to; they aren't in the navigation.
SHOWN_FILES = "files/"


class Page(HTMLParser):
    """A page of the site: its link targets, anchors, headings, and its text without code."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.headings = 0
        self.texts: list[str] = []
        self._code = 0
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self._code += tag in ("code", "pre", "script", "style")
        self.headings += tag == "h1"
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and "href" in given:
            self.loaded.append(given["href"])

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "pre", "script", "style")

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.texts.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once into an empty folder behind a symbolic link."""
    place = tmp_path_factory.mktemp("site")
    (place / "built").mkdir()
    (place / "link").symlink_to("built")
    build(place / "link")
    return place / "built"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """The site's pages by path."""
    return {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}


def test_links_and_anchors_have_targets(pages: dict[str, Page], site: Path) -> None:
    wrong = []
    for name, page in pages.items():
        for link in page.links:
            place, _, anchor = unquote(link).partition("#")
            if ":" in place or link.startswith("//"):
                continue
            there = (site / name).parent.joinpath(place).resolve() if place else site / name
            there = there / "index.html" if there.is_dir() else there
            inside = there.relative_to(site).as_posix() if there.is_relative_to(site) else ""
            if inside not in pages or (anchor and anchor not in pages[inside].anchors):
                wrong.append(f"{name}: {link}")
    assert wrong == []


def test_resources_are_local_and_complete(pages: dict[str, Page], site: Path) -> None:
    loaded = {(name, link) for name, page in pages.items() for link in page.loaded if not link.startswith("data:")}
    assert [each for each in sorted(loaded) if ":" in each[1] or each[1].startswith("//")] == []
    assert [each for each in sorted(loaded) if not (site / each[0]).parent.joinpath(each[1].partition("?")[0]).exists()] == []
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\W*(?:https?:)?//[^)]*", styles) == []


def test_pages_have_one_heading_and_no_markdown(pages: dict[str, Page]) -> None:
    assert [name for name, page in pages.items() if page.headings != 1] == []
    found = {name: LEFT_OVER.findall("".join(page.texts)) for name, page in pages.items()}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_site_is_small(site: Path) -> None:
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) <= SITE_SIZE_MAX


def test_build_keeps_a_symbolic_link(site: Path) -> None:
    assert (site.parent / "link").is_symlink()
    assert (site / MARK).is_file()
