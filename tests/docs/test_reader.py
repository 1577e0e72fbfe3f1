"""The harness for pages detects errors in a page."""

from pathlib import Path

import pytest

from tests.docs.reader import agrees, read_page
from tests.docs.session import PageError, reader
from tests.helpers.warm import Warm


@pytest.mark.parametrize(
    ("seen", "printed", "right"),
    [
        ("a", "a  \n\n", True),
        ("a", "b", False),
        ("a", "a\nb", False),
        ("a\n...", "a\nb\nc", True),
        ("a\n...\nc", "a\nb", False),
        ("head ... of 9", "head 7 of 9", True),
        ("head ...", "head 7\n8", False),
        ("(a.b)", "(axb)", False),
        ("", "a", False),
    ],
)
def test_agrees(seen: str, printed: str, right: bool) -> None:
    assert agrees(seen, printed) is right


@pytest.mark.parametrize("text", ["sh\necho a\necho b   # -> c", "sh\nfalse\ntrue", "py\nraise SystemExit(1)"])
def test_errors_of_a_page_are_detected(text: str, tmp_path: Path, warm: Warm) -> None:
    (tmp_path / "page.md").write_text(f"```{text}\n```\n", encoding="utf-8")
    [step] = read_page(tmp_path / "page.md")
    with reader(tmp_path / "coind", warm) as following, pytest.raises(PageError):
        following.follow(step)
