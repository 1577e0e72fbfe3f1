"""docs/dependencies.md: each pin has its row, with the licence that the library itself names, and the page is as the command writes it."""

import re
from email.message import Message
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bin import dependencies
from bin.dependencies import COMPATIBLE, JAVASCRIPT, LIBRARIES, PAGE, SECTIONS, Library
from bin.setup import name_of
from tests.conftest import ROOT

# The groups of pyproject.toml that only a checkout needs.
TOOLS = ("test", "fuzz")
INSTALLED = {name_of(each.name) for each in distributions()}
PRESENT = [each for each in LIBRARIES if name_of(each.name) in INSTALLED]


def section_of(requirement: str) -> str:
    """The section of the page in which a library stands; "" when it has no row."""
    name = name_of(requirement)
    return next((section for section, libraries in SECTIONS.items() if any(name_of(each.name) == name for each in libraries)), "")


def wanted_by(found: Distribution, *, everywhere: bool) -> set[str]:
    """The libraries that an installed one brings along by itself: on this machine and Python, or on any."""
    wanted = [Requirement(text) for text in found.requires or () if "extra ==" not in text]
    return {name_of(each.name) for each in wanted if everywhere or each.marker is None or each.marker.evaluate()}


def test_each_pin_has_one_row_and_each_row_a_pin() -> None:
    rows = [name_of(each.name) for each in LIBRARIES]
    assert sorted(rows) == sorted(dependencies.pins())


def test_what_pyproject_names_has_a_reason_in_its_section() -> None:
    reasons = {name_of(each.name) for each in LIBRARIES if each.why}
    for name, texts in dependencies.requirements().items():
        if name == "pins":
            continue
        section = "node" if name == "node" else "tests" if name in TOOLS else "extras"
        for text in texts:
            assert name_of(text) in reasons, f"{text}: bin/dependencies.py says no reason"
            assert section_of(text) == section, text


def test_a_row_has_a_reason_or_says_who_brings_it() -> None:
    assert [each.name for each in LIBRARIES if bool(each.why) == bool(each.by)] == []


def test_all_licences_go_with_ours() -> None:
    used = {part for each in LIBRARIES for part in re.split(r" (?:AND|OR) ", each.licence)}
    assert used == COMPATIBLE


@pytest.mark.parametrize("library", PRESENT, ids=lambda library: library.name)
def test_the_licence_is_the_one_that_the_library_names(library: Library) -> None:
    named = dependencies.licence_of(distribution(library.name).metadata)
    # Some say no more than "BSD"; which of them stands in their texts.
    expected = (
        {library.licence} if named == {library.licence} else {part.split("-")[0] if named == {"BSD"} else part for part in parts(library)}
    )
    assert named == expected


def parts(library: Library) -> list[str]:
    """The single licences of an expression."""
    return re.split(r" (?:AND|OR) ", library.licence)


@pytest.mark.parametrize("library", [each for each in PRESENT if each.by], ids=lambda library: library.name)
def test_it_comes_with_what_the_row_says(library: Library) -> None:
    bringing = [distribution(each.name) for each in PRESENT]
    here, anywhere = (
        {name_of(each.name) for each in bringing if name_of(library.name) in wanted_by(each, everywhere=everywhere)}
        for everywhere in (False, True)
    )
    # Some are wanted by other Pythons only.
    assert here <= set(library.by)
    assert {name for name in library.by if name in INSTALLED} <= anywhere


def test_most_libraries_are_there_to_be_compared() -> None:
    assert len(PRESENT) > 50


def test_the_javascript_is_that_of_the_explorer() -> None:
    found = list(dependencies.vendored())
    assert [name for name, _, _ in found] == list(JAVASCRIPT)
    texts = (dependencies.VENDORED.parent / "LICENSES.txt").read_text(encoding="utf-8")
    for name, version, licence in found:
        assert re.search(rf"{name} {re.escape(version)}$", texts, re.MULTILINE | re.IGNORECASE)
        assert licence in COMPATIBLE


def test_the_page_is_as_the_command_writes_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert dependencies.filled(text) == text, "write it anew: .venv/bin/python -m bin.dependencies"


def test_the_command_writes_an_old_page_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text(encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(text.replace("| trio |", "| duo |"))
    monkeypatch.setattr(dependencies, "PAGE", page)
    dependencies.main()
    assert page.read_text(encoding="utf-8") == text
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT")


@pytest.mark.parametrize(
    ("fields", "licences"),
    [
        ({"License-Expression": "MIT OR Apache-2.0", "Classifier": "License :: OSI Approved :: MIT License"}, {"MIT OR Apache-2.0"}),
        ({"License": "the whole text", "Classifier": "License :: OSI Approved :: MIT License"}, {"MIT"}),
        ({"License": "3-Clause BSD License"}, {"BSD-3-Clause"}),
        ({"License": "GPL-3.0"}, {"GPL-3.0"}),
        ({}, set()),
    ],
)
def test_metadata_of_every_age_are_read(fields: dict[str, str], licences: set[str]) -> None:
    metadata = Message()
    for name, value in fields.items():
        metadata[name] = value
    assert dependencies.licence_of(metadata) == licences  # type: ignore[arg-type]
