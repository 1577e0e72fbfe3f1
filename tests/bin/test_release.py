"""The checks of a release's tag, tested on small repositories."""

import subprocess
from pathlib import Path

import pytest

from bin.release import main, problems, section
from tests.conftest import ROOT

CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.0 (2026-11-23)\nIt is new.\n\n### Fixed\n- A fault.\n\n## 1.1.0\nOld.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository whose changelog is ready for version 1.2.0."""
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(root: Path, *arguments: str) -> None:
    """Run git with a test author."""
    subprocess.run(["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b.example", *arguments], check=True)


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "x")


@pytest.mark.parametrize("has_tag", [False, True])
def test_valid_tag_passes(checkout: Path, has_tag: bool) -> None:
    if has_tag:
        git(checkout, "tag", "v1.2.0")
    notes = checkout.parent / f"{checkout.name}-notes"
    assert main(["v1.2.0", "--notes", str(notes)], checkout, "1.2.0") == 0
    assert notes.read_text() == "It is new.\n\n### Fixed\n- A fault.\n"


@pytest.mark.parametrize(
    ("tag", "version", "expected"),
    [
        ("v1.3.0", "1.2.0", ["the tag is v1.3.0, but node/version.py has 1.2.0"]),
        ("1.2.0", "1.2.0", ["the tag must be v1.2.0"]),
        ("v1.3.0", "1.3.0", ['nothing under "## 1.3.0"']),
        ("v1.2", "1.2", ['nothing under "## 1.2"']),
    ],
)
def test_other_version_is_refused(checkout: Path, tag: str, version: str, expected: list[str]) -> None:
    found = list(problems(tag, checkout, version))
    assert len(found) == len(expected)
    for problem, text in zip(found, expected, strict=True):
        assert text in problem
    assert main([tag], checkout, version) == 1


def test_items_missing_from_the_tag_are_reported(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(checkout, "tag", "v1.2.0")
    (checkout / "CHANGELOG.md").write_text(CHANGELOG.replace("## Unreleased\n", "## Unreleased\n- Newer.\n"))
    (found, uncommitted) = problems("v1.2.0", checkout, "1.2.0")
    assert "Unreleased" in found
    assert "CHANGELOG.md" in uncommitted
    (checkout / "CHANGELOG.md").write_text(CHANGELOG)
    commit(checkout)
    assert main(["v1.2.0"], checkout, "1.2.0") == 1
    assert "v1.2.0" in capsys.readouterr().err


def test_changelog_section_of_a_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert section(text, "0.1.0")
    assert section(text, "0.1") == ""
