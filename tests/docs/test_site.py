"""The build of the documentation site. `bin/test site` checks the site itself."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bin.site import staging
from bin.site.__main__ import HERE, build
from bin.site.staging import SiteError, page_names, spaced, stage
from tests.conftest import ROOT
from tests.helpers.golden import fails


def navigation() -> Iterator[str]:
    """Yield the pages in the configuration's navigation."""
    config = tomllib.loads((HERE / "zensical.toml").read_text("utf-8"))

    def names(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for part in entry.values() if isinstance(entry, dict) else entry:
                yield from names(part)

    return names(config["project"]["nav"])


def test_navigation_lists_every_page() -> None:
    assert sorted(navigation()) == sorted(name for _, name in page_names(ROOT))


def test_other_folder_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with fails(SiteError):
        build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_python_without_zensical_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SiteError, match="no package zensical"):
        build(tmp_path / "site")


def test_foreign_site_and_file_are_kept(tmp_path: Path) -> None:
    other, file = tmp_path / "other", tmp_path / "file"
    other.mkdir()
    (other / "sitemap.xml").touch()
    file.touch()
    for place in (other, file):
        with fails(SiteError):
            build(place)
    assert file.exists()
    assert [path.name for path in other.iterdir()] == ["sitemap.xml"]


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
def test_impossible_link_is_reported(tmp_path: Path, text: str) -> None:
    lay_out(tmp_path, {"docs/a.md": text, "docs/big.sql": "x" * (staging.SHOWN_SIZE_MAX + 1)})
    with fails(SiteError):
        stage(tmp_path, tmp_path / "staged")


def test_links_are_rewritten(tmp_path: Path) -> None:
    page = "[a](../../CHANGELOG.md#b) [c](../x.sql) [d](https://e.f) [g](#h) ![i](../j.png)\n```py o.py\n[k](l)\n```\n"
    lay_out(tmp_path, {"docs/m/n.md": page, "docs/x.sql": "SELECT 1", "docs/j.png": ""})
    stage(tmp_path, tmp_path / "staged")
    made = (tmp_path / "staged/m/n.md").read_text()
    assert made.splitlines()[0] == "[a](../changelog.md#b) [c](../files/docs-x.sql.md) [d](https://e.f) [g](#h) ![i](../j.png)"
    assert '```py title="o.py"\n[k](l)\n```' in made
    assert (tmp_path / "staged/files/docs-x.sql.md").read_text() == "# docs/x.sql\n\n`````sql\nSELECT 1\n`````\n"
    assert (tmp_path / "staged/j.png").exists()


def lay_out(root: Path, files: dict[str, str]) -> None:
    """Write files into a folder, with docs/ pages in it."""
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
def test_blank_lines_separate_blocks(text: str, made: str) -> None:
    assert spaced(text) == made
