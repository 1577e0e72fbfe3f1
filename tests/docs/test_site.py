"""The site of the docs, as it is built: every page is in the navigation, links and pictures lead somewhere, nothing is loaded from afar."""

import re
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from bin.site import staging
from bin.site.__main__ import HERE, MARK, build
from bin.site.staging import SiteError, page_names, spaced, stage
from tests.conftest import ROOT
from tests.helpers.golden import fails

SITE_SIZE_MAX = 30_000_000
# What may be left of Markdown in the text of a page, which isn't code.
LEFT_OVER = re.compile(r"\]\([^)]*\)|\*\*\w|^\s*\|[ -]+\|", re.MULTILINE)
# Pages of files that others link to; they aren't in the navigation.
SHOWN_FILES = "files/"


class Page(HTMLParser):
    """What a page of the site holds: the places to which its links lead, its anchors, headings, and its text without code."""

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
    """The site, built once, in an empty folder to which a link leads."""
    place = tmp_path_factory.mktemp("site")
    (place / "built").mkdir()
    (place / "link").symlink_to("built")
    build(place / "link")
    return place / "built"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """Its pages by their paths."""
    return {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}


def navigation() -> Iterator[str]:
    """The pages that the configuration names."""
    config = tomllib.loads((HERE / "zensical.toml").read_text("utf-8"))

    def names(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for part in entry.values() if isinstance(entry, dict) else entry:
                yield from names(part)

    return names(config["project"]["nav"])


def test_every_page_is_in_the_navigation_and_nothing_else() -> None:
    assert sorted(navigation()) == sorted(name for _, name in page_names(ROOT))


def test_every_link_and_anchor_leads_somewhere(pages: dict[str, Page], site: Path) -> None:
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


def test_nothing_is_loaded_from_elsewhere_and_all_of_it_is_there(pages: dict[str, Page], site: Path) -> None:
    loaded = {(name, link) for name, page in pages.items() for link in page.loaded if not link.startswith("data:")}
    assert [each for each in sorted(loaded) if ":" in each[1] or each[1].startswith("//")] == []
    assert [each for each in sorted(loaded) if not (site / each[0]).parent.joinpath(each[1].partition("?")[0]).exists()] == []
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\W*(?:https?:)?//[^)]*", styles) == []


def test_every_page_has_one_heading_and_no_markdown_is_left(pages: dict[str, Page]) -> None:
    assert [name for name, page in pages.items() if page.headings != 1] == []
    found = {name: LEFT_OVER.findall("".join(page.texts)) for name, page in pages.items()}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_it_is_small(site: Path) -> None:
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) <= SITE_SIZE_MAX


def test_a_site_is_built_anew_and_another_folder_stays(site: Path, tmp_path: Path) -> None:
    assert (site / MARK).exists()
    (tmp_path / "mine").touch()
    with fails(SiteError):
        build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_site_of_somebody_else_and_a_file_stay(tmp_path: Path) -> None:
    other, file = tmp_path / "other", tmp_path / "file"
    other.mkdir()
    (other / "sitemap.xml").touch()
    file.touch()
    for place in (other, file):
        with fails(SiteError):
            build(place)
    assert file.exists()
    assert [path.name for path in other.iterdir()] == ["sitemap.xml"]


def test_a_link_to_a_folder_stays_when_the_site_is_built_there(site: Path) -> None:
    assert (site.parent / "link").is_symlink()
    assert (site / MARK).is_file()


@pytest.mark.parametrize(
    "text",
    [
        "[a](nowhere.md)",
        "[a](../../b)",
        "[a](/etc/passwd)",
        "[a](.)",
        "[a](big.sql)",
    ],
)
def test_a_link_that_a_site_cant_have_is_named(tmp_path: Path, text: str) -> None:
    lay_out(tmp_path, {"docs/a.md": text, "docs/big.sql": "x" * (staging.SHOWN_SIZE_MAX + 1)})
    with fails(SiteError):
        stage(tmp_path, tmp_path / "staged")


def test_links_are_mended(tmp_path: Path) -> None:
    page = "[a](../../CHANGELOG.md#b) [c](../x.sql) [d](https://e.f) [g](#h) ![i](../j.png)\n```py o.py\n[k](l)\n```\n"
    lay_out(tmp_path, {"docs/m/n.md": page, "docs/x.sql": "SELECT 1", "docs/j.png": ""})
    stage(tmp_path, tmp_path / "staged")
    made = (tmp_path / "staged/m/n.md").read_text()
    assert made.splitlines()[0] == "[a](../changelog.md#b) [c](../files/docs-x.sql.md) [d](https://e.f) [g](#h) ![i](../j.png)"
    assert '```py title="o.py"\n[k](l)\n```' in made
    assert (tmp_path / "staged/files/docs-x.sql.md").read_text() == "# docs/x.sql\n\n`````sql\nSELECT 1\n`````\n"
    assert (tmp_path / "staged/j.png").exists()


def lay_out(root: Path, files: dict[str, str]) -> None:
    """Write files below a folder, with the pages that stand around docs/."""
    for name, text in {**dict.fromkeys(staging.AROUND, "# x\n"), **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("a\n- b\n- c\nd\n", "a\n\n- b\n- c\nd\n"),
        ("a\n1. b\n   - c\n", "a\n\n1. b\n   - c\n"),
        ("a\n| b |\n|---|\n", "a\n\n| b |\n|---|\n"),
        ("a\n```\n- b\n```\nc\n", "a\n\n```\n- b\n```\n\nc\n"),
        ("a\n\n- b\n\nc\n", "a\n\n- b\n\nc\n"),
    ],
)
def test_blocks_stand_apart(text: str, made: str) -> None:
    assert spaced(text) == made
