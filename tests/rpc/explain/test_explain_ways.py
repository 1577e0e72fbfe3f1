"""Broadcasts each refused transaction of the tables in `ways_*`, and checks the rule and the cause in its explanation."""

import json
import re
from typing import Any

import pytest

from tests.conftest import CASES, ROOT, case_names, read_json_lines
from tests.helpers.golden import same_as_golden
from tests.rpc.explain.ways_by_rules import BY_RULES
from tests.rpc.explain.ways_to_sign import SIGNING
from tests.rpc.explain.ways_to_write import WRITING
from tests.rpc.explain.world import Way, World

WAYS = (*SIGNING, *BY_RULES, *WRITING)
EXPLANATION_BYTES_MAX = 20_000
OF_WORK = ("units", "limit", "kinds")
Errors = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def errors() -> Errors:
    """The error objects for all transactions of the tables. A world is reused for the next transaction unless the current one changed
    it.
    """
    found: Errors = {}
    world, before = None, None
    for way in WAYS:
        if world is None or before != (world.state.props.head_block_id, len(world.chain.pending)):
            world = World()
            before = world.state.props.head_block_id, len(world.chain.pending)
        found[way.name] = world.refuse(way.make(world), way.method)
    return found


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_the_true_cause_is_named(way: Way, errors: Errors) -> None:
    explain = errors[way.name]["data"]["explain"]
    said = f"{explain['why']} {explain['what_to_do']}"
    assert (explain["rule"], explain["values"].get("cause")) == (way.rule, way.cause), said
    same_as_golden(said)
    assert explain["why"].endswith(".")
    assert explain["what_to_do"].endswith(".")
    assert len(json.dumps(explain)) < EXPLANATION_BYTES_MAX


def test_rules_in_the_docs_exist() -> None:
    page = (ROOT / "docs" / "test-suites.md").read_text("utf-8")
    table = page.partition("| rule | the transaction was refused because |\n")[2].partition("\n\n")[0]
    rules = {rule for line in table.splitlines() for rule in re.findall("`([a-z_]+)`", line.split("|")[1])}
    assert rules
    assert rules - {way.rule for way in WAYS} == set()


def test_every_recorded_kind_of_refusal_has_an_example(errors: Errors) -> None:
    recorded: dict[str, str] = {}
    for name in case_names():
        for event in read_json_lines(CASES / name / "broadcasts.jsonl.gz"):
            error = event.get("error")
            if isinstance(error, dict) and isinstance(error.get("data"), dict):
                recorded.setdefault(error["data"]["name"], error["message"])
    seen = {error["data"]["name"] for error in errors.values()}
    assert {kind: text for kind, text in recorded.items() if kind not in seen} == {}


def test_an_explanation_leaves_the_message_unchanged(errors: Errors) -> None:
    """The error message remains the reference's text, and the explanation is an additional member."""
    for error in errors.values():
        assert error.keys() == {"code", "message", "data"}
        assert error["data"].keys() - {"parameter", *OF_WORK} == {"code", "name", "message", "stack", "explain"}
