"""The tables generated from declarations: the pages are up to date, each table has a page, and no declaration is missing."""

import re
from pathlib import Path

import pytest
from msgspec.structs import fields

from bin.docs import generated_tables
from bin.docs.options import declared
from node.cli.app import app
from node.cli.option_sources import UNNAMED, options_of
from node.cli.run_options import GROUP_NAMES
from node.specs.tables import KNOWN_KEYS
from state.protocol.spec import BuildConstants
from tests.helpers.golden import fails

LISTS = re.compile(r"(?<=\.accounts)|(?<=\.witnesses)|(?<=\.price_history)")
AGAIN = "write them again: .venv/bin/python -m bin.docs"


def test_pages_are_up_to_date() -> None:
    assert [path.name for path, text in generated_tables.pages().items() if path.read_text("utf-8") != text] == [], AGAIN


def test_every_option_is_on_the_page_of_its_group() -> None:
    shown = {each.word for group in GROUP_NAMES for each in declared(group)}
    assert shown == {f"--{name}" for command in UNNAMED for name in options_of(app[command].assemble_argument_collection())}


def test_every_key_and_constant_is_described() -> None:
    text = (generated_tables.DOCS / "chain-specs.md").read_text("utf-8")
    rows = {cells[0].strip("` "): cells[1] for line in text.splitlines() if len(cells := line.strip("|").split(" | ")) == 4}
    keys = {f"{LISTS.sub('[]', place)}.{field.name}".lstrip(".") for place, cls in KNOWN_KEYS.items() for field in fields(cls)}
    wanted = {key.removeprefix("constants.") for key in keys}
    assert {key for key in wanted if not rows.get(key, "").strip(" |")} == set()
    assert {field.name for field in fields(BuildConstants)} <= wanted


def test_every_command_has_a_section() -> None:
    text = (generated_tables.DOCS / "options" / "commands.md").read_text("utf-8")
    sections = set(re.findall(r"^## coind (.*)$", text, re.MULTILINE))
    assert sections == {name for name in app if not name.startswith("-")} - {"run", "replay"}


@pytest.mark.parametrize(
    "text",
    [
        "<!-- generated: commmands -->\n<!-- end -->\n",
        "<!-- generated: commands -->\n<!-- end -->\n",
    ],
)
def test_wrong_or_missing_marker_is_reported(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text(text)
    monkeypatch.setattr(generated_tables, "DOCS", tmp_path)
    with fails(generated_tables.MarkerError):
        generated_tables.pages()
