"""Citations of the reference pages: every `page.md §n` in code, tests and docs exists in docs/reference."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PAGES = ROOT / "docs" / "reference"
FOLDERS = ("bench", "bin", "docs", "genesis", "node", "rpc", "state", "tests")
TEXTS = (".py", ".md", ".toml", ".js", "")
RECORDED = ("tests/conformance/cases/", "tests/conformance/mainnet/", "tests/conformance/run.py", "tests/vectors/")

HEADING = re.compile(r"^#{2,4} (?:Appendix )?([0-9A-Z](?:\.?[0-9]+)*)[. :]", re.MULTILINE)
# A paragraph of a long section that begins with its number in bold.
PARAGRAPH = re.compile(r"^\*\*([0-9]+(?:\.[0-9]+)+)[. ]", re.MULTILINE)
# A page name followed by section numbers.
SECTION = r"§ ?([0-9A-Z](?:\.?[0-9]+)*)"
CITED = re.compile(rf"(?:\b(?P<page>[a-z-]+\.md)[`)]*|(?P<rfc>\bRFC [0-9]+)),? *(?={SECTION[:1]})|{SECTION}|(?P<end>[.](?=\s|$)|\n\n)")


@cache
def sections(page: str) -> frozenset[str]:
    """Return the numbers of all sections of a reference page."""
    text = (PAGES / page).read_text(encoding="utf-8")
    return frozenset(HEADING.findall(text)) | frozenset(PARAGRAPH.findall(text))


def citations(text: str, own_page: str = "") -> Iterator[tuple[str, str]]:
    """Yield page and section of each citation in a text. A section without an earlier page name in its sentence belongs to `own_page`."""
    page = own_page
    for match in CITED.finditer(text):
        if match["page"] or match["rfc"]:
            page = match["page"] or match["rfc"]
        elif match["end"]:
            page = own_page
        else:
            yield page, match[3]


def unresolved(text: str, own_page: str = "") -> Iterator[str]:
    """Yield the citations of nonexistent sections."""
    for page, section in citations(text, own_page):
        if page.startswith("RFC "):
            continue
        if not page:
            yield f"§{section} of which page?"
        elif not (PAGES / page).exists():
            yield f"{page} §{section}: there is no such page"
        elif section not in sections(page):
            yield f"{page} §{section}: there is no such section"


def texts() -> list[Path]:
    """Return the files that can contain citations."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix in TEXTS]
    found += ROOT.glob("*.md")
    kept = [path for path in found if not path.relative_to(ROOT).as_posix().startswith(RECORDED) and "node_modules" not in path.parts]
    return sorted(path for path in kept if path != Path(__file__))


def test_every_cited_section_exists() -> None:
    problems = []
    for path in texts():
        own_page = path.name if path.parent == PAGES else ""
        text = path.read_text(encoding="utf-8", errors="replace")
        problems += [f"{path.relative_to(ROOT)}: {problem}" for problem in unresolved(text, own_page)]
    assert problems == []
