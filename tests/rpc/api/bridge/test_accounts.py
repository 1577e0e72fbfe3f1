"""Account methods of the `bridge` group: profiles, relations between accounts, and lists to follow."""

import pytest

from tests.helpers.social_scenario import SocialScenario, scenario


@pytest.fixture(scope="module")
def world() -> SocialScenario:
    return scenario()


def test_profiles_and_relations(world: SocialScenario) -> None:
    names = ["alice", "nobody", "dave"]
    assert [row["name"] for row in world.call("get_profiles", accounts=names)] == ["alice", "dave"]
    assert world.refused("get_profiles", {"accounts": "alice"}) == "accounts must be an array"
    relation = world.call("get_relationship_between_accounts", account1="alice", account2="dave")
    assert (relation["follows"], relation["ignores"]) == (False, True)
    assert world.call("does_user_follow_any_lists", observer="alice") is False
    assert [row["name"] for row in world.call("get_follow_list", observer="alice", follow_type="muted")] == ["dave"]
    assert world.call("get_follow_list", observer="alice") == []
    assert world.refused("get_follow_list", {"observer": "alice", "follow_type": "all"}) == "invalid follow_type `all`"
