"""The pages for users, each followed from its first command to its last as it stands there."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.reader import Block, read_page
from tests.docs.session import reader
from tests.helpers.wheels import Installed

PAGES = {
    "local-chain.md": 30,
    "test-suites.md": 5,
    "research.md": 10,
    "replay.md": 10,
    "export.md": 4,
    "library.md": 5,
    "chain-specs.md": 3,
    "recipes.md": 10,
    "start/applications.md": 5,
    "start/operators.md": 5,
    "start/researchers.md": 5,
    "start/suites.md": 5,
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed(page: str, tmp_path: Path, package: Installed) -> None:
    steps = read_page(ROOT / "docs" / page)
    with reader(tmp_path / "coind", package) as following:
        for step in steps:
            following.follow(step)


@pytest.mark.parametrize(("page", "least"), PAGES.items())
def test_a_page_shows_what_one_sees(page: str, least: int) -> None:
    blocks = [step for step in read_page(ROOT / "docs" / page) if isinstance(step, Block)]
    assert len(blocks) >= least
    assert sum(block.says_what_one_sees for block in blocks) * 2 >= len(blocks)


LINKED = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))


@pytest.mark.parametrize("page", LINKED)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", text)
    assert [name for name, _ in links if name and not (path.parent / name).exists()] == []
    assert [f"{name}#{anchor}" for name, anchor in links if anchor and anchor not in anchors(path.parent / name if name else path)] == []


def anchors(page: Path) -> set[str]:
    """The names under which browsers find the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE) if page.exists() else []
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
