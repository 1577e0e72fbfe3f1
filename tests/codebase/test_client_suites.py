"""The libraries' own test suites: their declarations, their rows in docs/clients.md, and the parsers of their results."""

from pathlib import Path

import pytest

from node.specs.builder import load_spec
from tests.clients.suites.declaration import HERE, KINDS, Suite, fill, suites
from tests.clients.suites.results import MARKED_LINE, TAP_LINE, Outcome, from_junit, from_lines
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
SUITES = pytest.mark.parametrize("suite", suites(), ids=lambda suite: suite.name)


@SUITES
def test_the_page_has_the_counts_of_each_suite(suite: Suite) -> None:
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| {suite.library} | {suite.version} | ")]
    tests, passed, skipped, *by_kind = map(int, row.strip("| ").split(" | ")[2:])
    assert tests == passed + skipped + sum(by_kind)
    for count, kind in zip(by_kind, KINDS, strict=True):
        assert count <= sum(len(listed.tests) for listed in suite.listed if listed.kind == kind)


@SUITES
def test_each_listed_test_has_one_reason(suite: Suite) -> None:
    assert len(suite.reasons) == sum(len(listed.tests) for listed in suite.listed)


@SUITES
def test_the_chains_of_each_suite_exist(suite: Suite) -> None:
    for chain in (suite.chain, *suite.nodes.values()):
        load_spec(str(HERE / chain) if chain.endswith(".toml") else chain)


def test_placeholders_without_a_value_stay() -> None:
    assert fill("{url}/{other} {}", {"url": "http://127.0.0.1:8090"}) == "http://127.0.0.1:8090/{other} {}"


def test_tap_lines_are_results_and_the_lines_after_a_failure_its_reason(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("1..3\nok 1 asset adds\noutput\nnot ok 2 asset parses\n  Error: no\n\n    at x.ts:1\nok 3 asset waits # SKIP -\n")
    assert from_lines(log, TAP_LINE) == [
        ("asset adds", Outcome("pass")),
        ("asset parses", Outcome("fail", "Error: no\nat x.ts:1\n")),
        ("asset waits", Outcome("skip")),
    ]


def test_marks_are_results(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("Testing\n✅ key\n❌ call\n")
    assert from_lines(log, MARKED_LINE) == [("key", Outcome("pass")), ("call", Outcome("fail"))]


def test_junit_cases_are_results(tmp_path: Path) -> None:
    file = tmp_path / "results.xml"
    file.write_text(
        '<testsuites><testsuite><testcase classname="a" name="b"/><testcase classname="a" name="c"><failure message="no">at x</failure>'
        '</testcase><testcase classname="a" name="d"><skipped/></testcase></testsuite></testsuites>'
    )
    assert from_junit(file) == [("a::b", Outcome("pass")), ("a::c", Outcome("fail", "no\nat x")), ("a::d", Outcome("skip"))]
    assert from_junit(tmp_path / "missing") == []
