"""Each way to fail is broadcast, and its explanation names the rule and the true cause: the table of them is in `ways_*`."""

import json
from typing import Any

import pytest

from tests.conftest import CASES, case_names, read_json_lines
from tests.rpc.explain.ways_by_rules import BY_RULES
from tests.rpc.explain.ways_to_sign import SIGNING
from tests.rpc.explain.ways_to_write import WRITING
from tests.rpc.explain.world import Way, World

WAYS = (*SIGNING, *BY_RULES, *WRITING)
# Kinds of errors that no transaction of a client leads to on the present chain: those of rules that ended with a hardfork, and of
# readers that a transaction reaches only through operations with their own codec.
ELSEWHERE: dict[str, str] = {}


@pytest.fixture(scope="module")
def seen() -> set[str]:
    """The kinds of errors that the ways have led to."""
    return set()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_the_true_cause_is_named(way: Way, seen: set[str]) -> None:
    world = World()
    error = world.refuse(way.make(world), way.method)
    explain = error["data"]["explain"]
    said = f"{explain['why']} {explain['what_to_do']}"
    assert (explain["rule"], explain["values"].get("cause")) == (way.rule, way.cause), said
    assert [word for word in way.words if word.lower() not in said.lower()] == [], said
    assert explain["why"].endswith((".", "?"))
    assert explain["what_to_do"].endswith(".")
    assert len(json.dumps(explain)) < 20_000
    seen.add(error["data"]["name"])


def test_there_are_enough_ways() -> None:
    assert len(WAYS) >= 30
    assert len({way.name for way in WAYS}) == len(WAYS)


def test_every_recorded_kind_of_refusal_is_among_the_ways(seen: set[str]) -> None:
    recorded: dict[str, Any] = {}
    for name in case_names():
        for event in read_json_lines(CASES / name / "broadcasts.jsonl.gz"):
            error = event.get("error")
            if isinstance(error, dict) and isinstance(error.get("data"), dict):
                recorded.setdefault(error["data"]["name"], error["message"])
    assert {kind: text for kind, text in recorded.items() if kind not in seen and kind not in ELSEWHERE} == {}
