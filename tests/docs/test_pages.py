"""The pages for users, each followed from its first command to its last as it stands there."""

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.reader import Block, read_page
from tests.docs.session import reader

PAGES = {"local-chain.md": 30, "test-suites.md": 5, "research.md": 10}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed(page: str, tmp_path: Path) -> None:
    steps = read_page(ROOT / "docs" / page)
    with reader(tmp_path / "coind") as following:
        for step in steps:
            following.follow(step)


@pytest.mark.parametrize(("page", "least"), PAGES.items())
def test_a_page_shows_what_one_sees(page: str, least: int) -> None:
    blocks = [step for step in read_page(ROOT / "docs" / page) if isinstance(step, Block)]
    assert len(blocks) >= least
    assert sum(block.says_what_one_sees for block in blocks) * 2 >= len(blocks)
