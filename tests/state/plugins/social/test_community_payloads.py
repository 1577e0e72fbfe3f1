"""Payloads of community operations, compared with tests/vectors/social.json."""

from state.plugins.social.community_payloads import LANGUAGES
from tests.helpers.social_fixtures import cases, community_world, last_error
from tests.helpers.social_scenario import SOCIAL


def test_languages() -> None:
    assert sorted(LANGUAGES) == sorted(SOCIAL["languages"]["codes"])


def test_payloads() -> None:
    world = community_world()
    journal = world.state.journal
    for case in cases("community_payloads"):
        mark = journal.position()
        world.act(case["actor"], case["payload"])
        reaches = case.get("error_reaches_actor", True)
        assert last_error(world, case["actor"] if reaches and not case["valid"] else "") == case.get("error"), case
        journal.undo(mark)
