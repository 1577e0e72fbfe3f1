"""The user pages, each followed from the first command to the last."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.reader import read_page
from tests.docs.session import reader
from tests.helpers.warm import Warm

PAGES = (
    *("local-chain", "keep-chain", "test-suites", "research", "replay", "export", "library", "chain-specs", "recipes"),
    *("forks", "fork-network"),
    *("start/operators", "start/suites", "start/researchers", "start/applications"),
)


@pytest.mark.parametrize("page", PAGES)
def test_page_can_be_followed(page: str, tmp_path: Path, warm: Warm) -> None:
    steps = read_page(ROOT / "docs" / f"{page}.md")
    with reader(tmp_path / "coind", warm) as following:
        for step in steps:
            following.follow(step)


# Differences from a reader of the README: the node is the installed one, with a data folder, which the first replay fills, and the extra
# `data` is already installed.
OF_README = (
    (r"```\nbin/coind run .*\nbin/test .*\n```", "```sh\ncoind run --data chain\n```"),
    (r"\ncoind install data\n", "\n"),
)


def test_readme_can_be_followed(tmp_path: Path, warm: Warm) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for given, followed in OF_README:
        text, count = re.subn(given, followed, text)
        assert count == 1, given
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    with reader(tmp_path / "coind", warm) as following:
        for step in read_page(tmp_path / "README.md"):
            following.follow(step)


LINKED = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))


@pytest.mark.parametrize("page", LINKED)
def test_links_have_targets(page: str) -> None:
    path = ROOT / page
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", text)
    assert [name for name, _ in links if name and not (path.parent / name).exists()] == []
    assert [f"{name}#{anchor}" for name, anchor in links if anchor and anchor not in anchors(path.parent / name if name else path)] == []


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, which are derived from their texts in the same way as on GitHub."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE) if page.exists() else []
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
